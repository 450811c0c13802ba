// The latency analysis of the reference: every cell of the paper's tables, as printed and as its
// formulas give it, and the corrected totals.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "reference/latency.hpp"

namespace slip::reference {
namespace {

const LatencyParameters appendix;

double number(const Rational& x) { return x.convert_to<double>(); }

double cell(const std::string& name, const LatencyParameters& p = appendix) {
    for (const LatencyCell& cell : latency_table(p)) {
        if (cell.name == name) return number(cell.corrected);
    }
    throw std::out_of_range(name);
}

TEST(Latency, LAT_1_compute_time_is_work_over_usable_rate) {
    EXPECT_EQ(compute_time(1'600'000'000'000, appendix.edge_rate, appendix), Rational(1));
    EXPECT_EQ(compute_time(2'800'000'000'000, appendix.cloud_rate, appendix), Rational(1, 2));
}

TEST(Latency, LAT_2_transfer_time_is_delay_and_volume) {
    EXPECT_EQ(transfer_time(0, 1, appendix), Rational(35, 1000));
    EXPECT_EQ(transfer_time(25'000'000, 3, appendix), 4 + Rational(105, 1000));
}

TEST(Latency, LAT_3_the_phases_of_one_layer) {
    EXPECT_EQ(edge_only_compute(appendix), 1073872896);
    EXPECT_EQ(edge_partial_compute(appendix), 1073741824);
    EXPECT_EQ(cloud_partial_compute(appendix), 26214400);
    EXPECT_EQ(cloud_activation_function(appendix), 13369344);
    EXPECT_EQ(cloud_noise_generation(appendix), 13107200);
    EXPECT_EQ(cloud_noise_addition(appendix), 131072);
    EXPECT_EQ(elements_of_a_message(appendix), 131072);
}

TEST(Latency, LAT_4_the_sums_over_layers) {
    EXPECT_EQ(flops_full(appendix), 240547528704);
    EXPECT_EQ(flops_edge(appendix), 240538353664);
    EXPECT_EQ(flops_cloud(appendix), 3697541120);
    EXPECT_EQ(messages(appendix), 141);
    EXPECT_EQ(transferred_elements(appendix), 18481152);
    LatencyParameters too_many;
    too_many.l_d = 225;
    EXPECT_THROW(flops_edge(too_many), PreconditionError);
}

RC_GTEST_PROP(Latency, LAT_4_the_closed_forms_of_the_appendix_are_the_sums_of_the_phases, ()) {
    LatencyParameters p;
    for (Integer* value : {&p.m, &p.n, &p.b, &p.k, &p.L_v, &p.l}) *value = *rc::gen::inRange(1, 99);
    p.l_d = *rc::gen::inRange(0, 99) % (p.l + 1);
    RC_ASSERT(flops_edge(p) == 2 * p.m * p.n * p.b * p.l + p.n * p.b * (p.l - p.l_d));
    RC_ASSERT(flops_full(p) == 2 * p.m * p.n * p.b * p.l + p.n * p.b * p.l);
    RC_ASSERT(flops_full(p) - flops_edge(p) == p.n * p.b * p.l_d);
    const Rational cloud =
        2 * p.l_d * p.b * (p.m * p.k + p.n * p.k + 2 * p.n * p.L_v + Rational(3, 2) * p.n);
    RC_ASSERT(Rational(flops_cloud(p)) == cloud);
    RC_ASSERT(transferred_elements(p) == p.n * p.b * (2 * p.l_d + 1));
}

TEST(Latency, LAT_5_one_round_of_one_token_is_the_transfer_latency_of_the_paper) {
    EXPECT_NEAR(1000 * number(one_token_round(appendix)), 71.31, 0.005);
    EXPECT_NEAR(150.34 + 0.66 + 71.31, 222.31, 1e-9);
}

TEST(Latency, LAT_5_all_layers) {
    const ProtocolCost cost = protocol_cost(appendix);
    EXPECT_EQ(cost.messages, 449);
    EXPECT_EQ(cost.elements, 58851328);
    EXPECT_EQ(cost.flops_edge, 240518168576);
    EXPECT_EQ(cost.flops_online, 2891972608);
    EXPECT_EQ(cost.flops_offline, 240518168576);
    EXPECT_NEAR(number(cost.transfer), 25.1, 0.05);
    EXPECT_NEAR(number(cost.total), 25.28, 0.005);
}

TEST(Latency, LAT_6_the_parameters_of_the_appendix) {
    EXPECT_EQ(appendix.l, 7 * 32);
    EXPECT_EQ(appendix.l_d, 7 * 10);
    EXPECT_EQ(appendix.n, 4096);
    EXPECT_EQ(appendix.m, 4096);
    EXPECT_EQ(appendix.b, 32);
    EXPECT_EQ(appendix.k, 50);
    EXPECT_EQ(appendix.L_v, 50);
    EXPECT_EQ(appendix.s, 4);
    EXPECT_EQ(appendix.utilization, Rational(40, 100));
}

TEST(Latency, LAT_7_the_cells_that_the_formulas_reproduce) {
    EXPECT_NEAR(cell("FLOPs full model"), 240.5475, 5e-5);
    EXPECT_NEAR(cell("FLOPs edge"), 240.5384, 5e-5);
    EXPECT_NEAR(cell("FLOPs cloud"), 3.6975, 5e-5);
    EXPECT_NEAR(cell("Compute edge latency"), 150.34, 5e-3);
    EXPECT_NEAR(cell("Compute cloud latency"), 0.66, 5e-3);
    EXPECT_NEAR(cell("Efficiency"), 1.537, 5e-4);
}

TEST(Latency, LAT_7_the_cells_that_they_do_not) {
    EXPECT_EQ(cell("Input transfer"), 18481152);
    EXPECT_NEAR(cell("Transfer latency, one delay"), 2992, 0.5);
    EXPECT_NEAR(cell("Transfer latency, a delay a message"), 7892, 0.5);
    EXPECT_NEAR(cell("Transfer latency, every layer masked"), 25131, 0.5);
    EXPECT_NEAR(cell("Total latency, one delay"), 3143, 0.5);
    EXPECT_NEAR(cell("Total latency, a delay a message"), 8043, 0.5);
    EXPECT_NEAR(cell("Total latency, every layer masked"), 25282, 0.5);
    EXPECT_GT(cell("Efficiency, offline work counted"), 100);
}

TEST(Latency, LAT_7_a_cell_has_a_reason_exactly_where_it_disagrees) {
    std::size_t wrong = 0;
    for (const LatencyCell& cell : latency_table(appendix)) {
        EXPECT_EQ(cell.agrees(), cell.why.empty()) << cell.name;
        if (!cell.agrees()) ++wrong;
    }
    EXPECT_EQ(wrong, 8U);
    EXPECT_EQ(latency_table(appendix).size(), 14U);
}

TEST(Latency, LAT_7_the_rank_of_configuration_4) {
    const LatencyReading reading = other_readings(appendix).at(0);
    EXPECT_EQ(reading.parameters.k, papers_offload_table().at(3).k);
    EXPECT_NEAR(cell("FLOPs cloud", reading.parameters), 9.20256512, 5e-9);
    EXPECT_NEAR(cell("Compute cloud latency", reading.parameters), 1.64, 5e-3);
    EXPECT_NEAR(cell("Total latency, one delay", reading.parameters), 3144, 0.5);
    EXPECT_NEAR(cell("Total latency, a delay a message", reading.parameters), 8044, 0.5);
    EXPECT_NEAR(cell("Efficiency", reading.parameters), 3.826, 5e-4);
    EXPECT_EQ(cell("Compute edge latency", reading.parameters), cell("Compute edge latency"));
}

TEST(Latency, LAT_7_the_rate_that_the_maker_of_the_edge_device_states) {
    const LatencyReading reading = other_readings(appendix).at(1);
    EXPECT_EQ(reading.parameters.edge_rate, Rational(472'000'000'000, 2));
    EXPECT_NEAR(cell("Compute edge latency", reading.parameters), 2548.08, 5e-3);
    EXPECT_NEAR(cell("Total latency, one delay", reading.parameters), 5541, 0.5);
    EXPECT_NEAR(cell("Total latency, a delay a message", reading.parameters), 10441, 0.5);
    EXPECT_EQ(cell("Efficiency", reading.parameters), cell("Efficiency"));
}

TEST(Latency, LAT_8_the_offload_column_is_one_minus_rank_share) {
    // Printed to whole, half or tenth percents; cut or rounded.
    const double by_rank[] = {85.16, 92.19, 95.12, 97.56, 99.39, 99.88};
    const double by_work[] = {77.73, 88.28, 92.68, 96.34, 99.08, 99.82};
    const auto table = papers_offload_table();
    ASSERT_EQ(table.size(), 6U);
    for (std::size_t i = 0; i < table.size(); ++i) {
        const double rank = number(offload_by_rank(table[i], 2560, 32));
        const double work = number(offload_by_work(table[i], phi_2_block(), 32));
        EXPECT_NEAR(rank, by_rank[i], 0.005);
        EXPECT_NEAR(work, by_work[i], 0.005);
        EXPECT_NEAR(rank, number(table[i].paper), 0.2) << "the paper's column";
        EXPECT_GT(number(table[i].paper) - work, 0.05) << "is more than David's share of the work";
    }
}

RC_GTEST_PROP(Latency, LAT_9_the_efficiency_formula_counts_low_rank_and_check, ()) {
    const Integer a = *rc::gen::inRange(0, 20);
    const Integer l = 2 * a + *rc::gen::inRange(1, 100);
    const Integer k = *rc::gen::inRange(1, 100);
    const Integer d = *rc::gen::inRange(1, 5000);
    const Integer charlie = 2 * a * k * (d + d) + l * 8 * (d + d);
    RC_ASSERT(online_efficiency(a, k, l, d, 8) == Rational(charlie, l * d * d));
    // O((2 a k + l) / (l d)): the constant lies between 2 and 16.
    const Rational papers(2 * a * k + l, l * d);
    RC_ASSERT(online_efficiency(a, k, l, d, 8) >= 2 * papers);
    RC_ASSERT(online_efficiency(a, k, l, d, 8) <= 16 * papers);
}

TEST(Latency, LAT_9_attention_is_left_out) {
    EXPECT_NEAR(100 * number(attention_share(4096, 4096, llama_2_7b_block())), 16.6, 0.05);
}

}  // namespace
}  // namespace slip::reference

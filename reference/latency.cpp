#include "reference/latency.hpp"

#include "reference/error.hpp"

namespace slip::reference {

namespace {

/// sum m n over the weights of a block.
Integer weights_of(const std::vector<WeightShape>& block) {
    Integer sum = 0;
    for (const auto& [m, n, count] : block) sum += count * m * n;
    return sum;
}

const Rational cent(1, 100);
const Rational mille(1, 1000);

/// The cells of "Performance" that have one reading.
std::vector<LatencyCell> performance_cells(const LatencyParameters& p) {  // LAT-7
    const auto billions = [](const Integer& count) { return Rational(count, 1'000'000'000); };
    return {
        {"FLOPs full model", "2 m n b l + n b l", "GFLOP", Rational(240547, 1000), mille,
         billions(flops_full(p)), ""},
        {"FLOPs edge", "2 m n b l + n b (l - l_d)", "GFLOP", Rational(240538, 1000), mille,
         billions(flops_edge(p)), ""},
        {"FLOPs cloud", "2 l_d b (m k + n k + 2 n L_v + 1.5 n)", "GFLOP", Rational(3697, 1000),
         mille, billions(flops_cloud(p)), ""},
        {"Input transfer", "n b (2 l_d + 1)", "elements", 1'848'000, 1000, transferred_elements(p),
         "the paper's value has lost a digit"},
        {"Compute edge latency", "FLOPs edge / (rate utilization)", "ms", Rational(15034, 100),
         cent, 1000 * compute_time(flops_edge(p), p.edge_rate, p), ""},
        {"Compute cloud latency", "FLOPs cloud / (rate utilization)", "ms", Rational(66, 100), cent,
         1000 * compute_time(flops_cloud(p), p.cloud_rate, p), ""},
    };
}

/// A share of the full model's operations, beside the paper's 1.5%.
LatencyCell efficiency(const char* name, const char* formula, const Integer& flops,
                       const LatencyParameters& p, const char* why) {
    return {name,
            formula,
            "percent",
            Rational(15, 10),
            Rational(1, 10),
            100 * Rational(flops, flops_full(p)),
            why};
}

}  // namespace

Integer edge_only_compute(const LatencyParameters& p) {  // LAT-3
    return 2 * p.m * p.n * p.b + p.n * p.b;
}

Integer edge_partial_compute(const LatencyParameters& p) { return 2 * p.m * p.n * p.b; }

Integer cloud_partial_compute(const LatencyParameters& p) { return 2 * p.k * p.b * (p.m + p.n); }

Integer cloud_activation_function(const LatencyParameters& p) {
    return 2 * p.n * p.b * (p.L_v + 1);
}

Integer cloud_noise_generation(const LatencyParameters& p) { return 2 * p.n * p.b * p.L_v; }

Integer cloud_noise_addition(const LatencyParameters& p) { return p.n * p.b; }

Integer elements_of_a_message(const LatencyParameters& p) { return p.n * p.b; }

Integer flops_edge(const LatencyParameters& p) {  // LAT-4
    require(p.l_d <= p.l, "not more layers are decomposed than there are");
    return (p.l - p.l_d) * edge_only_compute(p) + p.l_d * edge_partial_compute(p);
}

Integer flops_full(const LatencyParameters& p) { return p.l * edge_only_compute(p); }  // LAT-4

Integer flops_cloud(const LatencyParameters& p) {  // LAT-4
    return p.l_d * (cloud_partial_compute(p) + cloud_activation_function(p) +
                    cloud_noise_generation(p) + cloud_noise_addition(p));
}

Integer messages(const LatencyParameters& p) { return 2 * p.l_d + 1; }  // LAT-4

Integer transferred_elements(const LatencyParameters& p) {  // LAT-4
    return messages(p) * elements_of_a_message(p);
}

Rational compute_time(const Integer& flops, const Rational& rate,
                      const LatencyParameters& p) {  // LAT-1
    return Rational(flops) / (rate * p.utilization);
}

Rational transfer_time(const Integer& elements, const Integer& delays,
                       const LatencyParameters& p) {  // LAT-2
    return delays * p.delay + elements * p.s / p.bandwidth;
}

Rational one_token_round(const LatencyParameters& p) {  // LAT-5
    return 2 * transfer_time(p.n, 1, p);
}

ProtocolCost protocol_cost(const LatencyParameters& p) {  // LAT-5
    const Integer messages = 2 * p.l + 1;
    const Integer elements = messages * elements_of_a_message(p);
    const Integer edge = p.l * edge_partial_compute(p);
    const Integer low_rank = p.l_d * cloud_partial_compute(p);
    const Integer mask = p.n * p.b;
    const Integer unmask_add_activate = 3 * p.m * p.b;
    const Integer check = 2 * p.kappa * p.b * (p.m + p.n);
    const Integer online = low_rank + p.l * (mask + unmask_add_activate + check);
    const Integer cancellations = 2 * p.m * p.n * p.b;
    const Rational transfer = transfer_time(elements, messages, p);
    const Rational total =
        compute_time(edge, p.edge_rate, p) + compute_time(online, p.cloud_rate, p) + transfer;
    return {messages, elements, edge, online, p.l * cancellations, transfer, total};
}

bool LatencyCell::agrees() const { return abs(paper - corrected) < last_digit; }

std::vector<LatencyCell> latency_table(const LatencyParameters& p) {  // LAT-7
    std::vector<LatencyCell> table = performance_cells(p);
    const Rational computing =
        compute_time(flops_edge(p), p.edge_rate, p) + compute_time(flops_cloud(p), p.cloud_rate, p);
    const Rational one_delay = transfer_time(transferred_elements(p), 1, p);
    const Rational each_delay = transfer_time(transferred_elements(p), messages(p), p);
    const ProtocolCost whole = protocol_cost(p);
    const std::string one_layer = "the paper's value is one layer and one token";
    const std::string k_0 = "the main text masks layers with k = 0 too";
    const auto transfer = [&](const char* name, const char* formula, const Rational& seconds,
                              const std::string& why) {
        table.push_back({name, formula, "ms", Rational(7131, 100), cent, 1000 * seconds, why});
    };
    const auto total = [&](const char* name, const char* formula, const Rational& seconds,
                           const std::string& why) {
        table.push_back({name, formula, "ms", Rational(22231, 100), cent, 1000 * seconds, why});
    };
    transfer("Transfer latency, one delay", "lambda_a + N s / B", one_delay, one_layer);
    transfer("Transfer latency, a delay a message", "(2 l_d + 1) lambda_a + N s / B", each_delay,
             one_layer);
    transfer("Transfer latency, every layer masked", "(2 l + 1) (lambda_a + n b s / B)",
             whole.transfer, k_0);
    total("Total latency, one delay", "edge + cloud + transfer", computing + one_delay, one_layer);
    total("Total latency, a delay a message", "edge + cloud + transfer", computing + each_delay,
          one_layer);
    total("Total latency, every layer masked", "edge + online + transfer", whole.total, k_0);
    table.push_back(efficiency("Efficiency", "FLOPs cloud / FLOPs full", flops_cloud(p), p, ""));
    table.push_back(efficiency("Efficiency, offline work counted",
                               "(online + offline) / FLOPs full",
                               whole.flops_online + whole.flops_offline, p,
                               "a cancellation per mask is the offloaded work itself"));
    return table;
}

std::vector<LatencyReading> other_readings(const LatencyParameters& p) {  // LAT-7
    LatencyParameters fourth = p;
    fourth.k = 200;
    LatencyParameters nano = p;
    nano.edge_rate = Rational(236'000'000'000);
    return {{"k = 200", fourth, "configuration 4 has k = 200; k = 50 is configuration 5"},
            {"0.236 TFlop/s", nano, "472 GFlop/s of the Jetson Nano are FP16; FP32 has half"}};
}

std::vector<Offload> papers_offload_table() {  // LAT-8
    return {{380, 32, 85},
            {200, 32, 92},
            {200, 20, 95},
            {200, 10, Rational(975, 10)},
            {50, 10, Rational(994, 10)},
            {10, 10, Rational(999, 10)}};
}

std::vector<WeightShape> phi_2_block() {  // LAT-8
    return {{2560, 2560, 4}, {10240, 2560, 1}, {2560, 10240, 1}};
}

std::vector<WeightShape> llama_2_7b_block() {  // LAT-9
    return {{4096, 4096, 4}, {11008, 4096, 2}, {4096, 11008, 1}};
}

Rational offload_by_rank(const Offload& row, const Integer& n,
                         const Integer& all_blocks) {  // LAT-8
    return 100 * (1 - Rational(row.k * row.blocks, n * all_blocks));
}

Rational offload_by_work(const Offload& row, const std::vector<WeightShape>& block,
                         const Integer& all_blocks) {  // LAT-8
    Integer low_rank = 0;
    for (const auto& [m, n, count] : block) low_rank += count * row.k * (m + n);
    return 100 * (1 - Rational(low_rank * row.blocks, weights_of(block) * all_blocks));
}

Rational online_efficiency(const Integer& a, const Integer& k, const Integer& l, const Integer& d,
                           const Integer& kappa) {  // LAT-9
    return Rational(2 * (2 * a * k + kappa * l), l * d);
}

Rational attention_share(const Integer& tokens, const Integer& d,
                         const std::vector<WeightShape>& block) {  // LAT-9
    return Rational(2 * tokens * d, weights_of(block));
}

}  // namespace slip::reference

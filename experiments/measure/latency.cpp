// slip latency: every cell of the paper's latency and offload tables, as printed and as its
// formulas give it, and what the protocol asks for. spec/latency.md; the reference computes, this
// prints.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/measure/program.hpp"
#include "reference/latency.hpp"

namespace {

using namespace slip::reference;
using nlohmann::ordered_json;
using slip::BadInput;
using slip::measure::Flag;
using slip::measure::Flags;

/// A parameter of LAT-6 on the command line.
struct IntegerFlag {
    const char* name;
    const char* help;
    Integer LatencyParameters::*value;
    std::uint64_t least;
};
constexpr std::uint64_t largest = 1'000'000'000;
const IntegerFlag integer_flags[] = {
    {"layers", "l, layers", &LatencyParameters::l, 1},
    {"decomposed", "l_d, decomposed layers", &LatencyParameters::l_d, 0},
    {"rows", "m, rows of each weight matrix", &LatencyParameters::m, 1},
    {"columns", "n, columns of each weight matrix", &LatencyParameters::n, 1},
    {"batch", "b, batch size", &LatencyParameters::b, 1},
    {"rank", "k, singular components that Charlie keeps", &LatencyParameters::k, 0},
    {"noise-vectors", "L_v, sampled noise vectors", &LatencyParameters::L_v, 0},
    {"activation-bytes", "s, bytes of an activation", &LatencyParameters::s, 1},
    {"kappa", "repetitions of the integrity check", &LatencyParameters::kappa, 1},
};

struct RationalFlag {
    const char* name;
    const char* help;
    Rational LatencyParameters::*value;
    Rational unit;  // of the number on the command line
};
const RationalFlag rational_flags[] = {
    {"edge-tflops", "David's rate, 10^12 operations per second", &LatencyParameters::edge_rate,
     Rational(1'000'000'000'000)},
    {"cloud-tflops", "Charlie's rate, 10^12 operations per second", &LatencyParameters::cloud_rate,
     Rational(1'000'000'000'000)},
    {"utilization", "the usable share of both rates", &LatencyParameters::utilization, Rational(1)},
    {"bandwidth-mb", "bandwidth, 10^6 bytes per second", &LatencyParameters::bandwidth,
     Rational(1'000'000)},
    {"delay-ms", "lambda_a, delay of a message in milliseconds", &LatencyParameters::delay,
     Rational(1, 1000)},
};

/// "12", "0.4": digits and at most one point, exactly.
Rational parse_decimal(const std::string& flag, const std::string& text) {
    const std::size_t point = text.find('.');
    const std::string digits =
        point == std::string::npos ? text : text.substr(0, point) + text.substr(point + 1);
    const bool plain = !digits.empty() && digits.size() <= 18 &&
                       std::all_of(digits.begin(), digits.end(),
                                   [](unsigned char c) { return c >= '0' && c <= '9'; });
    if (!plain) {
        throw BadInput("--" + flag + " '" + text + "': expected a number with at most 18 digits");
    }
    Integer denominator = 1;
    if (point != std::string::npos) {
        for (std::size_t i = point + 1; i < text.size(); ++i) denominator *= 10;
    }
    const std::size_t first = std::min(digits.find_first_not_of('0'), digits.size() - 1);
    return Rational(Integer(digits.substr(first)), denominator);
}

LatencyParameters parameters_of(const Flags& flags) {
    LatencyParameters p;
    for (const IntegerFlag& flag : integer_flags) {
        if (flags.has(flag.name)) p.*flag.value = flags.number(flag.name, flag.least, largest);
    }
    for (const RationalFlag& flag : rational_flags) {
        if (!flags.has(flag.name)) continue;
        const std::string text = flags.text(flag.name);
        const Rational value = parse_decimal(flag.name, text);
        if (value == 0 && flag.value != &LatencyParameters::delay) {
            throw BadInput("--" + std::string(flag.name) + " '" + text +
                           "': expected a positive number");
        }
        p.*flag.value = value * flag.unit;
    }
    if (p.l_d > p.l) throw BadInput("--decomposed: expected at most --layers");
    return p;
}

double number(const Rational& value) { return value.convert_to<double>(); }

// --- the tables ----------------------------------------------------------------------------------

struct Phase {
    const char* name;
    const char* formula;
    Integer count;
};

/// LAT-3, for one layer and the whole batch.
std::vector<Phase> phases(const LatencyParameters& p) {
    const Integer message = elements_of_a_message(p);
    return {{"Upload Input", "n b", message},
            {"Edge-Only Compute", "2 m n b + n b", edge_only_compute(p)},
            {"Edge-Partial Compute", "2 m n b", edge_partial_compute(p)},
            {"Cloud-Partial Compute", "2 k b (m + n)", cloud_partial_compute(p)},
            {"Upload Edge to Cloud", "n b", message},
            {"Cloud Activation Function", "2 n b (L_v + 1)", cloud_activation_function(p)},
            {"Cloud Noise Vector Generation", "2 n b L_v", cloud_noise_generation(p)},
            {"Cloud Noise Addition", "n b", cloud_noise_addition(p)},
            {"Activation Data Download", "n b", message}};
}

const Integer phi_2_columns = 2560;
const Integer phi_2_blocks = 32;

/// LAT-7: every cell for p, and its value in each other reading of the paper's parameters.
ordered_json cells_as_json(const LatencyParameters& p) {
    ordered_json cells = ordered_json::array();
    for (const LatencyCell& cell : latency_table(p)) {
        cells.push_back({{"name", cell.name},
                         {"formula", cell.formula},
                         {"unit", cell.unit},
                         {"paper", number(cell.paper)},
                         {"corrected", number(cell.corrected)},
                         {"agrees", cell.agrees()},
                         {"why", cell.why}});
    }
    for (const LatencyReading& reading : other_readings(p)) {
        const std::vector<LatencyCell> table = latency_table(reading.parameters);
        for (std::size_t i = 0; i < table.size(); ++i) {
            cells[i]["readings"][reading.name] = number(table[i].corrected);
        }
    }
    return cells;
}

ordered_json as_json(const LatencyParameters& p) {
    ordered_json parameters;
    for (const IntegerFlag& flag : integer_flags) {
        parameters[flag.name] = (p.*flag.value).convert_to<std::int64_t>();
    }
    for (const RationalFlag& flag : rational_flags) {
        parameters[flag.name] = number(p.*flag.value / flag.unit);
    }
    ordered_json of_layer = ordered_json::array();
    for (const Phase& phase : phases(p)) {
        of_layer.push_back({{"phase", phase.name},
                            {"formula", phase.formula},
                            {"count", phase.count.convert_to<double>()}});
    }
    const ProtocolCost cost = protocol_cost(p);
    const ordered_json protocol{{"round_ms", number(1000 * one_token_round(p))},
                                {"messages", cost.messages.convert_to<double>()},
                                {"elements", cost.elements.convert_to<double>()},
                                {"flops_david", cost.flops_edge.convert_to<double>()},
                                {"flops_charlie_online", cost.flops_online.convert_to<double>()},
                                {"flops_charlie_offline", cost.flops_offline.convert_to<double>()},
                                {"transfer_ms", number(1000 * cost.transfer)},
                                {"total_ms", number(1000 * cost.total)}};
    ordered_json offload = ordered_json::array();
    for (const Offload& row : papers_offload_table()) {
        offload.push_back({{"rank", row.k.convert_to<int>()},
                           {"blocks", row.blocks.convert_to<int>()},
                           {"paper", number(row.paper)},
                           {"by_rank", number(offload_by_rank(row, phi_2_columns, phi_2_blocks))},
                           {"by_work", number(offload_by_work(row, phi_2_block(), phi_2_blocks))}});
    }
    return {{"parameters", parameters},
            {"phases_of_a_layer", of_layer},
            {"performance", cells_as_json(p)},
            {"protocol", protocol},
            {"offload_percent", offload}};
}

/// With thousands separators if it is whole, otherwise with `digits` after the point.
std::string readable(const Rational& value, int digits) {
    char text[64];
    if (denominator(value) != 1) {
        std::snprintf(text, sizeof text, "%.*f", digits, number(value));
        return text;
    }
    std::string whole = numerator(value).str();
    for (std::size_t i = whole.size(); i > 3; i -= 3) whole.insert(i - 3, ",");
    return whole;
}

/// LAT-7: a line for each cell, a column for each reading of the parameters.
void print_performance(const LatencyParameters& p) {
    const std::vector<LatencyReading> readings = other_readings(p);
    std::printf(
        "\nPerformance: the paper's value, for its own parameters, beside those that its formulas "
        "give (LAT-7)\n");
    std::printf("  %-37s %9s %14s", "", "paper", "corrected");
    for (const LatencyReading& reading : readings) std::printf(" %14s", reading.name.c_str());
    std::printf("\n");
    const std::vector<LatencyCell> table = latency_table(p);
    for (std::size_t i = 0; i < table.size(); ++i) {
        const LatencyCell& cell = table[i];
        const int digits = cell.unit == "GFLOP" ? 3 : 2;
        std::printf("  %-37s %9s %14s", cell.name.c_str(), readable(cell.paper, digits).c_str(),
                    readable(cell.corrected, digits).c_str());
        for (const LatencyReading& reading : readings) {
            const Rational value = latency_table(reading.parameters)[i].corrected;
            std::printf(" %14s", readable(value, digits).c_str());
        }
        std::printf("  %s%s%s\n", cell.unit.c_str(), cell.agrees() ? "" : "; ", cell.why.c_str());
    }
    for (const LatencyReading& reading : readings) {
        std::printf("  %s: %s\n", reading.name.c_str(), reading.why.c_str());
    }
}

void print_tables(const LatencyParameters& p) {
    std::printf("One layer, the whole batch (LAT-3)\n");
    for (const Phase& phase : phases(p)) {
        std::printf("  %-30s %-18s %20s\n", phase.name, phase.formula,
                    readable(phase.count, 0).c_str());
    }
    print_performance(p);
    const ProtocolCost cost = protocol_cost(p);
    std::printf("\nThe protocol as specified: every layer masked, every reply checked (LAT-5)\n");
    std::printf("  one round of one layer, one token   %14.2f ms\n",
                number(1000 * one_token_round(p)));
    std::printf("  messages                            %14s\n", readable(cost.messages, 0).c_str());
    std::printf("  elements                            %14s\n", readable(cost.elements, 0).c_str());
    std::printf("  David's operations                  %14.3f GFLOP\n",
                number(cost.flops_edge) / 1e9);
    std::printf("  Charlie's, online                   %14.3f GFLOP\n",
                number(cost.flops_online) / 1e9);
    std::printf("  Charlie's, ahead of use             %14.3f GFLOP\n",
                number(cost.flops_offline) / 1e9);
    std::printf("  transfer                            %14.2f ms\n", number(1000 * cost.transfer));
    std::printf("  total, all layers                   %14.2f ms\n", number(1000 * cost.total));
    std::printf("\nShare of Phi-2's linear work that David does, in percent (LAT-8)\n");
    std::printf("  %6s %8s %10s %10s %10s\n", "rank", "blocks", "paper", "by rank", "by work");
    for (const Offload& row : papers_offload_table()) {
        std::printf("  %6s %8s %10.1f %10.1f %10.1f\n", row.k.str().c_str(),
                    row.blocks.str().c_str(), number(row.paper),
                    number(offload_by_rank(row, phi_2_columns, phi_2_blocks)),
                    number(offload_by_work(row, phi_2_block(), phi_2_blocks)));
    }
}

ordered_json tables(const Flags& flags) {
    const LatencyParameters p = parameters_of(flags);
    if (flags.has("json")) return as_json(p);
    print_tables(p);
    return nullptr;
}

std::vector<Flag> all_flags() {
    std::vector<Flag> flags;
    for (const IntegerFlag& flag : integer_flags) flags.push_back({flag.name, "N", flag.help});
    for (const RationalFlag& flag : rational_flags) flags.push_back({flag.name, "X", flag.help});
    flags.push_back({"json", nullptr, "print JSON"});
    return flags;
}

}  // namespace

int main(int argc, char** argv) {
    return slip::measure::run(
        {"slip latency",
         "[OPTIONS]\n\nThe paper's latency analysis: what it prints, what its formulas give, and "
         "what the\nprotocol costs. Without options: the parameters of the paper's appendix.",
         all_flags(), tables},
        argc, argv);
}

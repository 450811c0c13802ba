// slip-bench: measurements in one run, interleaved, as medians and ratios.
#include <boost/program_options.hpp>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "experiments/bench/decode.hpp"
#include "experiments/bench/kernels.hpp"
#include "experiments/bench/measure.hpp"
#include "experiments/bench/round.hpp"
#include "optimized/base/error.hpp"
#include "optimized/kernels/registry.hpp"

namespace slip::bench {
namespace {

namespace po = boost::program_options;

constexpr const char* usage =
    "usage: slip-bench decode --artifact OUT --model DIR [--json]\n"
    "       slip-bench round --artifact OUT --david HOST:PORT --tls TLS/charlie [--json]\n"
    "       slip-bench kernels [--json]\n\n"
    "decode: tokens a second of the hybrid engine, David in process and every mask ready, against\n"
    "        the same model with int8 weights in the open; the offline work apart.\n"
    "round:  what a round over TLS costs beyond its arithmetic, for every group shape.\n"
    "kernels: what the kernels reach, on one processor, against the machine and against peers "
    "that\n"
    "        were installed when this was built (OpenBLAS, NTL, FLINT).\n";

po::options_description flags() {
    po::options_description description("Options");
    description.add_options()("artifact", po::value<std::string>()->value_name("OUT"),
                              "what 'slip split' wrote")(
        "model", po::value<std::string>()->value_name("DIR"), "decode: the checkpoint it is of")(
        "david", po::value<std::string>()->value_name("HOST:PORT"), "round: a running David")(
        "tls", po::value<std::string>()->value_name("TLS/charlie"), "round: certificates")(
        "tokens", po::value<unsigned>()->value_name("N")->default_value(64),
        "decode: tokens a repetition")("repetitions", po::value<unsigned>()->value_name("R"),
                                       "default 7, for round 200")(
        "json", "print one JSON object instead of a table")("help", "show this help");
    return description;
}

std::string required(const po::variables_map& values, const char* name) {
    if (values.count(name) == 0) throw BadInput(std::string("--") + name + " is missing");
    return values[name].as<std::string>();
}

std::size_t repetitions(const po::variables_map& values, std::size_t otherwise) {
    return values.count("repetitions") != 0 ? std::max(values["repetitions"].as<unsigned>(), 1U)
                                            : otherwise;
}

int decode(const po::variables_map& values) {
    DecodeOptions options{required(values, "artifact"), required(values, "model")};
    options.tokens = std::max(values["tokens"].as<unsigned>(), 1U);
    options.repetitions = repetitions(values, options.repetitions);
    const DecodeResult result = measure_decode(options);
    if (values.count("json") != 0) {
        const nlohmann::ordered_json json{
            {"hybrid_tokens_per_second", result.hybrid_tokens_per_second},
            {"int8_tokens_per_second", result.int8_tokens_per_second},
            {"ratio", result.ratio},
            {"offline_seconds_per_token", result.offline_seconds_per_token},
            {"tokens", options.tokens},
            {"repetitions", options.repetitions},
            {"kernels", kernels::active().name}};
        std::cout << json.dump() << '\n';
    } else {
        std::printf("decode, %zu tokens after %zu, medians of %zu repetitions, kernels %s\n",
                    options.tokens, result.positions, options.repetitions, kernels::active().name);
        std::printf("  hybrid, masks ready        %10.1f tokens a second\n",
                    result.hybrid_tokens_per_second);
        std::printf("  unprotected int8           %10.1f tokens a second\n",
                    result.int8_tokens_per_second);
        std::printf("  ratio                      %10.3f\n", result.ratio);
        std::printf("  offline work beside it     %10.1f microseconds a token\n",
                    1e6 * result.offline_seconds_per_token);
    }
    return 0;
}

/// What /proc/cpuinfo calls the processor.
std::string processor_name() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        const std::size_t colon = line.find(": ");
        if (line.rfind("model name", 0) == 0 && colon != std::string::npos) {
            return line.substr(colon + 2);
        }
    }
    return "unknown";
}

int kernel_figures(const po::variables_map& values) {
    KernelOptions options;
    options.repetitions = std::max<std::size_t>(repetitions(values, options.repetitions), 5);
    const KernelReport report = measure_kernels(options);
    if (values.count("json") != 0) {
        nlohmann::ordered_json json{{"machine",
                                     {{"processor", processor_name()},
                                      {"processors", std::thread::hardware_concurrency()},
                                      {"kernels", kernels::active().name},
                                      {"repetitions", options.repetitions}}},
                                    {"figures", nlohmann::ordered_json::array()},
                                    {"rows", nlohmann::ordered_json::array()}};
        for (const KernelFigure& figure : report.figures) {
            json["figures"].push_back({{"name", figure.name}, {"value", figure.value}});
        }
        for (const KernelRow& row : report.rows) {
            json["rows"].push_back({{"name", row.name},
                                    {"seconds", row.seconds},
                                    {"per_second", row.per_second},
                                    {"unit", row.unit}});
        }
        std::cout << json.dump() << '\n';
        return 0;
    }
    std::printf("kernels %s on %s, medians of %zu\n", kernels::active().name,
                processor_name().c_str(), options.repetitions);
    for (const KernelRow& row : report.rows) {
        std::printf("  %-36s %12.1f us %10.2f G %s\n", row.name.c_str(), 1e6 * row.seconds,
                    1e-9 * row.per_second, row.unit.c_str());
    }
    for (const KernelFigure& figure : report.figures) {
        std::printf("  %-36s %12.3f\n", figure.name.c_str(), figure.value);
    }
    return 0;
}

int round(const po::variables_map& values) {
    RoundOptions options{required(values, "artifact"),
                         parse_endpoint(required(values, "david"), "--david"),
                         required(values, "tls")};
    options.repetitions = repetitions(values, options.repetitions);
    const std::vector<RoundResult> results = measure_rounds(options);
    std::vector<double> overheads;
    nlohmann::ordered_json shapes = nlohmann::ordered_json::array();
    for (const RoundResult& result : results) {
        overheads.push_back(result.overhead_microseconds);
        shapes.push_back({{"n", result.n},
                          {"rows", result.rows},
                          {"tls_us", result.tls_microseconds},
                          {"in_process_us", result.in_process_microseconds},
                          {"round_us", result.overhead_microseconds}});
    }
    if (values.count("json") != 0) {
        const nlohmann::ordered_json json{{"round_us", median(overheads)},
                                          {"shapes", shapes},
                                          {"repetitions", options.repetitions},
                                          {"kernels", kernels::active().name}};
        std::cout << json.dump() << '\n';
        return 0;
    }
    std::printf("one round, one column, medians of %zu, microseconds\n%14s %10s %12s %10s\n",
                options.repetitions, "rows x n", "TLS", "in process", "TLS alone");
    for (const RoundResult& result : results) {
        const std::string shape = std::to_string(result.rows) + " x " + std::to_string(result.n);
        std::printf("%14s %10.1f %12.1f %10.1f\n", shape.c_str(), result.tls_microseconds,
                    result.in_process_microseconds, result.overhead_microseconds);
    }
    std::printf("%14s %34.1f\n", "median", median(overheads));
    return 0;
}

int run(const std::vector<std::string>& arguments) {
    po::variables_map values;
    po::options_description description = flags();
    const bool named = !arguments.empty() && !arguments.front().starts_with('-');
    const std::vector<std::string> rest(arguments.begin() + (named ? 1 : 0), arguments.end());
    const po::positional_options_description no_words;
    po::store(po::command_line_parser(rest).options(description).positional(no_words).run(),
              values);
    if (values.count("help") != 0) {
        std::cout << usage << '\n' << description;
        return 0;
    }
    if (named && arguments.front() == "decode") return decode(values);
    if (named && arguments.front() == "round") return round(values);
    if (named && arguments.front() == "kernels") return kernel_figures(values);
    throw BadInput("expected decode, round or kernels; see --help");
}

}  // namespace
}  // namespace slip::bench

int main(int argc, char** argv) {
    try {
        return slip::bench::run(std::vector<std::string>(argv + 1, argv + argc));
    } catch (const slip::BadInput& error) {
        std::cerr << "slip-bench: error: " << error.what() << '\n';
        return 2;
    } catch (const boost::program_options::error& error) {
        std::cerr << "slip-bench: error: " << error.what() << '\n';
        return 2;
    } catch (const std::exception& error) {
        std::cerr << "slip-bench: error: " << error.what() << '\n';
        return 1;
    }
}

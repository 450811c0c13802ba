// slip-bench: measurements in one run, interleaved, as medians and ratios.
#include <boost/program_options.hpp>
#include <cstdio>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/bench/context.hpp"
#include "experiments/bench/cost.hpp"
#include "experiments/bench/decode.hpp"
#include "experiments/bench/guessing.hpp"
#include "experiments/bench/hidden.hpp"
#include "experiments/bench/kernels.hpp"
#include "experiments/bench/masks.hpp"
#include "experiments/bench/report.hpp"
#include "experiments/bench/round.hpp"
#include "experiments/bench/serve.hpp"
#include "optimized/base/error.hpp"
#include "optimized/kernels/registry.hpp"

namespace slip::bench {
namespace {

namespace po = boost::program_options;

constexpr const char* usage =
    "usage: slip-bench report --artifact OUT --model DIR [--json] [--plot FILE.svg]\n"
    "       slip-bench decode --artifact OUT --model DIR [--json] [--plot FILE.svg]\n"
    "       slip-bench masks --artifact OUT --model DIR [--json] [--plot FILE.svg]\n"
    "       slip-bench hidden --artifact OUT --model DIR [--json] [--plot FILE.svg]\n"
    "       slip-bench guesses --artifact OUT --model DIR [--json] [--plot FILE.svg]\n"
    "       slip-bench context --artifact OUT --model DIR [--json] [--plot FILE.svg]\n"
    "       slip-bench serve --artifact OUT --model DIR [--json] [--plot FILE.svg]\n"
    "       slip-bench cost --artifact OUT [--json]\n"
    "       slip-bench shapes [--shards N] [--json]\n"
    "       slip-bench round --artifact OUT --david HOST:PORT --tls TLS/charlie [--json]\n"
    "       slip-bench kernels [--json] [--plot FILE.svg]\n\n"
    "report: decode, masks, hidden, guesses, context, cost and kernels in one run, with what "
    "every\n"
    "        figure should reach.\n"
    "decode: tokens per second of the hybrid engine, every mask ready, David in process, over\n"
    "        loopback TLS and in shared memory, against the same model with int8 weights and\n"
    "        activations in the open,\n"
    "        and that against a plain read of the weights; the offline work apart.\n"
    "masks:  of a set with lattice masks: what a block costs, Charlie's processor time per token "
    "with\n"
    "        his masks, and decode over TLS while masks are made.\n"
    "hidden: of a hidden split: what David's products and Charlie's work cost over the "
    "unprotected\n"
    "        products of the same shapes, at 1 to 128 columns.\n"
    "guesses: tokens per second over TLS with guesses from the text itself over those without, on "
    "a\n"
    "        text that quotes its prompt and on one that does not.\n"
    "context: decode after 1,536 tokens over decode after 32, prefill of 1,536 over prefill of "
    "128,\n"
    "        and how fast attention reads keys and values after 4,096. --plot also draws tokens "
    "per\n"
    "        second against context, up to 2,048 tokens.\n"
    "serve:  through the scheduler of 'slip serve': tokens per second of 8 generations in one "
    "batch\n"
    "        over those of 1, over those of 8 in the open, with the bound on that, and over HTTP; "
    "the\n"
    "        time to the first token of 512. Says on standard error how far it is.\n"
    "cost:   Charlie's multiplications in parts of the model's, on a schedule of one token, "
    "without\n"
    "        attention and AES, but charlie_total_* with floats after 32 tokens; nothing is run.\n"
    "shapes: what a token costs models of 1.1, 7 and 70 billion weights: messages, bytes and\n"
    "        multiplications, counted; nothing is run. docs/cost.md explains them.\n"
    "round:  what a round over TLS costs beyond its arithmetic, for every group shape.\n"
    "kernels: what the kernels reach, on one processor, against the machine and against peers\n"
    "        that were installed when this was built (OpenBLAS, FFLAS-FFPACK, NTL, FLINT, Eigen,\n"
    "        oneDNN).\n";

po::options_description flags() {
    po::options_description description("Options");
    description.add_options()("artifact", po::value<std::string>()->value_name("OUT"),
                              "what 'slip split' wrote")(
        "model", po::value<std::string>()->value_name("DIR"),
        "decode, masks, hidden, guesses, context, serve, report: the checkpoint it is of")(
        "david", po::value<std::string>()->value_name("HOST:PORT"), "round: a running David")(
        "tls", po::value<std::string>()->value_name("TLS/charlie"), "round: certificates")(
        "prompt", po::value<unsigned>()->value_name("N")->default_value(8),
        "decode: tokens of the prompt, one batch")(
        "tokens", po::value<unsigned>()->value_name("N")->default_value(64),
        "decode, guesses: tokens per repetition, of guesses at most 64; serve: per generation, at "
        "most 16")("repetitions", po::value<unsigned>()->value_name("R"),
                   "default 7, for serve 5, for round 200")(
        "json", "print one JSON object instead of a table")(
        "shards", po::value<std::size_t>()->value_name("N"),
        "shapes: also what the David of the largest of N shards has")(
        "plot", po::value<std::string>()->value_name("FILE.svg"), "draw the figures")(
        "help", "show this help");
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

/// The picture, if one is asked for, and the text or the JSON object.
void show(const po::variables_map& values, const Report& report, const nlohmann::ordered_json& json,
          const std::string& title) {
    if (values.count("plot") != 0) plot(report, values["plot"].as<std::string>());
    if (values.count("json") != 0) {
        std::cout << json.dump() << '\n';
        return;
    }
    std::cout << title << '\n' << std::flush;
    print(report);
    std::fflush(stdout);
}

WholeModelOptions whole_options(const po::variables_map& values) {
    WholeModelOptions options{required(values, "artifact"), required(values, "model")};
    options.tokens = std::max(values["tokens"].as<unsigned>(), 1U);
    options.repetitions = repetitions(values, options.repetitions);
    options.prompt = std::max(values["prompt"].as<unsigned>(), 1U);
    return options;
}

std::string title_of(const std::string& command, const WholeModelOptions& options) {
    return command + ", " + std::to_string(options.tokens) + " tokens after " +
           std::to_string(options.prompt) + ", medians of " + std::to_string(options.repetitions);
}

int decode(const po::variables_map& values) {
    const WholeModelOptions options = whole_options(values);
    WholeModel whole(options);
    const DecodeResult result = measure_decode(whole);
    nlohmann::ordered_json json = json_of(result.report, options.repetitions);
    json["hybrid_tokens_per_second"] = result.hybrid_tokens_per_second;
    json["int8_tokens_per_second"] = result.int8_tokens_per_second;
    json["ratio"] = result.ratio;
    json["offline_seconds_per_token"] = result.offline_seconds_per_token;
    json["prompt"] = options.prompt;
    json["tokens"] = options.tokens;
    json["repetitions"] = options.repetitions;
    json["kernels"] = kernels::active().name;
    show(values, result.report, json, title_of("decode", options));
    return 0;
}

/// Shows the report that `measure` makes of the whole model; `name` heads it.
template <class Measure>
int show_measured(const po::variables_map& values, const std::string& name,
                  const Measure& measure) {
    const WholeModelOptions options = whole_options(values);
    WholeModel whole(options);
    const Report report = measure(whole);
    show(values, report, json_of(report, options.repetitions),
         name + ", medians of " + std::to_string(options.repetitions));
    return 0;
}

int masks(const po::variables_map& values) {
    return show_measured(values, "masks", [](WholeModel& whole) { return measure_masks(whole); });
}

int hidden(const po::variables_map& values) {
    return show_measured(values, "hidden split", [](WholeModel& whole) {
        if (!whole.charlie.set().hides_weights) {
            throw BadInput(whole.options.artifact.string() + ": set " +
                           std::string(whole.charlie.set().name) + ": expected a hidden split");
        }
        return measure_hidden(whole);
    });
}

int guesses(const po::variables_map& values) {
    return show_measured(values, "guesses", measure_guessing);
}

int context(const po::variables_map& values) {
    return show_measured(values, "context", [&](WholeModel& whole) {
        return measure_context(whole, values.count("plot") != 0);
    });
}

KernelOptions kernel_options(const po::variables_map& values) {
    KernelOptions options;
    options.repetitions = std::max<std::size_t>(repetitions(values, options.repetitions), 5);
    return options;
}

std::string title_of(const KernelOptions& options) {
    return "kernels, medians of " + std::to_string(options.repetitions);
}

int kernel_figures(const po::variables_map& values) {
    const KernelOptions options = kernel_options(values);
    const Report report = measure_kernels(options);
    show(values, report, json_of(report, options.repetitions), title_of(options));
    return 0;
}

void append(const Report& more, Report& report) {
    report.figures.insert(report.figures.end(), more.figures.begin(), more.figures.end());
    report.rows.insert(report.rows.end(), more.rows.begin(), more.rows.end());
}

/// Seconds since the first call, on standard error.
void tell_progress(const std::string& what) {
    static const Clock::time_point start = Clock::now();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    std::fprintf(stderr, "slip-bench: %5.0f s: %s\n", seconds, what.c_str());
}

int serve(const po::variables_map& values) {
    constexpr std::size_t fewer_repetitions = 5;
    WholeModelOptions options = whole_options(values);
    options.repetitions = repetitions(values, fewer_repetitions);
    tell_progress("the model is being loaded, split and unprotected");
    WholeModel whole(options);
    tell_progress("the model is loaded");
    const Report report = measure_serve(whole, tell_progress);
    nlohmann::ordered_json json = json_of(report, options.repetitions);
    json["contestants"] = serve_processors(whole);
    show(values, report, json,
         "serve, medians of " + std::to_string(options.repetitions) + "; " +
             serve_processors(whole));
    return 0;
}

nlohmann::ordered_json json_of(const ScheduleShape& shape) {
    const Multiplications token = of_token(shape);
    return {{"online", token.online}, {"offline", token.offline}, {"linear", token.linear}};
}

int cost(const po::variables_map& values) {
    const artifact::CharlieArtifact charlie(required(values, "artifact"));
    const ScheduleShape shape = schedule_of(charlie);
    Report report;
    report_epsilon(shape, report);
    nlohmann::ordered_json json = json_of(report, 1);
    json["multiplications"] = json_of(shape);
    show(values, report, json,
         "cost of a token on a schedule, without AES; charlie_total: with floats after 32");
    return 0;
}

/// Whole models first: they fork, and the peers' libraries may start threads.
int all_figures(const po::variables_map& values) {
    const WholeModelOptions options = whole_options(values);
    Report report;
    {
        WholeModel whole(options);
        append(measure_decode(whole).report, report);
        append(measure_masks(whole), report);
        append(measure_hidden(whole), report);
        append(measure_guessing(whole), report);
        append(measure_context(whole), report);
        report_epsilon(schedule_of(whole.charlie), report);
    }
    const KernelOptions parts = kernel_options(values);
    append(measure_kernels(parts), report);
    show(values, report, json_of(report, options.repetitions),
         title_of("decode", options) + "; " + title_of(parts));
    return 0;
}

nlohmann::ordered_json largest_of(const std::vector<ShardCost>& shards) {
    const ShardCost& largest = *std::ranges::max_element(shards, {}, &ShardCost::held);
    return {{"groups", largest.groups},
            {"held", largest.held},
            {"rounds", largest.rounds},
            {"bytes_up", largest.bytes_up},
            {"bytes_down", largest.bytes_down}};
}

/// In the sets with lattice masks.
int shapes(const po::variables_map& values) {
    constexpr std::size_t rank = 16, context = 512;
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const char* const shape : {"tinyllama", "llama2-7b", "llama2-70b"}) {
        for (const char* const set : {"paper-lattice", "hidden"}) {
            const base::ModelConfig config = config_of(synthetic::shapes.at(shape));
            const TokenCost token = cost_of_token(config, rank, set, context);
            all.push_back({{"shape", shape},
                           {"set", set},
                           {"rounds", token.rounds},
                           {"bytes_up", token.bytes_up},
                           {"bytes_down", token.bytes_down},
                           {"davids_bytes", token.davids_bytes},
                           {"davids_products", token.davids_products},
                           {"hints", token.hints},
                           {"linear", token.multiplications.linear},
                           {"online", token.multiplications.online},
                           {"ahead", token.multiplications.offline},
                           {"floats", token.floats}});
            if (values.count("shards") != 0) {
                all.back()["largest_shard"] =
                    largest_of(cost_of_shards(config, set, values["shards"].as<std::size_t>()));
            }
        }
    }
    if (values.count("json") != 0) {
        std::cout << all.dump() << '\n';
        return 0;
    }
    std::printf(
        "a token after %zu others, rank %zu where nothing is hidden; millions\n"
        "%-10s %-13s %6s %8s %8s %12s %12s %9s %7s %7s %7s\n",
        context, rank, "shape", "set", "rounds", "bytes up", "down", "David reads", "multiplies",
        "the model", "online", "ahead", "floats");
    for (const auto& row : all) {
        std::printf("%-10s %-13s %6d", row["shape"].get<std::string>().c_str(),
                    row["set"].get<std::string>().c_str(), row["rounds"].get<int>());
        for (const auto& [name, width] : {std::pair{"bytes_up", 8},
                                          {"bytes_down", 8},
                                          {"davids_bytes", 12},
                                          {"davids_products", 12},
                                          {"linear", 9},
                                          {"online", 7},
                                          {"ahead", 7},
                                          {"floats", 7}}) {
            std::printf(" %*.2f", width, row[name].get<double>() / 1e6);
        }
        std::printf("\n");
    }
    if (values.count("shards") == 0) return 0;
    std::printf("the largest of %zu shards; millions\n%-10s %-13s %6s %8s %8s %12s\n",
                values["shards"].as<std::size_t>(), "shape", "set", "rounds", "bytes up", "down",
                "David holds");
    for (const auto& row : all) {
        const auto& shard = row["largest_shard"];
        std::printf("%-10s %-13s %6d %8.2f %8.2f %12.2f\n", row["shape"].get<std::string>().c_str(),
                    row["set"].get<std::string>().c_str(), shard["rounds"].get<int>(),
                    shard["bytes_up"].get<double>() / 1e6, shard["bytes_down"].get<double>() / 1e6,
                    shard["held"].get<double>() / 1e6);
    }
    return 0;
}

int round(const po::variables_map& values) {
    RoundOptions options{required(values, "artifact"),
                         parse_endpoint(required(values, "david"), "--david"),
                         required(values, "tls")};
    options.repetitions = repetitions(values, options.repetitions);
    const std::vector<RoundResult> results = measure_rounds(options);
    nlohmann::ordered_json shapes = nlohmann::ordered_json::array();
    for (const RoundResult& result : results) {
        shapes.push_back({{"n", result.n},
                          {"rows", result.rows},
                          {"tls_us", result.tls_microseconds},
                          {"in_process_us", result.in_process_microseconds},
                          {"round_us", result.overhead_microseconds}});
    }
    if (values.count("json") != 0) {
        const nlohmann::ordered_json json{{"round_us", median_overhead(results)},
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
    std::printf("%14s %34.1f\n", "median", median_overhead(results));
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
    if (named && arguments.front() == "report") return all_figures(values);
    if (named && arguments.front() == "decode") return decode(values);
    if (named && arguments.front() == "context") return context(values);
    if (named && arguments.front() == "masks") return masks(values);
    if (named && arguments.front() == "hidden") return hidden(values);
    if (named && arguments.front() == "guesses") return guesses(values);
    if (named && arguments.front() == "serve") return serve(values);
    if (named && arguments.front() == "cost") return cost(values);
    if (named && arguments.front() == "shapes") return shapes(values);
    if (named && arguments.front() == "round") return round(values);
    if (named && arguments.front() == "kernels") return kernel_figures(values);
    throw BadInput(
        "expected report, decode, masks, hidden, guesses, context, serve, cost, shapes, round or "
        "kernels; see --help");
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

// slip-bench: measurements in one run, interleaved, as medians and ratios.
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "experiments/bench/context.hpp"
#include "experiments/bench/decode.hpp"
#include "experiments/bench/guessing.hpp"
#include "experiments/bench/hidden.hpp"
#include "experiments/bench/kernels.hpp"
#include "experiments/bench/masks.hpp"
#include "experiments/bench/report.hpp"
#include "experiments/bench/round.hpp"
#include "experiments/bench/serving/serve.hpp"
#include "experiments/measure/counts.hpp"
#include "experiments/measure/program.hpp"
#include "optimized/base/error.hpp"
#include "optimized/kernels/registry.hpp"

namespace slip::bench {
namespace {

using measure::config_of;
using measure::Flags;
using measure::Multiplications;
using measure::of_token;
using measure::schedule_of;
using measure::ScheduleShape;
using nlohmann::ordered_json;

std::size_t repetitions(const Flags& flags, std::size_t otherwise) {
    return flags.number_or("repetitions", otherwise, 1);
}

/// The picture, if one is asked for, and the text or, returned, the JSON object.
ordered_json shown(const Flags& flags, const Report& report, const ordered_json& json,
                   const std::string& title) {
    if (flags.has("plot")) plot(report, flags.text("plot"));
    if (flags.has("json")) return json;
    std::cout << title << '\n' << std::flush;
    print(report);
    return nullptr;
}

WholeModelOptions whole_options(const Flags& flags) {
    WholeModelOptions options{flags.text("artifact"), flags.text("model")};
    options.tokens = flags.number("tokens", 1);
    options.repetitions = repetitions(flags, options.repetitions);
    options.prompt = flags.number("prompt", 1);
    return options;
}

std::string title_of(const std::string& command, const WholeModelOptions& options) {
    return command + ", " + std::to_string(options.tokens) + " tokens after " +
           std::to_string(options.prompt) + ", medians of " + std::to_string(options.repetitions);
}

ordered_json decode(const Flags& flags) {
    const WholeModelOptions options = whole_options(flags);
    WholeModel whole(options);
    const DecodeResult result = measure_decode(whole);
    ordered_json json = json_of(result.report, options.repetitions);
    json["hybrid_tokens_per_second"] = result.hybrid_tokens_per_second;
    json["int8_tokens_per_second"] = result.int8_tokens_per_second;
    json["ratio"] = result.ratio;
    json["offline_seconds_per_token"] = result.offline_seconds_per_token;
    json["prompt"] = options.prompt;
    json["tokens"] = options.tokens;
    json["repetitions"] = options.repetitions;
    json["kernels"] = kernels::active().name;
    return shown(flags, result.report, json, title_of("decode", options));
}

/// Shows the report that `measure` makes of the whole model; `name` heads it.
template <class Measure>
ordered_json measured(const Flags& flags, const std::string& name, const Measure& measure) {
    const WholeModelOptions options = whole_options(flags);
    WholeModel whole(options);
    const Report report = measure(whole);
    return shown(flags, report, json_of(report, options.repetitions),
                 name + ", medians of " + std::to_string(options.repetitions));
}

ordered_json masks(const Flags& flags) {
    return measured(flags, "masks", [](WholeModel& whole) { return measure_masks(whole); });
}

ordered_json hidden(const Flags& flags) {
    return measured(flags, "hidden split", [](WholeModel& whole) {
        if (!whole.charlie.set().hides_weights) {
            throw BadInput(whole.options.artifact.string() + ": set " +
                           std::string(whole.charlie.set().name) + ": expected a hidden split");
        }
        return measure_hidden(whole);
    });
}

ordered_json guesses(const Flags& flags) { return measured(flags, "guesses", measure_guessing); }

ordered_json context(const Flags& flags) {
    return measured(flags, "context",
                    [&](WholeModel& whole) { return measure_context(whole, flags.has("plot")); });
}

KernelOptions kernel_options(const Flags& flags) {
    KernelOptions options;
    options.repetitions = std::max<std::size_t>(repetitions(flags, options.repetitions), 5);
    return options;
}

std::string title_of(const KernelOptions& options) {
    return "kernels, medians of " + std::to_string(options.repetitions);
}

ordered_json kernel_figures(const Flags& flags) {
    const KernelOptions options = kernel_options(flags);
    const Report report = measure_kernels(options);
    return shown(flags, report, json_of(report, options.repetitions), title_of(options));
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

ordered_json serve(const Flags& flags) {
    constexpr std::size_t fewer_repetitions = 5;
    WholeModelOptions options = whole_options(flags);
    options.repetitions = repetitions(flags, fewer_repetitions);
    tell_progress("the model is being loaded, split and unprotected");
    WholeModel whole(options);
    tell_progress("the model is loaded");
    const Report report = measure_serve(whole, tell_progress);
    ordered_json json = json_of(report, options.repetitions);
    json["contestants"] = serve_processors(whole);
    return shown(flags, report, json,
                 "serve, medians of " + std::to_string(options.repetitions) + "; " +
                     serve_processors(whole));
}

/// Adds epsilon_online and epsilon_total of a token of `shape`, and epsilon_online_7b, from the
/// schedule of Llama-2-7B at rank 16; charlie_total_1b and charlie_total_7b of TinyLlama's and
/// Llama-2-7B's schedules at rank 16 with lattice masks, after 32 tokens, and
/// charlie_total_hidden_1b and _7b of the same models hidden.
void report_epsilon(const ScheduleShape& shape, Report& report) {
    constexpr std::size_t rank = 16, context = 32;
    const Multiplications token = of_token(shape);
    report.add_figure("epsilon_online", measure::epsilon_online(token));
    report.add_figure("epsilon_total", measure::epsilon_total(token));
    const base::ModelConfig tinyllama = config_of(measure::shapes.at("tinyllama"));
    const base::ModelConfig llama2_7b = config_of(measure::shapes.at("llama2-7b"));
    report.add_figure("epsilon_online_7b",
                      measure::epsilon_online(of_token(schedule_of(llama2_7b, rank))));
    for (const auto& [name, config] :
         {std::pair{"charlie_total_1b", &tinyllama}, {"charlie_total_7b", &llama2_7b}}) {
        const ScheduleShape lattice = schedule_of(*config, rank, "paper-lattice");
        report.add_figure(name, measure::charlie_total(lattice, *config, context));
    }
    for (const auto& [name, config] : {std::pair{"charlie_total_hidden_1b", &tinyllama},
                                       {"charlie_total_hidden_7b", &llama2_7b}}) {
        const ScheduleShape hidden = schedule_of(*config, 0, "hidden");
        report.add_figure(name, measure::charlie_total(hidden, *config, context));
    }
}

ordered_json json_of(const ScheduleShape& shape) {
    const Multiplications token = of_token(shape);
    return {{"online", token.online}, {"offline", token.offline}, {"linear", token.linear}};
}

ordered_json cost(const Flags& flags) {
    const artifact::CharlieArtifact charlie(flags.text("artifact"));
    const ScheduleShape shape = schedule_of(charlie);
    Report report;
    report_epsilon(shape, report);
    ordered_json json = json_of(report, 1);
    json["multiplications"] = json_of(shape);
    return shown(flags, report, json,
                 "cost of a token on a schedule, without AES; charlie_total: with floats after 32");
}

/// Whole models first: they fork, and the peers' libraries may start threads.
ordered_json all_figures(const Flags& flags) {
    const WholeModelOptions options = whole_options(flags);
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
    const KernelOptions parts = kernel_options(flags);
    append(measure_kernels(parts), report);
    return shown(flags, report, json_of(report, options.repetitions),
                 title_of("decode", options) + "; " + title_of(parts));
}

ordered_json largest_of(const std::vector<measure::ShardCost>& shards) {
    const measure::ShardCost& largest =
        *std::ranges::max_element(shards, {}, &measure::ShardCost::held);
    return {{"groups", largest.groups},
            {"held", largest.held},
            {"rounds", largest.rounds},
            {"bytes_up", largest.bytes_up},
            {"bytes_down", largest.bytes_down}};
}

/// In the sets with lattice masks.
ordered_json shapes(const Flags& flags) {
    constexpr std::size_t rank = 16, context = 512;
    ordered_json all = ordered_json::array();
    for (const char* const shape : {"tinyllama", "llama2-7b", "llama2-70b"}) {
        for (const char* const set : {"paper-lattice", "hidden"}) {
            const base::ModelConfig config = config_of(measure::shapes.at(shape));
            const measure::TokenCost token = measure::cost_of_token(config, rank, set, context);
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
            if (flags.has("shards")) {
                all.back()["largest_shard"] =
                    largest_of(measure::cost_of_shards(config, set, flags.number("shards", 1)));
            }
        }
    }
    if (flags.has("json")) return all;
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
    if (!flags.has("shards")) return nullptr;
    std::printf("the largest of %zu shards; millions\n%-10s %-13s %6s %8s %8s %12s\n",
                std::size_t{flags.number("shards", 1)}, "shape", "set", "rounds", "bytes up",
                "down", "David holds");
    for (const auto& row : all) {
        const auto& shard = row["largest_shard"];
        std::printf("%-10s %-13s %6d %8.2f %8.2f %12.2f\n", row["shape"].get<std::string>().c_str(),
                    row["set"].get<std::string>().c_str(), shard["rounds"].get<int>(),
                    shard["bytes_up"].get<double>() / 1e6, shard["bytes_down"].get<double>() / 1e6,
                    shard["held"].get<double>() / 1e6);
    }
    return nullptr;
}

ordered_json round(const Flags& flags) {
    RoundOptions options{flags.text("artifact"), parse_endpoint(flags.text("david"), "--david"),
                         flags.text("tls")};
    options.repetitions = repetitions(flags, options.repetitions);
    const std::vector<RoundResult> results = measure_rounds(options);
    ordered_json shapes = ordered_json::array();
    for (const RoundResult& result : results) {
        shapes.push_back({{"n", result.n},
                          {"rows", result.rows},
                          {"tls_us", result.tls_microseconds},
                          {"in_process_us", result.in_process_microseconds},
                          {"round_us", result.overhead_microseconds}});
    }
    if (flags.has("json")) {
        return {{"round_us", median_overhead(results)},
                {"shapes", shapes},
                {"repetitions", options.repetitions},
                {"kernels", kernels::active().name}};
    }
    std::printf("one round, one column, medians of %zu, microseconds\n%14s %10s %12s %10s\n",
                options.repetitions, "rows x n", "TLS", "in process", "TLS alone");
    for (const RoundResult& result : results) {
        const std::string shape = std::to_string(result.rows) + " x " + std::to_string(result.n);
        std::printf("%14s %10.1f %12.1f %10.1f\n", shape.c_str(), result.tls_microseconds,
                    result.in_process_microseconds, result.overhead_microseconds);
    }
    std::printf("%14s %34.1f\n", "median", median_overhead(results));
    return nullptr;
}

/// What a first word asks for.
struct Measurement {
    const char* name;
    const char* takes;  // the flags without which it cannot be
    const char* says;   // of what it measures, in lines
    ordered_json (*measure)(const Flags& flags);
};
constexpr const char* whole = " --artifact OUT --model DIR";
constexpr Measurement measurements[] = {
    {"report", whole,
     "decode, masks, hidden, guesses, context, cost and kernels in one run, with\n"
     "what every figure should reach",
     all_figures},
    {"decode", whole,
     "tokens per second of the hybrid engine, every mask ready, David in process,\n"
     "over loopback TLS and in shared memory, against the same model with int8\n"
     "weights and activations in the open, and that against a plain read of the\n"
     "weights; the offline work apart",
     decode},
    {"masks", whole,
     "of a set with lattice masks: what a block costs, Charlie's processor time per\n"
     "token with his masks, and decode over TLS while masks are made",
     masks},
    {"hidden", whole,
     "of a hidden split: what David's products and Charlie's work cost over the\n"
     "unprotected products of the same shapes, at 1 to 128 columns",
     hidden},
    {"guesses", whole,
     "tokens per second over TLS with guesses from the text itself over those\n"
     "without, on a text that quotes its prompt and on one that does not",
     guesses},
    {"context", whole,
     "decode after 1,536 tokens over decode after 32, prefill of 1,536 over prefill\n"
     "of 128, and how fast attention reads keys and values after 4,096. --plot also\n"
     "draws tokens per second against context, up to 2,048 tokens",
     context},
    {"serve", whole,
     "through the scheduler of 'slip serve': tokens per second of 8 generations in\n"
     "one batch over those of 1, over those of 8 in the open, with the bound on\n"
     "that, and over HTTP; the time to the first token of 512. Says on standard\n"
     "error how far it is",
     serve},
    {"cost", " --artifact OUT",
     "Charlie's multiplications in parts of the model's, on a schedule of one token,\n"
     "without attention and AES, but charlie_total_* with floats after 32 tokens;\n"
     "nothing is run",
     cost},
    {"shapes", " [--shards N]",
     "what a token costs models of 1.1, 7 and 70 billion weights: messages, bytes\n"
     "and multiplications, counted; nothing is run. docs/cost.md explains them",
     shapes},
    {"round", " --artifact OUT --david HOST:PORT --tls TLS/charlie",
     "what a round over TLS costs beyond its arithmetic, for every group shape", round},
    {"kernels", "",
     "what the kernels reach, on one processor, against the machine and against\n"
     "peers that were installed when this was built (OpenBLAS, FFLAS-FFPACK, NTL,\n"
     "FLINT, Eigen, oneDNN)",
     kernel_figures},
};

std::string usage() {
    std::string text = "MEASUREMENT [OPTIONS]\n";
    for (const Measurement& each : measurements) {
        text.append("\n").append(each.name).append(each.takes).append("\n");
        std::istringstream lines(each.says);
        for (std::string line; std::getline(lines, line);) text.append("    ").append(line + "\n");
    }
    text.pop_back();
    return text;
}

ordered_json measure_named(const Flags& flags) {
    std::string known;
    for (const Measurement& each : measurements) {
        if (flags.text_or("measurement", "") == each.name) return each.measure(flags);
        known.append(known.empty() ? "" : ", ").append(each.name);
    }
    throw BadInput("expected one of " + known + "; see --help");
}

}  // namespace
}  // namespace slip::bench

int main(int argc, char** argv) {
    return slip::measure::run(
        {"slip-bench",
         slip::bench::usage(),
         {{"measurement", "NAME", "the first word"},
          {"artifact", "OUT", "what 'slip split' wrote"},
          {"model", "DIR", "the checkpoint it is of"},
          {"david", "HOST:PORT", "round: a running David"},
          {"tls", "TLS/charlie", "round: certificates"},
          {"prompt", "N", "decode: tokens of the prompt, one batch", "8"},
          {"tokens", "N",
           "decode, guesses: tokens per repetition, of guesses at most 64; serve: per generation, "
           "at most 16",
           "64"},
          {"repetitions", "R", "default 7, for serve 5, for round 200"},
          {"json", nullptr, "print one JSON object instead of a table"},
          {"shards", "N", "shapes: also what the David of the largest of N shards has"},
          {"plot", "FILE.svg", "draw the figures"}},
         slip::bench::measure_named,
         "measurement"},
        argc, argv);
}

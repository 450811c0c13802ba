#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "optimized/artifact/plan.hpp"
#include "optimized/base/files.hpp"
#include "optimized/base/parallel.hpp"
#include "optimized/import/tokenizer.hpp"
#include "programs/slip/command.hpp"
#include "programs/slip/support/options.hpp"
#include "programs/slip/support/plan_flags.hpp"
#include "programs/slip/support/printable.hpp"
#include "programs/slip/support/progress.hpp"
#include "slip/error.hpp"
#include "slip/planning.hpp"

namespace slip::tool {
namespace {

constexpr std::array<const char*, 3> targets{"offload", "leakage", "as-uniform"};

/// Throws BadInput unless exactly one target was given. Opens no file.
void require_target(const Options& options) {
    const char* given = nullptr;
    for (const char* target : targets) {
        if (!options.has(target)) continue;
        if (given != nullptr) options.forbid(target, std::string("beside --") + given);
        given = target;
    }
    if (given == nullptr) {
        throw BadInput("--offload, --leakage or --as-uniform is missing; see --help");
    }
    for (const char* share : {"offload", "leakage"}) {
        if (options.real_or(share, 0) <= 1) continue;
        throw BadInput("--" + std::string(share) + " '" + options.required(share) +
                       "': expected a number from 0 to 1");
    }
    options.number_or("as-uniform", 1, 1, largest_rank);
}

/// The first `most` tokens of the file `text` by the tokenizer of the folder `model`.
std::vector<TokenId> tokens_of(const std::filesystem::path& model,
                               const std::filesystem::path& text, std::size_t most) {
    const std::unique_ptr<importing::Tokenizer> tokenizer = importing::open_tokenizer(model);
    if (!tokenizer) throw BadInput("--text needs a tokenizer, and the model has none");
    std::vector<TokenId> ids = tokenizer->encode(base::read_file(text));
    if (ids.empty()) throw BadInput(text.string() + ": the text has no token");
    ids.resize(std::min(ids.size(), most));
    return ids;
}

CheckpointMeasurements measure(const Options& options) {
    const std::filesystem::path model = options.required("model");
    const std::size_t most = options.number_or("max-tokens", SIZE_MAX, 1);
    MeasureOptions how;
    how.threads = options.number_or("threads", base::available_threads(), 1, 1024);
    if (options.has("text")) how.text = tokens_of(model, options.required("text"), most);
    std::optional<Progress> progress;
    std::string what;
    how.progress = [&](const MeasureProgress& now) {
        if (std::exchange(what, now.what) != now.what) progress.emplace("slip plan: " + now.what);
        progress->update(now.done, now.total);
    };
    return measure_checkpoint(model, how);
}

Plan plan_for_target(const Options& options, const CheckpointMeasurements& measurements) {
    if (options.has("offload")) {
        return plan_for_offload(measurements, options.real_or("offload", 0));
    }
    if (options.has("leakage")) {
        return plan_for_leakage(measurements, options.real_or("leakage", 0));
    }
    return plan_for_uniform_work(measurements, options.number("as-uniform", 1, largest_rank));
}

/// The uniform plan to compare with: the one that was asked for, or the least that does at least
/// the plan's work.
std::size_t rank_beside(const Options& options, const CheckpointMeasurements& measurements,
                        const PlanFigures& figures) {
    if (options.has("as-uniform")) return options.number("as-uniform", 1, largest_rank);
    return uniform_rank(measurements, figures.work);
}

std::vector<std::string> layer_types_of(const CheckpointMeasurements& measurements) {
    std::vector<std::string> types;
    for (const MeasuredMatrix& matrix : measurements.matrices) {
        if (std::find(types.begin(), types.end(), matrix.layer_type) == types.end()) {
            types.push_back(matrix.layer_type);
        }
    }
    return types;
}

/// A line per block, a column per layer type.
void print_ranks(std::FILE* out, const CheckpointMeasurements& measurements, const Plan& plan) {
    const std::vector<std::string> types = layer_types_of(measurements);
    std::map<std::size_t, std::map<std::string, std::size_t>> ranks;
    for (const MeasuredMatrix& matrix : measurements.matrices) {
        ranks[matrix.block][matrix.layer_type] = 0;
    }
    for (const PlanTriplet& triplet : plan)
        ranks[*triplet.block][triplet.layer_type] = triplet.rank;
    std::fprintf(out, "block ");
    if (measurements.tokens > 0) std::fprintf(out, " %10s", "bypass");
    for (const std::string& type : types) std::fprintf(out, " %11s", printable(type).c_str());
    std::fprintf(out, "\n");
    for (const auto& [block, by_type] : ranks) {
        std::fprintf(out, "%-6zu", block);
        if (measurements.tokens > 0) {
            std::fprintf(out, " %+10.4f", measurements.bypass_losses[block]);
        }
        for (const std::string& type : types) {
            const auto found = by_type.find(type);
            const std::string rank = found == by_type.end() ? "" : std::to_string(found->second);
            std::fprintf(out, " %11s", rank.c_str());
        }
        std::fprintf(out, "\n");
    }
}

void print_figures(std::FILE* out, const CheckpointMeasurements& measurements,
                   const PlanFigures& figures, const PlanFigures& uniform, std::size_t rank) {
    const auto line = [&](const char* what, const std::string& own, const std::string& beside) {
        std::fprintf(out, "%-48s %14s %18s\n", what, own.c_str(), beside.c_str());
    };
    const auto decimals = [](double value) {
        std::array<char, 32> text{};
        std::snprintf(text.data(), text.size(), "%.4f", value);
        return std::string(text.data());
    };
    const auto whole = [&](const PlanFigures& of) {
        return std::to_string(of.whole) + " of " + std::to_string(measurements.matrices.size());
    };
    line("", "this plan", "rank " + std::to_string(rank) + " each");
    line("offload", decimals(figures.offload), decimals(uniform.offload));
    line("leakage", decimals(figures.leakage), decimals(uniform.leakage));
    line("Charlie's online multiplications per token", std::to_string(figures.charlie),
         std::to_string(uniform.charlie));
    line("matrices of the blocks that David holds whole", whole(figures), whole(uniform));
}

void print_notes(std::FILE* out, const CheckpointMeasurements& measurements) {
    std::fprintf(
        out,
        "\noffload: the share of the model's linear multiplications that Charlie's factors do not "
        "cost.\nleakage: the share of the blocks' squared singular values that David gets; 1 is "
        "everything.\nNo attack was measured: a plan of less leakage need not resist an attacker "
        "longer (DECO-12).\n");
    if (measurements.tokens == 0) {
        std::fprintf(out,
                     "Spectra alone: without --text every matrix counts the same, whatever its "
                     "block does for the model.\nSuch a plan can leave David more that is useful "
                     "than one rank everywhere does (DECO-12).\n");
        return;
    }
    std::fprintf(out,
                 "A matrix counts as much as the loss on the text rises without its block "
                 "(bypass, in nats per token;\nloss of the model %.4f on %llu tokens).\n",
                 measurements.loss, static_cast<unsigned long long>(measurements.tokens));
}

void print_table(std::FILE* out, const Options& options, const CheckpointMeasurements& measurements,
                 const Plan& plan) {
    const PlanFigures figures = figures_of(measurements, plan);
    const std::size_t rank = rank_beside(options, measurements, figures);
    const PlanFigures uniform = figures_of(measurements, uniform_plan(measurements, rank));
    print_ranks(out, measurements, plan);
    std::fprintf(out, "\n");
    print_figures(out, measurements, figures, uniform, rank);
    print_notes(out, measurements);
}

}  // namespace

int plan(const Arguments& arguments) {
    Options options(
        "plan --model DIR|FILE (--offload X | --leakage X | --as-uniform K)\n"
        "            [--text FILE] [--json]",
        "Measures a checkpoint and says which of its blocks' matrices to split, at which rank, so "
        "that the least leaks to the untrusted machine (David) for the work that it costs the "
        "trusted one (Charlie, DECO-12), beside the plan with "
        "one rank everywhere. Nothing is trained. Give a text: the singular values alone are a "
        "poor guide.");
    options.example(
        "slip plan --model models/tinystories-llama --offload 0.9 --text stories.txt --json "
        ">plan.json");
    options.add("model", "DIR", "as for 'slip split'");
    options.add("offload", "X", "leave David at least this share of the linear multiplications");
    options.add("leakage", "X",
                "let David have at most this share, 0 to 1, of what DECO-12 counts");
    options.add("as-uniform", "K", "spend at most the work of rank K in every matrix");
    options.add(
        "text", "FILE",
        "UTF-8 text: weight each block by how much the loss on it rises without the block; the "
        "model is then in memory whole, in float32");
    options.add("max-tokens", "N", "with --text: only the first N tokens");
    options.add("threads", "N", "at most N threads; all of the machine's if absent");
    options.add_switch("json",
                       "print the plan as 'slip split --plan' takes it, and the table to "
                       "standard error");
    if (!options.parse(arguments)) return 0;
    options.required("model");
    require_target(options);
    if (!options.has("text")) options.forbid("max-tokens", "without --text");
    const CheckpointMeasurements measurements = measure(options);
    const Plan chosen = plan_for_target(options, measurements);
    print_table(options.has("json") ? stderr : stdout, options, measurements, chosen);
    if (options.has("json")) std::cout << artifact::plan_to_json(chosen) << '\n';
    return 0;
}

}  // namespace slip::tool

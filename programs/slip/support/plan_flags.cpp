#include "programs/slip/support/plan_flags.hpp"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>

#include "optimized/artifact/plan_json.hpp"
#include "optimized/import/json.hpp"
#include "slip/error.hpp"
#include "slip/split.hpp"

namespace slip::tool {
namespace {

Plan read_plan_of(const std::string& file) {
    if (file != "-") return read_plan(file);
    const std::string text(std::istreambuf_iterator<char>(std::cin), {});
    const std::filesystem::path origin = "standard input";
    return artifact::plan_from_json(importing::parse_json(text, origin), origin);
}

/// Rank 0 would leave David the whole model, as a plan without a layer would.
std::size_t rank_of(const Options& options) {
    constexpr std::uint64_t otherwise = 16;
    return options.number_or("rank", otherwise, 1, largest_rank);
}

}  // namespace

void add_plan_flags(Options& options) {
    options.add(
        "plan", "FILE",
        "JSON list of triplets [block, layer_type, K], as 'slip plan' makes it; null: no block; "
        "-: standard input");
    options.add(
        "rank", "K",
        "instead of a plan: K, at least 1, for every linear layer of the blocks (default 16 "
        "with --set paper or paper-lattice)");
    options.add("blocks", "A", "with --rank: only the first and the last A blocks");
}

void require_plan_flags(const Options& options) {
    if (options.has("plan")) {
        options.forbid("rank", "beside --plan");
        options.forbid("blocks", "beside --plan");
    }
    rank_of(options);
    options.number_or("blocks", 1, 1);
}

Plan plan_of(const Options& options, const std::filesystem::path& model) {
    if (options.has("plan")) {
        const std::string file = options.required("plan");
        Plan plan = read_plan_of(file);
        const auto whole = [](const PlanTriplet& triplet) { return triplet.rank == 0; };
        if (std::all_of(plan.begin(), plan.end(), whole)) {
            throw BadInput((file == "-" ? "standard input" : file) +
                           ": names no layer with a rank above 0, so David would hold the whole "
                           "model");
        }
        return plan;
    }
    std::optional<std::size_t> first_and_last;
    if (options.has("blocks")) first_and_last = options.number("blocks", 1);
    return uniform_plan(model, rank_of(options), first_and_last);
}

}  // namespace slip::tool

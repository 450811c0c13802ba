#include "programs/slip/plan_flags.hpp"

#include <cstdint>
#include <optional>
#include <string>

#include "slip/error.hpp"
#include "slip/split.hpp"

namespace slip::tool {
namespace {

constexpr std::uint64_t largest_rank = std::uint64_t{1} << 20;  // PARAM-3

}  // namespace

void add_plan_flags(Options& options) {
    options.add("plan", "FILE", "JSON list of triplets [block, layer_type, K]; null: no block");
    options.add("rank", "K", "instead of a plan: K for every linear layer of the blocks");
    options.add("blocks", "A", "with --rank: only the first and the last A blocks");
}

void require_plan_flags(const Options& options) {
    if (options.has("plan")) {
        options.forbid("rank", "beside --plan");
        options.forbid("blocks", "beside --plan");
    } else if (!options.has("rank")) {
        throw BadInput("--plan or --rank is missing; see --help");
    }
    options.number_or("rank", 0, 0, largest_rank);
    options.number_or("blocks", 1, 1);
}

Plan plan_of(const Options& options, const std::filesystem::path& model) {
    if (options.has("plan")) {
        Plan plan = read_plan(options.required("plan"));
        if (plan.empty()) {
            throw BadInput(options.required("plan") +
                           ": names no layer, so David would hold the whole model");
        }
        return plan;
    }
    std::optional<std::size_t> first_and_last;
    if (options.has("blocks")) first_and_last = options.number("blocks", 1);
    return uniform_plan(model, options.number("rank", 0, largest_rank), first_and_last);
}

}  // namespace slip::tool

#include "optimized/artifact/strategy.hpp"

#include <algorithm>
#include <array>

#include "optimized/base/error.hpp"

namespace slip::artifact {
namespace {

struct Description {
    Strategy strategy;
    const char* name;
    bool uses_randomness;
    const char* leak;
};

constexpr std::array descriptions = {
    Description{Strategy::lsc, "lsc", false,
                "LSC leaves the null space of W_D visible: it shows the spaces that W_C lives in, "
                "and only k (|m - n| + k) unknowns of W_C are left"},
    Description{Strategy::rcs, "rcs", true,
                "RCS leaves the null space of W_D visible, so only k (|m - n| + k) unknowns of W_C "
                "are left, and the gaps in W_D's spectrum tell their sizes; the largest components "
                "are likely David's"},
    Description{Strategy::norm, "norm", false,
                "Norm CS leaves zero columns in W_D: David sees which inputs' weights are hidden; "
                "all their k m entries are unknown, and all other columns are his"},
    Description{
        Strategy::random, "random", true,
        "Random CS leaves zero columns in W_D: David sees which inputs' weights are hidden; "
        "all their k m entries are unknown, and all other columns are his"},
    Description{Strategy::fms, "fms", false,
                "FMS keeps whole matrices: David sees which ones, as zeros, and holds every other "
                "matrix whole; a kept matrix costs Charlie more than the unsplit one"},
};

const Description& describe(Strategy strategy) {
    return descriptions[static_cast<std::size_t>(strategy)];
}

}  // namespace

}  // namespace slip::artifact

namespace slip {

const char* name_of(Strategy strategy) { return artifact::describe(strategy).name; }

std::optional<Strategy> strategy_named(std::string_view name) {
    for (const artifact::Description& description : artifact::descriptions) {
        if (description.name == name) return description.strategy;
    }
    return std::nullopt;
}

}  // namespace slip

namespace slip::artifact {

bool uses_randomness(Strategy strategy) { return describe(strategy).uses_randomness; }

bool exposes_span(Strategy strategy) {
    return strategy == Strategy::lsc || strategy == Strategy::rcs;
}

const char* leak_of(Strategy strategy) { return describe(strategy).leak; }

std::size_t largest_rank(Strategy strategy, std::size_t m, std::size_t n) {
    return std::min(m, n) - (strategy == Strategy::fms ? 0 : 1);
}

std::size_t kept_terms(Strategy strategy, std::size_t k, std::size_t m, std::size_t n) {
    return strategy == Strategy::fms && k > 0 ? std::min(m, n) : k;
}

std::size_t unknowns_left(Strategy strategy, std::size_t rank, std::size_t m, std::size_t n) {
    switch (strategy) {
        case Strategy::lsc:
        case Strategy::rcs:
            return rank * ((m > n ? m - n : n - m) + rank);
        case Strategy::norm:
        case Strategy::random:
            return rank * m;
        case Strategy::fms:
            return rank > 0 ? m * n : 0;
    }
    throw InternalError("unknowns_left: no such strategy");
}

}  // namespace slip::artifact

// The choices that a user of the library makes, by their names in artifacts and on the command
// line.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "slip/export.hpp"

namespace SLIP_API slip {

/// A token's number in the model's vocabulary.
using TokenId = std::int32_t;

/// The two orders of attention (ATTN-1, ATTN-5).
enum class Attention {
    fused,  ///< one round: Q, K and V from one masked message
    paper,  ///< two rounds: Q and K from two masked copies, then for each head S X goes to W_v
};

/// "fused" or "paper".
constexpr const char* name_of(Attention order) {
    return order == Attention::paper ? "paper" : "fused";
}

/// The order with this name, if there is one.
constexpr std::optional<Attention> attention_named(std::string_view name) {
    for (const Attention order : {Attention::fused, Attention::paper}) {
        if (name == name_of(order)) return order;
    }
    return std::nullopt;
}

/// What Charlie keeps of a matrix: the paper's strategies (DECO-8).
enum class Strategy {
    lsc,     ///< the k largest singular components: the paper's choice
    rcs,     ///< k singular components at random
    norm,    ///< the k columns of largest norm
    random,  ///< k columns at random
    fms,     ///< the whole matrix, if k >= 1
};

/// "lsc", "rcs", "norm", "random" or "fms".
const char* name_of(Strategy strategy);
/// The strategy with this name, if there is one.
std::optional<Strategy> strategy_named(std::string_view name);

/// DECO-10: what all random choices of a split derive from. Charlie's secret.
using SelectionSeed = std::array<std::uint8_t, 32>;

}  // namespace slip

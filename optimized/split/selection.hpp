// Choosing at random what Charlie keeps: spec/decomposition.md, DECO-9 and DECO-10.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "slip/types.hpp"

namespace slip::splitting {

/// 32 bytes from the operating system: of a selection, and of the integrity check (INTEG-1).
SelectionSeed new_seed();

/// Random bytes, one a call.
using ByteSource = std::function<std::uint8_t()>;

/// DECO-10: the stream of the matrix with this number, counted through the groups in order.
ByteSource selection_stream(const SelectionSeed& seed, std::uint64_t matrix);

/// DECO-9: k of the numbers 0, ..., n - 1, each set equally likely under uniform bytes; sorted.
/// k <= n.
std::vector<std::size_t> choose(std::size_t k, std::size_t n, const ByteSource& next_byte);

}  // namespace slip::splitting

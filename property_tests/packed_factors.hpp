// Charlie's low-rank kernels on factors that lie row by row: packed first, as the kernels read
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "optimized/base/huge_buffer.hpp"
#include "optimized/kernels/contracts.hpp"

namespace slip {

/// DECO-7: B q for b k x n.
inline std::vector<std::int64_t> low_rank_inner(const kernels::Backend& backend,
                                                const std::vector<std::int16_t>& b, std::size_t k,
                                                const std::int16_t* q, std::size_t n) {
    HugeBuffer packed(backend.right_bytes(k, n));
    auto* const right = reinterpret_cast<std::int16_t*>(packed.data());
    backend.pack_right(b.data(), k, n, right);
    std::vector<std::int64_t> z(k, -1);
    backend.low_rank_inner(right, k, n, q, z.data());
    return z;
}

/// LIN-2: 2^t y_D + A z for a narrow a m x k. `y` has m elements.
template <class P>
void low_rank_outer_narrow(const kernels::Backend& backend, const std::vector<std::int32_t>& a,
                           std::size_t m, std::size_t k, unsigned limbs,
                           const std::vector<std::int64_t>& z,
                           const std::vector<typename P::Product>& y_david, std::int64_t* y) {
    HugeBuffer packed(backend.left_bytes(m, k));
    auto* const narrow = reinterpret_cast<std::int16_t*>(packed.data());
    backend.pack_left(a.data(), m, k, narrow);
    backend.of<P>().low_rank_outer_narrow(narrow, m, k, limbs, z.data(), y_david.data(), y);
}

}  // namespace slip

// Charlie's low-rank kernels on factors that lie row by row: packed first, as the kernels read
// them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "optimized/base/huge_buffer.hpp"
#include "optimized/kernels/contracts.hpp"

namespace slip::testing {

/// DECO-7: B q for b k x n.
inline std::vector<std::int64_t> low_rank_inner(const kernels::Backend& backend,
                                                const std::vector<std::int16_t>& b, std::size_t k,
                                                const std::int16_t* q, std::size_t n) {
    base::HugeBuffer packed(backend.right_bytes(k, n));
    auto* const right = packed.as<kernels::PackedRight>();
    backend.pack_right(b.data(), k, n, right);
    std::vector<std::int64_t> z(k, -1);
    backend.low_rank_inner(right, k, n, q, z.data());
    return z;
}

/// As few limbs as z allows.
inline unsigned limbs_of(const std::vector<std::int64_t>& z) {
    std::uint64_t largest = 0;
    for (const std::int64_t v : z) {
        largest = std::max(largest, static_cast<std::uint64_t>(std::abs(v)));
    }
    return kernels::limbs_of(largest);
}

/// LIN-2: 2^t y_D + A z for a m x k, with `limbs` at least those of z.
inline std::vector<std::int64_t> low_rank_outer(const kernels::Backend& backend,
                                                const std::vector<std::int32_t>& a, std::size_t m,
                                                const std::vector<std::int64_t>& z, unsigned limbs,
                                                const std::int64_t* y_david) {
    base::HugeBuffer packed(backend.left_bytes(m, z.size()));
    auto* const left = packed.as<kernels::PackedLeft>();
    backend.pack_left(a.data(), m, z.size(), left);
    std::vector<std::int64_t> y(m, -1);
    backend.low_rank_outer(left, m, z.size(), limbs, z.data(), y_david, y.data());
    return y;
}

}  // namespace slip::testing

// The layout of A: see layout.hpp.
#include "optimized/kernels/leaf/avx2/layout.hpp"
#include "optimized/kernels/leaf/factor_limbs.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::avx2 {

std::size_t left_bytes(std::size_t m, std::size_t k) {
    return groups_of(m) * (pairs_of(k) * pair_elements * sizeof(std::int16_t) + group_rows);
}

void pack_left(const std::int32_t* a, std::size_t m, std::size_t k, PackedLeft* left) {
    std::uint8_t* bytes = raw(left);
    auto* const entries = reinterpret_cast<std::int16_t*>(bytes);
    const std::size_t group_elements = pairs_of(k) * pair_elements;
    std::uint8_t* const exponents = bytes + groups_of(m) * group_elements * sizeof *entries;
    for (std::size_t i = 0; i < groups_of(m) * group_rows; ++i) {
        exponents[i] = i < m ? exponent_of(a + i * k, k) : std::uint8_t{0};
        std::int16_t* const row = entries + i / group_rows * group_elements + i % group_rows * 2;
        for (std::size_t c = 0; c < 2 * pairs_of(k); ++c) {
            const std::int32_t entry = i < m && c < k ? a[i * k + c] : 0;
            row[c / 2 * pair_elements + c % 2] = static_cast<std::int16_t>(entry >> exponents[i]);
        }
    }
}

}  // namespace slip::kernels::avx2

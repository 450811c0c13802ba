// The layout of combinations (INTEG-3): see combination_blocks.hpp.
#include "optimized/kernels/leaf/combination_blocks.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::portable {
namespace {

/// 1 to block_entries entries of a combination in one plane, and zeros. A function of its own, of
/// which proofs/asm proves what it does.
[[gnu::noinline]] void pack_entries(const std::uint8_t* w, std::size_t count, std::uint32_t prime,
                                    std::int8_t* packed) {
    for (std::size_t i = 0; i < block_entries; ++i) {
        packed[i] = static_cast<std::int8_t>(i < count ? lift(w[i], prime) : std::int32_t{0});
    }
}

}  // namespace

std::size_t combinations_bytes(std::size_t n, std::size_t planes) {
    return blocks_of(n) * planes * block_bytes;
}

void pack_combinations(const std::uint8_t* w, std::size_t n, std::size_t planes,
                       PackedCombinations* packed) {
    std::int8_t* out = raw(packed);
    for (std::size_t j = 0; j < n; j += block_entries) {
        const std::size_t count = n - j < block_entries ? n - j : block_entries;
        for (std::size_t p = 0; p < planes; ++p) {
            for (std::size_t a = 0; a < base::parameters::kappa; ++a, out += block_entries) {
                pack_entries(w + (a * planes + p) * n + j, count, moduli[p].prime, out);
            }
        }
    }
}

}  // namespace slip::kernels::portable

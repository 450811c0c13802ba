// The inner products of the integrity check (INTEG-3): see combination_blocks.hpp for the layout.
// Widened to 16 bits, 16 entries of a combination and of a column are multiplied and added in pairs
// by vpmaddwd. g++ 12 keeps an array of accumulators in memory, so each has a name.
#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/leaf/avx2/layout.hpp"
#include "optimized/kernels/leaf/combination_blocks.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::avx2 {
namespace {

using base::parameters::kappa;

/// 16 bytes, widened.
[[gnu::always_inline]] inline __m256i load_16(const std::uint8_t* bytes) {
    return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
}

/// The sums over a plane's blocks, an accumulator per combination.
struct Sums {
    __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a, e = a, f = a, g = a, h = a;

    /// The products of a quarter of a block.
    [[gnu::always_inline]] void add(const std::int8_t* w, __m256i v) {
        a = add_products(a, widen(w), v);
        b = add_products(b, widen(w + block_entries), v);
        c = add_products(c, widen(w + 2 * block_entries), v);
        d = add_products(d, widen(w + 3 * block_entries), v);
        e = add_products(e, widen(w + 4 * block_entries), v);
        f = add_products(f, widen(w + 5 * block_entries), v);
        g = add_products(g, widen(w + 6 * block_entries), v);
        h = add_products(h, widen(w + 7 * block_entries), v);
    }
    [[gnu::always_inline]] void add_block(const std::int8_t* w, const std::uint8_t* v,
                                          std::uint32_t) {
        // Unrolled, g++ 12 adds products up first, and more than the registers hold.
#pragma GCC unroll 1
        for (std::size_t i = 0; i < block_entries; i += 16) add(w + i, load_16(v + i));
    }
    [[gnu::always_inline]] void add_to(std::int64_t* totals) const {
        std::int32_t lanes[kappa][8];
        store(lanes[0], a), store(lanes[1], b), store(lanes[2], c), store(lanes[3], d);
        store(lanes[4], e), store(lanes[5], f), store(lanes[6], g), store(lanes[7], h);
        for (std::size_t i = 0; i < kappa; ++i) {
            for (const std::int32_t lane : lanes[i]) totals[i] += lane;
        }
        base::wipe(lanes, sizeof lanes);
    }
};

}  // namespace

void combine(const PackedCombinations* packed, std::size_t n, std::size_t planes,
             const std::uint8_t* v, std::size_t b, std::uint8_t* out) {
    combine_blocks<Sums>(raw(packed), n, planes, v, b, out);
}

}  // namespace slip::kernels::avx2

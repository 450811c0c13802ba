// The inner products of the integrity check (INTEG-3): see combination_blocks.hpp for the layout. A
// block of a combination is a register, which vpdpbusd multiplies by one of a column.
#include "optimized/kernels/leaf/avx512/layout.hpp"
#include "optimized/kernels/leaf/combination_blocks.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::avx512 {
namespace {

/// sum += 64 products, four to a lane.
[[gnu::always_inline]] inline void add(__m512i& sum, __m512i v, const std::int8_t* w) {
    sum = _mm512_dpbusd_epi32(sum, v, _mm512_loadu_si512(w));
}

/// The sums over a plane's blocks, an accumulator per combination.
struct Sums {
    __m512i a = _mm512_setzero_si512(), b = a, c = a, d = a, e = a, f = a, g = a, h = a;

    [[gnu::always_inline]] void add_block(const std::int8_t* w, const std::uint8_t* v,
                                          std::uint32_t) {
        const __m512i residues = _mm512_loadu_si512(v);
        add(a, residues, w);
        add(b, residues, w + block_entries);
        add(c, residues, w + 2 * block_entries);
        add(d, residues, w + 3 * block_entries);
        add(e, residues, w + 4 * block_entries);
        add(f, residues, w + 5 * block_entries);
        add(g, residues, w + 6 * block_entries);
        add(h, residues, w + 7 * block_entries);
    }
    /// A pass's sums over all lanes still fit 32 bits.
    [[gnu::always_inline]] void add_to(std::int64_t* totals) const {
        totals[0] += _mm512_reduce_add_epi32(a), totals[1] += _mm512_reduce_add_epi32(b);
        totals[2] += _mm512_reduce_add_epi32(c), totals[3] += _mm512_reduce_add_epi32(d);
        totals[4] += _mm512_reduce_add_epi32(e), totals[5] += _mm512_reduce_add_epi32(f);
        totals[6] += _mm512_reduce_add_epi32(g), totals[7] += _mm512_reduce_add_epi32(h);
    }
};

}  // namespace

void combine(const PackedCombinations* packed, std::size_t n, std::size_t planes,
             const std::uint8_t* v, std::size_t b, std::uint8_t* out) {
    combine_blocks<Sums>(raw(packed), n, planes, v, b, out);
}

}  // namespace slip::kernels::avx512

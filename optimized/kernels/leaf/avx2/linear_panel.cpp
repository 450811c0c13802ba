// The micro-kernels under every product with packed weights. g++ 12 keeps an array of accumulators
// in memory, so each has a name.
#include "optimized/kernels/leaf/avx2/linear_panel.hpp"

#include "optimized/kernels/leaf/avx2/layout.hpp"

namespace slip::kernels::avx2 {
namespace {

/// W is asked for this far ahead: the processor's own prefetchers stop at the end of a page.
constexpr std::size_t ahead = 8192;

/// Two elements of a vector, in every lane.
[[gnu::always_inline]] inline __m256i broadcast(const std::int16_t* vectors) {
    std::int32_t two;
    __builtin_memcpy(&two, vectors, sizeof two);
    return _mm256_set1_epi32(two);
}

}  // namespace

[[gnu::noinline]] void multiply_panel_by_2(const std::int8_t* w, const std::int16_t* vectors,
                                           std::size_t stride, std::size_t steps,
                                           std::int32_t* sums) {
    __m256i a0 = _mm256_setzero_si256(), b0 = _mm256_setzero_si256();
    __m256i a1 = _mm256_setzero_si256(), b1 = _mm256_setzero_si256();
    for (; steps > 0; --steps, w += step_bytes, vectors += 2) {
        _mm_prefetch(w + ahead, _MM_HINT_T0);
        const __m256i a = widen(w);
        const __m256i b = widen(w + 16);
        __m256i two = broadcast(vectors);
        a0 = add_products(a0, a, two);
        b0 = add_products(b0, b, two);
        two = broadcast(vectors + stride);
        a1 = add_products(a1, a, two);
        b1 = add_products(b1, b, two);
    }
    store(sums, a0);
    store(sums + 8, b0);
    store(sums + 16, a1);
    store(sums + 24, b1);
}

[[gnu::noinline]] void multiply_panel_by_4(const std::int8_t* w, const std::int16_t* vectors,
                                           std::size_t stride, std::size_t steps,
                                           std::int32_t* sums) {
    __m256i a0 = _mm256_setzero_si256(), b0 = _mm256_setzero_si256();
    __m256i a1 = _mm256_setzero_si256(), b1 = _mm256_setzero_si256();
    __m256i a2 = _mm256_setzero_si256(), b2 = _mm256_setzero_si256();
    __m256i a3 = _mm256_setzero_si256(), b3 = _mm256_setzero_si256();
    for (; steps > 0; --steps, w += step_bytes, vectors += 2) {
        _mm_prefetch(w + ahead, _MM_HINT_T0);
        const __m256i a = widen(w);
        const __m256i b = widen(w + 16);
        __m256i two = broadcast(vectors);
        a0 = add_products(a0, a, two);
        b0 = add_products(b0, b, two);
        two = broadcast(vectors + stride);
        a1 = add_products(a1, a, two);
        b1 = add_products(b1, b, two);
        two = broadcast(vectors + 2 * stride);
        a2 = add_products(a2, a, two);
        b2 = add_products(b2, b, two);
        two = broadcast(vectors + 3 * stride);
        a3 = add_products(a3, a, two);
        b3 = add_products(b3, b, two);
    }
    store(sums, a0);
    store(sums + 8, b0);
    store(sums + 16, a1);
    store(sums + 24, b1);
    store(sums + 32, a2);
    store(sums + 40, b2);
    store(sums + 48, a3);
    store(sums + 56, b3);
}

}  // namespace slip::kernels::avx2

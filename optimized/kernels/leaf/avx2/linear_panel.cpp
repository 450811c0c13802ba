// The micro-kernel under every product with packed weights. g++ 12 keeps an array of accumulators
// in memory, so each has a name.
#include "optimized/kernels/leaf/avx2/linear_panel.hpp"

#include "optimized/kernels/leaf/avx2/layout.hpp"

namespace slip::kernels::avx2 {
namespace {

/// W is asked for this far ahead: the processor's own prefetchers stop at the end of a page.
constexpr std::size_t ahead = 8192;

/// The 16 rows of a step of a panel, 8 and 8, or their sums.
struct Rows {
    __m256i a, b;
};

/// Two elements of a vector, in every lane.
[[gnu::always_inline]] inline __m256i broadcast(const std::int16_t* x) {
    std::int32_t two;
    __builtin_memcpy(&two, x, sizeof two);
    return _mm256_set1_epi32(two);
}

template <std::size_t vectors>
struct Sums {
    Sums<vectors - 1> of_others;
    Rows of_last{_mm256_setzero_si256(), _mm256_setzero_si256()};

    /// The products of a step's weights and 2 elements of each vector.
    [[gnu::always_inline]] void add(const Rows& w, const std::int16_t* x, std::size_t stride) {
        of_others.add(w, x, stride);
        const __m256i two = broadcast(x + (vectors - 1) * stride);
        of_last.a = add_products(of_last.a, w.a, two);
        of_last.b = add_products(of_last.b, w.b, two);
    }
    [[gnu::always_inline]] void store_all(std::int32_t* sums) const {
        of_others.store_all(sums);
        store(sums + (vectors - 1) * panel_rows, of_last.a);
        store(sums + (vectors - 1) * panel_rows + 8, of_last.b);
    }
};

template <>
struct Sums<0> {
    void add(const Rows& /*w*/, const std::int16_t* /*x*/, std::size_t /*stride*/) {}
    void store_all(std::int32_t* /*sums*/) const {}
};

template <std::size_t vectors>
[[gnu::always_inline]] inline void multiply(const std::int8_t* w, const std::int16_t* x,
                                            std::size_t stride, std::size_t steps,
                                            std::int32_t* sums) {
    Sums<vectors> all;
    for (; steps > 0; --steps, w += step_bytes, x += step_columns) {
        _mm_prefetch(w + ahead, _MM_HINT_T0);
        all.add({widen(w), widen(w + 16)}, x, stride);
    }
    all.store_all(sums);
}

}  // namespace

[[gnu::noinline]] void multiply_panel_by_1(const std::int8_t* w, const std::int16_t* x,
                                           std::size_t stride, std::size_t steps,
                                           std::int32_t* sums) {
    multiply<1>(w, x, stride, steps, sums);
}

[[gnu::noinline]] void multiply_panel_by_2(const std::int8_t* w, const std::int16_t* x,
                                           std::size_t stride, std::size_t steps,
                                           std::int32_t* sums) {
    multiply<2>(w, x, stride, steps, sums);
}

[[gnu::noinline]] void multiply_panel_by_3(const std::int8_t* w, const std::int16_t* x,
                                           std::size_t stride, std::size_t steps,
                                           std::int32_t* sums) {
    multiply<3>(w, x, stride, steps, sums);
}

[[gnu::noinline]] void multiply_panel_by_4(const std::int8_t* w, const std::int16_t* x,
                                           std::size_t stride, std::size_t steps,
                                           std::int32_t* sums) {
    multiply<4>(w, x, stride, steps, sums);
}

}  // namespace slip::kernels::avx2

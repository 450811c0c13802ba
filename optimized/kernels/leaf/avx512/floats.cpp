// Charlie's float code: MODEL-2, MODEL-5, MODEL-8 and MODEL-9.
#include "optimized/kernels/leaf/floats.hpp"

#include "optimized/kernels/leaf/avx512/layout.hpp"
#include "optimized/kernels/leaf/four_keys.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::avx512 {
namespace {

struct Leaf {
    static constexpr std::size_t width = 16;
    static constexpr std::size_t mixed_rows = 4;  // whose sums fit the registers
};

[[gnu::always_inline]] inline __m512 pair(__m256 low, __m256 high) {
    return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
}

/// sums[i][p] += the products of rows 2 i and 2 i + 1 with key p, of eight elements, which
/// load_from() gives of a row or a key.
template <class LoadFrom>
[[gnu::always_inline]] inline void add_products(__m512 (&sums)[2][4], const float* const* q,
                                                const floats::KeysOfFour& keys,
                                                const LoadFrom& load_from) {
    const __m512 rows[2] = {pair(load_from(q[0]), load_from(q[1])),
                            pair(load_from(q[2]), load_from(q[3]))};
#pragma GCC unroll 4
    for (std::size_t p = 0; p < 4; ++p) {
        const __m512 key = _mm512_broadcast_f32x8(load_from(keys.at[p]));
        sums[0][p] = _mm512_add_ps(sums[0][p], _mm512_mul_ps(rows[0], key));
        sums[1][p] = _mm512_add_ps(sums[1][p], _mm512_mul_ps(rows[1], key));
    }
}

/// Lane r of 128 bits has the ordered sums of row r's lanes with the four keys.
[[gnu::always_inline]] inline __m512 totals(const __m512 (&sums)[2][4]) {
    __m512 halves[4];  // lane r of 128 bits: row r's four halves
#pragma GCC unroll 4
    for (std::size_t p = 0; p < 4; ++p) {
        halves[p] = _mm512_add_ps(_mm512_shuffle_f32x4(sums[0][p], sums[1][p], 0x88),
                                  _mm512_shuffle_f32x4(sums[0][p], sums[1][p], 0xdd));
    }
    const __m512 low01 = _mm512_unpacklo_ps(halves[0], halves[1]);
    const __m512 low23 = _mm512_unpacklo_ps(halves[2], halves[3]);
    const __m512 high01 = _mm512_unpackhi_ps(halves[0], halves[1]);
    const __m512 high23 = _mm512_unpackhi_ps(halves[2], halves[3]);
    const __m512 first = _mm512_shuffle_ps(low01, low23, 0x44);
    const __m512 second = _mm512_shuffle_ps(low01, low23, 0xee);
    const __m512 third = _mm512_shuffle_ps(high01, high23, 0x44);
    const __m512 fourth = _mm512_shuffle_ps(high01, high23, 0xee);
    return _mm512_add_ps(_mm512_add_ps(_mm512_add_ps(first, second), third), fourth);
}

/// What multiply_keys_by_4() does; `count` is 4 and `rest` 0 where the keys are whole.
[[gnu::always_inline]] inline void multiply_by_keys(const floats::FourKeys& four, std::size_t count,
                                                    std::size_t rest, const float* const* q,
                                                    float* const* out, floats::Ahead& ahead) {
    const floats::KeysOfFour keys(four, count);
    floats::Ahead own = ahead;  // in registers
    __m512 sums[2][4] = {};
    const auto add = [&](const auto& load_from) { add_products(sums, q, keys, load_from); };
    const std::size_t whole = four.d - rest;
    for (std::size_t j = 0; j < whole; j += 8) {
        own.step();
        add([&](const float* from) { return _mm256_loadu_ps(from + j); });
    }
    if (rest > 0) floats::add_rest(whole, rest, add);
    const __m512 products = _mm512_mul_ps(totals(sums), _mm512_set1_ps(four.scale));
    ahead.go_on(own);
    const std::size_t position = four.position;
    floats::store(_mm512_castps512_ps128(products), count, out[0] + position);
    floats::store(_mm512_extractf32x4_ps(products, 1), count, out[1] + position);
    floats::store(_mm512_extractf32x4_ps(products, 2), count, out[2] + position);
    floats::store(_mm512_extractf32x4_ps(products, 3), count, out[3] + position);
}

[[gnu::noinline, gnu::used]] void multiply_some_keys_by_4(const floats::FourKeys& four,
                                                          const float* const* q, float* const* out,
                                                          floats::Ahead& ahead) {
    multiply_by_keys(four, four.count, four.d % 8, q, out, ahead);
}

/// out[r][position + p] = dot(q[r], key p, d) * scale, for four rows: a function of its own that is
/// proved by itself.
[[gnu::noinline, gnu::used]] void multiply_keys_by_4(const floats::FourKeys& four,
                                                     const float* const* q, float* const* out,
                                                     floats::Ahead& ahead) {
    if (!floats::are_whole(four)) return multiply_some_keys_by_4(four, q, out, ahead);
    multiply_by_keys(four, 4, 0, q, out, ahead);
}

/// The scores of all rows at four positions.
[[gnu::always_inline]] inline void score_rows(const floats::FourKeys& four, const float* const* q,
                                              std::size_t rows, float* const* out,
                                              floats::Ahead& ahead) {
    std::size_t r = 0;
    for (; r + 4 <= rows; r += 4) multiply_keys_by_4(four, q + r, out + r, ahead);
    if (r + 2 <= rows) {
        floats::multiply_keys<Leaf, 2>(four, q + r, out + r, ahead);
        r += 2;
    }
    if (r < rows) floats::multiply_keys<Leaf, 1>(four, q + r, out + r, ahead);
}

}  // namespace

float dot(const float* a, const float* b, std::size_t n) { return floats::dot<Leaf>(a, b, n); }

void scores(const float* const* q, std::size_t rows, const float* keys, std::size_t stride,
            std::size_t positions, std::size_t d, float scale, float* const* out,
            const float* next) {
    const std::size_t steps = floats::steps_of_four_keys(positions, d);
    floats::Ahead ahead(
        next, floats::prefetched_in_step<Leaf>(next, positions * stride, steps, (rows + 3) / 4));
    floats::for_each_four_keys(
        keys, stride, positions, d, scale,
        [&](const floats::FourKeys& four) { score_rows(four, q, rows, out, ahead); });
}

void mix(const float* const* weights, std::size_t rows, const float* values, std::size_t stride,
         std::size_t positions, std::size_t width, float* const* out, const float* next) {
    floats::mix<Leaf>(weights, rows, values, stride, positions, width, out, next);
}

void softmax(float* x, std::size_t n) { floats::softmax<Leaf>(x, n); }

void rms_norm(const float* x, const float* weight, std::size_t n, float epsilon, float* out) {
    floats::rms_norm<Leaf>(x, weight, n, epsilon, out);
}

void layer_norm(const float* x, const float* weight, const float* bias, std::size_t n,
                float epsilon, float* out) {
    floats::layer_norm<Leaf>(x, weight, bias, n, epsilon, out);
}

void rotate(float* head, const float* cosines, const float* sines, std::size_t half) {
    floats::rotate<Leaf>(head, cosines, sines, half);
}

void swiglu(float* gate, const float* up, std::size_t n) { floats::swiglu<Leaf>(gate, up, n); }

void gelu(float* x, std::size_t n) { floats::gelu<Leaf>(x, n); }

void add(const float* x, std::size_t n, float* sum) { floats::add<Leaf>(x, n, sum); }

std::size_t arg_max(const float* x, std::size_t n) { return floats::arg_max<Leaf>(x, n); }

float sampling_weights(const float* x, std::size_t n, float largest, float temperature,
                       float* weights) {
    return floats::sampling_weights<Leaf>(x, n, largest, temperature, weights);
}

}  // namespace slip::kernels::avx512

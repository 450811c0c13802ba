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

using FourKeys = floats::FourKeys<Leaf>;

/// Eight elements of each of two rows; the last of a row may be fewer.
__m512 load_pair(const float* low, const float* high, __mmask8 lanes) {
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_maskz_loadu_ps(lanes, low)),
                              _mm256_maskz_loadu_ps(lanes, high), 1);
}

/// sums[i][p] += the products of rows 2 i and 2 i + 1 with key p, elements j to j + 7.
[[gnu::always_inline]] inline void add_products(__m512 (&sums)[2][4], const float* const* q,
                                                const FourKeys& four, std::size_t j,
                                                __mmask8 lanes) {
    const __m512 rows[2] = {load_pair(q[0] + j, q[1] + j, lanes),
                            load_pair(q[2] + j, q[3] + j, lanes)};
    for (std::size_t p = 0; p < 4; ++p) {
        const __m512 key = _mm512_broadcast_f32x8(_mm256_maskz_loadu_ps(lanes, four.key[p] + j));
        sums[0][p] = _mm512_add_ps(sums[0][p], _mm512_mul_ps(rows[0], key));
        sums[1][p] = _mm512_add_ps(sums[1][p], _mm512_mul_ps(rows[1], key));
    }
}

/// Lane r of 128 bits has row r's products with the four keys.
[[gnu::always_inline]] inline __m512 products_of_four_rows(const float* const* q,
                                                           const FourKeys& four, std::size_t d,
                                                           float scale, floats::Ahead& ahead) {
    __m512 sums[2][4] = {};
    std::size_t j = 0;
    for (; j + 8 <= d; j += 8) {
        ahead.step();
        add_products(sums, q, four, j, __mmask8{0xff});
    }
    if (j < d) add_products(sums, q, four, j, first_8(d - j));
    __m512 halves[4];  // lane r of 128 bits: row r's four halves
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
    const __m512 total = _mm512_add_ps(_mm512_add_ps(_mm512_add_ps(first, second), third), fourth);
    return _mm512_mul_ps(total, _mm512_set1_ps(scale));
}

}  // namespace

float dot(const float* a, const float* b, std::size_t n) { return floats::dot<Leaf>(a, b, n); }

void scores(const float* const* q, std::size_t rows, const float* keys, std::size_t stride,
            std::size_t positions, std::size_t d, float scale, float* const* out,
            const float* next) {
    floats::Ahead ahead(next, positions * stride, (rows + 3) / 4 * FourKeys::steps(positions, d));
    for (std::size_t p = 0; p < positions; p += 4) {
        const FourKeys four(keys, stride, p, positions);
        std::size_t r = 0;
        for (; r + 4 <= rows; r += 4) {
            const __m512 four_rows = products_of_four_rows(q + r, four, d, scale, ahead);
            four.store(_mm512_castps512_ps128(four_rows), out[r]);
            four.store(_mm512_extractf32x4_ps(four_rows, 1), out[r + 1]);
            four.store(_mm512_extractf32x4_ps(four_rows, 2), out[r + 2]);
            four.store(_mm512_extractf32x4_ps(four_rows, 3), out[r + 3]);
        }
        for (; r + 2 <= rows; r += 2) four.multiply<2>(q + r, d, scale, out + r, ahead);
        if (r < rows) four.multiply<1>(q + r, d, scale, out + r, ahead);
    }
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

// Charlie's float code: MODEL-2, MODEL-5, MODEL-8 and MODEL-9.
#include "optimized/kernels/leaf/floats.hpp"

#include "optimized/kernels/leaf/four_keys.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::avx2 {
namespace {

struct Leaf {
    static constexpr std::size_t width = 8;
    static constexpr std::size_t mixed_rows = 2;
};

/// The scores of all rows at four positions.
[[gnu::always_inline]] inline void score_rows(const floats::FourKeys& four, const float* const* q,
                                              std::size_t rows, float* const* out,
                                              floats::Ahead& ahead) {
    std::size_t r = 0;
    for (; r + 2 <= rows; r += 2) floats::multiply_keys<Leaf, 2>(four, q + r, out + r, ahead);
    if (r < rows) floats::multiply_keys<Leaf, 1>(four, q + r, out + r, ahead);
}

}  // namespace

float dot(const float* a, const float* b, std::size_t n) { return floats::dot<Leaf>(a, b, n); }

void scores(const float* const* q, std::size_t rows, const float* keys, std::size_t stride,
            std::size_t positions, std::size_t d, float scale, float* const* out,
            const float* next) {
    const std::size_t steps = floats::steps_of_four_keys(positions, d);
    floats::Ahead ahead(
        next, floats::prefetched_in_step<Leaf>(next, positions * stride, steps, (rows + 1) / 2));
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

}  // namespace slip::kernels::avx2

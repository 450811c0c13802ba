// MODEL-2, MODEL-5, MODEL-8 and MODEL-9: Charlie's float operations on rows.
#include "optimized/graph/operations.hpp"

#include "optimized/kernels/registry.hpp"

namespace slip::graph {
namespace {

using base::MatrixView;

const kernels::FloatKernels& floats() { return kernels::active().floats; }

void add(std::span<const float> x, std::span<float> sum) {
    floats().add(x.data(), x.size(), sum.data());
}

}  // namespace

void rms_norm(MatrixView<const float> rows, std::span<const float> weight, float epsilon,
              MatrixView<float> out) {
    for (std::size_t t = 0; t < rows.rows(); ++t) {
        floats().rms_norm(rows.row(t).data(), weight.data(), rows.cols(), epsilon,
                          out.row(t).data());
    }
}

void layer_norm(MatrixView<const float> rows, const LayerNorm& norm, float epsilon,
                MatrixView<float> out) {
    for (std::size_t t = 0; t < rows.rows(); ++t) {
        floats().layer_norm(rows.row(t).data(), norm.weight.data(), norm.bias.data(), rows.cols(),
                            epsilon, out.row(t).data());
    }
}

void rotate(std::span<float> head, std::span<const float> cosines, std::span<const float> sines) {
    floats().rotate(head.data(), cosines.data(), sines.data(), head.size() / 2);
}

void swiglu(std::span<float> gate, std::span<const float> up) {
    floats().swiglu(gate.data(), up.data(), gate.size());
}

void gelu(std::span<float> x) { floats().gelu(x.data(), x.size()); }

void add(MatrixView<const float> x, MatrixView<float> sum) { add(x.elements(), sum.elements()); }

void add_bias(std::span<const float> bias, MatrixView<float> rows) {
    for (std::size_t t = 0; t < rows.rows(); ++t) add(bias, rows.row(t));
}

}  // namespace slip::graph

// The layout of packed weights, which the products read from front to back.
#include "optimized/kernels/leaf/avx512/layout.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"
#include "optimized/kernels/leaf/weight_panels.hpp"

namespace slip::kernels::avx512 {
namespace {

using Panels = WeightPanels<panel_rows, step_columns>;

/// A function of its own, of which proofs/asm proves what it does.
[[gnu::noinline]] void pack_panel(const std::int8_t* w, std::size_t rows, std::size_t n,
                                  std::int8_t* packed) {
    Panels::pack_panel(w, rows, n, packed);
}

}  // namespace

std::size_t packed_bytes(std::size_t m, std::size_t n) {
    return panels_of(m) * steps_of(n) * step_bytes;
}

void pack(const std::int8_t* w, std::size_t m, std::size_t n, PackedWeights* packed) {
    Panels::pack_all(w, m, n, raw(packed), pack_panel);
}

}  // namespace slip::kernels::avx512

// Y = W X mod L (LIN-1, MASK-3) from packed weights: every panel of W meets the planes of X, four
// at a time, or all five of a column of paper-lattice, or the one of a hidden matrix; each output
// is reduced once per block.
#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/leaf/avx512/layout.hpp"
#include "optimized/kernels/leaf/avx512/linear_panel.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::avx512 {
namespace {

/// Columns of W at a time when there are several columns of X: a panel that wide, 256 KiB, the next
/// one and as many bytes of X share the second-level cache.
constexpr std::size_t block_width = 4096;
constexpr std::size_t block_planes = 64;
/// A single column asks for W this far ahead: the processor's own prefetchers stop at the end of a
/// page.
constexpr std::size_t ahead_of_one = 7168;
static_assert(block_width <= pass_columns);

/// The part of a product that is done at a time: columns j to j + width - 1 of W, and `count`
/// planes of X, those of all columns numbered from `first` on. The primes of a column's planes
/// begin with that of number `offset`.
struct Block {
    const std::int8_t* packed;
    std::size_t m, n, j, width, first, count, planes, offset;
};

/// The micro-kernel of `planes` planes.
template <std::size_t planes>
constexpr auto multiply_panel_by = planes == 1   ? multiply_panel_by_1
                                   : planes == 4 ? multiply_panel_by_4
                                                 : multiply_panel_by_5;

/// sums = the products of a panel and some planes, whose columns are `width`.
template <std::size_t planes>
void multiply(const std::int8_t* w, const std::uint8_t* const* x, std::size_t width,
              std::int32_t* sums, Ahead ahead) {
    const std::size_t steps = width / step_columns, rest = width % step_columns;
    __builtin_memset(sums, 0, planes * panel_rows * sizeof *sums);
    multiply_panel_by<planes>(w, x, steps, sums, ahead);
    if (rest == 0) return;
    std::uint8_t last[planes][step_columns] = {};
    const std::uint8_t* of_last[planes];
    for (std::size_t l = 0; l < planes; ++l) {
        for (std::size_t j = 0; j < rest; ++j) last[l][j] = x[l][step_columns * steps + j];
        of_last[l] = last[l];
    }
    multiply_panel_by<planes>(w + steps * step_bytes, of_last, 1, sums, ahead);
    base::wipe(last, sizeof last);
}

/// Y += the block's part of W X, `planes` planes at a time; sets Y if j = 0. `x` and `y` are the
/// first of its planes. Each pass over a panel asks for its share of the next one, which so arrives
/// from memory while this one is multiplied.
template <std::size_t planes>
[[gnu::noinline]] void multiply_block(const Block& block, const std::uint8_t* x, std::uint8_t* y) {
    const std::size_t steps = steps_of(block.width);
    const std::size_t panel_bytes = steps_of(block.n) * step_bytes;
    // Of one or of five planes there are no more than these.
    const std::size_t passes = planes == 4 ? (block.count + 3) / 4 : 1;
    const std::size_t stride = (step_bytes + passes - 1) / passes;
    alignas(64) std::int32_t sums[planes * panel_rows];
    for (std::size_t row = 0; row < block.m; row += panel_rows) {
        const std::int8_t* const w =
            block.packed + row / panel_rows * panel_bytes + block.j / step_columns * step_bytes;
        const std::int8_t* ahead = w + (passes == 1 ? ahead_of_one : panel_bytes);
        for (std::size_t v = 0; v < block.count; v += planes, ahead += steps * stride) {
            // Of fewer planes, the last is multiplied more than once.
            const std::uint8_t* of_pass[planes];
            for (std::size_t l = 0; l < planes; ++l) {
                of_pass[l] = x + least(v + l, block.count - 1) * block.n + block.j;
            }
            multiply<planes>(w, of_pass, block.width, sums, {ahead, stride});
            for (std::size_t l = 0; l < least(planes, block.count - v); ++l) {
                finish(sums + l * panel_rows, least(panel_rows, block.m - row), block.j == 0,
                       moduli[block.offset + (block.first + v + l) % block.planes],
                       y + (v + l) * block.m + row);
            }
        }
    }
    base::wipe(sums, sizeof sums);  // of a mask (MASK-6)
}

/// b columns. A single one is as wide as a pass; several share narrower panels, and all passes over
/// W have about as many planes.
[[gnu::always_inline]] inline void multiply(const PackedWeights* packed, std::size_t m,
                                            std::size_t n, const std::uint8_t* x, std::size_t b,
                                            std::size_t planes, std::size_t offset,
                                            std::uint8_t* y) {
    const std::size_t width = b == 1 ? pass_columns : block_width;
    for (std::size_t v = 0, count; v < b * planes; v += count) {
        const std::size_t passes = (b * planes - v + block_planes - 1) / block_planes;
        count = least(((b * planes - v + passes - 1) / passes + 3) / 4 * 4, b * planes - v);
        for (std::size_t j = 0; j == 0 || j < n; j += width) {
            const std::size_t end = least(j + width, n);
            const Block block{raw(packed), m, n, j, end - j, v, count, planes, offset};
            if (count == 1) {
                multiply_block<1>(block, x + v * n, y + v * m);
            } else if (count == 5) {
                multiply_block<5>(block, x + v * n, y + v * m);
            } else {
                multiply_block<4>(block, x + v * n, y + v * m);
            }
        }
    }
}

}  // namespace

void gemm(const PackedWeights* packed, std::size_t m, std::size_t n, const std::uint8_t* x,
          std::size_t b, std::size_t planes, std::uint8_t* y) {
    multiply(packed, m, n, x, b, planes, 0, y);
}

void gemm_plane(const PackedWeights* packed, std::size_t m, std::size_t n, const std::uint8_t* x,
                std::size_t b, std::size_t plane, std::uint8_t* y) {
    multiply(packed, m, n, x, b, 1, plane, y);
}

}  // namespace slip::kernels::avx512

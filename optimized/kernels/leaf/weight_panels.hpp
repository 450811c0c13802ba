// The layout of packed weights in the backends that multiply panels of rows: W is cut into panels
// of so many rows and steps of so many columns, [panels][steps][rows][columns], padded with zeros.
// Always inlined, as in leaf/residues.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace slip::kernels {

template <std::size_t Rows, std::size_t Columns>
struct WeightPanels {
    static constexpr std::size_t step_bytes = Rows * Columns;

    [[gnu::always_inline]] static constexpr std::size_t steps_of(std::size_t n) {
        return (n + Columns - 1) / Columns;
    }

    /// One row of W, a step at a time; `packed` is the row's place in the first step of its panel.
    [[gnu::always_inline]] static void pack_row(const std::int8_t* row, std::size_t n,
                                                std::int8_t* packed) {
        std::size_t j = 0;
        for (; j + Columns <= n; j += Columns, packed += step_bytes) {
            __builtin_memcpy(packed, row + j, Columns);
        }
        if (j == n) return;
        packed[0] = row[j];
        for (std::size_t d = 1; d + 1 < Columns; ++d) packed[d] = j + d < n ? row[j + d] : 0;
        packed[Columns - 1] = 0;
    }

    /// A panel, of which W has 1 to Rows rows. Requires: n > 0.
    [[gnu::always_inline]] static void pack_panel(const std::int8_t* w, std::size_t rows,
                                                  std::size_t n, std::int8_t* packed) {
        for (std::size_t r = 0; r < rows; ++r) pack_row(w + r * n, n, packed + r * Columns);
        for (std::size_t r = rows; r < Rows; ++r) {
            for (std::size_t s = 0; s < steps_of(n); ++s) {
                __builtin_memset(packed + s * step_bytes + r * Columns, 0, Columns);
            }
        }
    }

    /// All of W, with the leaf's own `pack`, which is pack_panel().
    template <class Pack>
    [[gnu::always_inline]] static void pack_all(const std::int8_t* w, std::size_t m, std::size_t n,
                                                std::int8_t* packed, const Pack& pack) {
        if (n == 0) return;
        for (std::size_t i = 0; i < m; i += Rows, packed += steps_of(n) * step_bytes) {
            pack(w + i * n, m - i < Rows ? m - i : Rows, n, packed);
        }
    }
};

}  // namespace slip::kernels

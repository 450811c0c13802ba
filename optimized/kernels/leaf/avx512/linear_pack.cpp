// The layout of packed weights, which the products read from front to back.
#include "optimized/kernels/leaf/avx512/layout.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::avx512 {
namespace {

/// One row of W, a step at a time; `packed` is the row's place in the first step of its panel.
void pack_row(const std::int8_t* row, std::size_t n, std::size_t step_bytes, std::int8_t* packed) {
    std::size_t j = 0;
    for (; j + step_columns <= n; j += step_columns, packed += step_bytes) {
        __builtin_memcpy(packed, row + j, step_columns);
    }
    if (j == n) return;
    for (std::size_t d = 0; d < step_columns; ++d) packed[d] = j + d < n ? row[j + d] : 0;
}

template <class P, unsigned weight_bits>
std::size_t packed_size(std::size_t m, std::size_t n) {
    using L = Layout<P, weight_bits>;
    return L::panels_of(m) * L::steps(n) * L::step_bytes;
}

template <class P>
void pack_panels(const std::int8_t* w, std::size_t m, std::size_t n, std::int8_t* packed) {
    constexpr std::size_t rows = Layout<P>::panel_rows;
    constexpr std::size_t step_bytes = Layout<P>::step_bytes;
    const std::size_t panel_bytes = steps_of(n) * step_bytes;
    for (std::size_t i = 0; i < Layout<P>::panels_of(m) * rows; ++i) {
        std::int8_t* const place = packed + i / rows * panel_bytes + i % rows * step_columns;
        if (i < m) {
            pack_row(w + i * n, n, step_bytes, place);
        } else {
            for (std::size_t at = 0; at < panel_bytes; at += step_bytes) {
                __builtin_memset(place + at, 0, step_columns);
            }
        }
    }
}

/// Two weights, 4 columns apart, in a byte, each 8 more than it is: 1 to 15. Beyond W they are 0.
template <class P>
void pack_half_bytes(const std::int8_t* w, std::size_t m, std::size_t n, std::int8_t* packed) {
    using L = Layout<P, 4>;
    const auto biased = [&](std::size_t i, std::size_t j) {
        return (i < m && j < n ? w[i * n + j] : 0) + half_byte_bias;
    };
    for (std::size_t top = 0; top < L::panels_of(m) * L::panel_rows; top += L::panel_rows) {
        for (std::size_t j = 0; j < L::steps(n) * L::columns; j += L::columns) {
            for (std::size_t i = top; i < top + L::panel_rows; ++i) {
                for (std::size_t d = j; d < j + step_columns; ++d) {
                    *packed++ =
                        static_cast<std::int8_t>(biased(i, d) | biased(i, d + step_columns) << 4);
                }
            }
        }
    }
}

}  // namespace

std::size_t packed_bytes_p31(std::size_t m, std::size_t n) { return packed_size<P31, 8>(m, n); }
std::size_t packed_bytes_p61(std::size_t m, std::size_t n) { return packed_size<P61, 8>(m, n); }

void pack_p31(const std::int8_t* w, std::size_t m, std::size_t n, PackedWeights* packed) {
    pack_panels<P31>(w, m, n, raw(packed));
}
void pack_p61(const std::int8_t* w, std::size_t m, std::size_t n, PackedWeights* packed) {
    pack_panels<P61>(w, m, n, raw(packed));
}

std::size_t packed4_bytes_p31(std::size_t m, std::size_t n) { return packed_size<P31, 4>(m, n); }
std::size_t packed4_bytes_p61(std::size_t m, std::size_t n) { return packed_size<P61, 4>(m, n); }

void pack4_p31(const std::int8_t* w, std::size_t m, std::size_t n, PackedHalves* packed) {
    pack_half_bytes<P31>(w, m, n, raw(packed));
}
void pack4_p61(const std::int8_t* w, std::size_t m, std::size_t n, PackedHalves* packed) {
    pack_half_bytes<P61>(w, m, n, raw(packed));
}

}  // namespace slip::kernels::avx512

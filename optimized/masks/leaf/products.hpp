// The one body of the kernels; a leaf instantiates it with its lanes. Each lane has a row of its
// own, so that no step shuffles.
#pragma once

#include <algorithm>

#include "optimized/masks/leaf/rows.hpp"
#include "optimized/masks/leaf/transform.hpp"

namespace slip::masks {

/// Rows whose residues are collected before columns are written: a column gets runs of as many
/// bytes.
inline constexpr std::size_t tile_rows = 64;

/// Some coefficients of a block, all rows of its tile: by pairs of primes.
inline constexpr std::size_t at_once = 8;
struct Runs {
    std::int16_t of[plane_pairs][at_once][tile_rows];
};

/// Where things lie in the workspace of a pass.
template <class L>
class Places {
public:
    /// A transform has one place more than points, so that the values of a point, one of each
    /// transform, do not share a set of the cache.
    static constexpr std::size_t stride = points + 1;
    /// The residues of a coefficient modulo a pair of primes, one per lane.
    using Residues = std::int16_t[L::width];
    /// Likewise there is one place more than coefficients of all pairs.
    static constexpr std::size_t group = plane_pairs * degree + 64 / sizeof(Residues);
    static constexpr std::size_t groups = tile_rows / L::width;
    static_assert(tile_rows % L::width == 0);

    static std::size_t bytes(std::size_t elements, std::size_t blocks) {
        return degree * sizeof(typename L::Words) +
               2 * (elements + blocks) * stride * sizeof(Complex<L>) +
               blocks * groups * group * sizeof(Residues) + sizeof(Runs);
    }

    Places(void* workspace, std::size_t elements, std::size_t halves, std::size_t blocks)
        : words_(static_cast<typename L::Words*>(workspace)),
          factors_(reinterpret_cast<Complex<L>*>(words_ + degree)),
          products_(factors_ + elements * halves * stride),
          residues_(reinterpret_cast<Residues*>(products_ + blocks * halves * stride)),
          runs_(reinterpret_cast<Runs*>(residues_ + blocks * groups * group)),
          halves_(halves) {}

    /// An element of each lane's row as it is stored.
    typename L::Words* words() const { return words_; }
    /// The transform of a half of an element, and of a half of a block's product.
    Complex<L>* factor(std::size_t l, std::size_t half) const {
        return factors_ + (l * halves_ + half) * stride;
    }
    Complex<L>* product(std::size_t block, std::size_t half) const {
        return products_ + (block * halves_ + half) * stride;
    }
    /// What becomes of a block's product and `width` rows of the tile: by pairs of primes, by
    /// coefficients.
    Residues* residues(std::size_t block, std::size_t rows) const {
        return residues_ + (block * groups + rows) * group;
    }
    Runs& runs() const { return *runs_; }

private:
    typename L::Words* words_;
    Complex<L>* factors_;
    Complex<L>* products_;
    Residues* residues_;
    Runs* runs_;
    std::size_t halves_;
};

/// The transforms of an element.
constexpr unsigned halves_of(Coding coding) { return coding == Coding::residues ? 2 : 1; }
/// Bytes of an element as it is stored.
constexpr std::size_t element_bytes(Coding coding, std::size_t planes) {
    return coding == Coding::rounded ? points * rounded_pair_bytes : degree * planes;
}

/// Functions that say noinline are proved by themselves, and those that call them from what they
/// do. The ones that say used would lose parameters that no caller varies.
template <class L, Part part>
[[gnu::always_inline]] inline void transform_part(const Roots& roots,
                                                  const typename L::Words* words, Complex<L>* x) {
    const auto source = [&](std::size_t j) {
        return Complex<L>{value<L, part>(words[2 * j]), value<L, part>(words[2 * j + 1])};
    };
    forward<L>(roots, source, x);
}

/// The transform of an element of each lane's row, which begins at rows[lane]; of residues that of
/// the lower halves, and `stride` places further that of the upper ones. Overwrites `degree` words.
template <class L, Coding coding>
[[gnu::noinline, gnu::used]] void transform_element(const Roots& roots,
                                                    const std::uint8_t* const* rows,
                                                    std::size_t planes, typename L::Words* words,
                                                    Complex<L>* x) {
    if constexpr (coding == Coding::rounded) {
        load_rounded<L>(rows, words);
        transform_part<L, Part::rounded>(roots, words, x);
    } else {
        load_residues<L>(rows, planes, words);
        if constexpr (coding == Coding::centred) {
            transform_part<L, Part::centred>(roots, words, x);
        } else {
            transform_part<L, Part::low>(roots, words, x);
            transform_part<L, Part::high>(roots, words, x + Places<L>::stride);
        }
    }
}

/// The transforms of all elements of 1 <= count <= width rows, one per lane, the last row again in
/// lanes behind it.
template <class L, Coding coding>
[[gnu::noinline]] void transform_rows(const Roots& roots, const Pass& pass,
                                      const std::uint8_t* first, std::size_t count,
                                      const Places<L>& places) {
    const std::size_t size = element_bytes(coding, pass.planes);
    const std::uint8_t* rows[L::width];
    for (std::size_t lane = 0; lane < L::width; ++lane) {
        rows[lane] = first;
        if (lane + 1 < count) first += pass.elements * size;
    }
    for (std::size_t l = 0; l < pass.elements; ++l) {
        transform_element<L, coding>(roots, rows, pass.planes, places.words(), places.factor(l, 0));
        for (const std::uint8_t*& row : rows) row += size;
    }
}

/// Point by point, sum_l (values of row element l) (values of secret element l).
template <class L, unsigned halves>
[[gnu::noinline]] void multiply_points(const Pass& pass, const Places<L>& places) {
    constexpr std::size_t to_next = halves * Places<L>::stride;
    const std::size_t blocks = pass.blocks, elements = pass.elements;
    for (std::size_t k = 0; k < points; ++k) {
        for (std::size_t b = 0; b < blocks; ++b) {
            const double* secret = pass.secrets[b] + 2 * k * elements;
            const Complex<L>* factor = places.factor(0, 0) + k;
            typename L::Doubles re_re[halves]{}, im_im[halves]{}, re_im[halves]{}, im_re[halves]{};
            for (std::size_t l = 0; l < elements; ++l, secret += 2, factor += to_next) {
                const typename L::Doubles re = L::all(secret[0]), im = L::all(secret[1]);
                for (unsigned half = 0; half < halves; ++half) {
                    const Complex<L>& at_k = factor[half * Places<L>::stride];
                    const Complex<L> x{L::in_register(at_k.re), L::in_register(at_k.im)};
                    re_re[half] = L::plus_product(re_re[half], x.re, re);
                    im_im[half] = L::plus_product(im_im[half], x.im, im);
                    re_im[half] = L::plus_product(re_im[half], x.re, im);
                    im_re[half] = L::plus_product(im_re[half], x.im, re);
                }
            }
            for (unsigned half = 0; half < halves; ++half) {
                places.product(b, half)[k] = {re_re[half] - im_im[half], re_im[half] + im_re[half]};
            }
        }
    }
}

/// Reduces a coefficient of a product, its lower half and its upper one, modulo all pairs of
/// primes.
template <class L, unsigned halves>
[[gnu::always_inline]] inline void reduce_coefficient(typename L::Doubles low,
                                                      typename L::Doubles high,
                                                      typename Places<L>::Residues* out) {
    low = nearest<L>(low);
    if (halves == 2) high = nearest<L>(high);
    for (std::size_t q = 0; q < plane_pairs; ++q) {
        typename L::Doubles sum = low;
        if (halves == 2) sum = L::plus_product(low, high, L::all(pairs[q].weight_of_high));
        L::store(out[q * degree], reduce<L>(sum, q));
    }
}

/// The same of all coefficients: those of X^0 to X^(points - 1) are real parts, those above
/// imaginary ones. The halves of the product are `stride` places apart.
template <class L, unsigned halves>
[[gnu::noinline]] void reduce_product(const Complex<L>* product,
                                      typename Places<L>::Residues* out) {
    const Complex<L>* const high = product + (halves - 1) * Places<L>::stride;
    for (std::size_t k = 0; k < points; ++k) {
        reduce_coefficient<L, halves>(product[k].re, high[k].re, out + k);
        reduce_coefficient<L, halves>(product[k].im, high[k].im, out + k + points);
    }
}

/// Copies runs of a block together, those of `coefficient` first.
template <class L>
void collect_runs(const Places<L>& places, std::size_t b, std::size_t coefficient) {
    Runs& runs = places.runs();
    for (std::size_t rows = 0; rows < Places<L>::groups; ++rows) {
        const auto* const from = places.residues(b, rows) + coefficient;
        for (std::size_t q = 0; q < plane_pairs; ++q) {
            for (std::size_t i = 0; i < at_once; ++i) {
                std::memcpy(runs.of[q][i] + rows * L::width, from[q * degree + i], sizeof *from);
            }
        }
    }
}

/// Writes the first 1 <= count <= tile_rows residues of runs to columns, from place `first` of each
/// plane on.
template <class L>
[[gnu::noinline]] void write_runs(const Pass& pass, const Runs& runs, std::uint8_t* const* columns,
                                  std::size_t first, std::size_t count) {
    for (std::size_t p = 0; p < pass.planes; ++p) {
        const ShortProduct by = short_product(p, pass.factor[p]);
        for (std::size_t i = 0; i < at_once; ++i) {
            std::uint8_t part[tile_rows];
            for (std::size_t j = 0; j < tile_rows; ++j) {
                part[j] = multiply_short(runs.of[p / 2][i][j], by);
            }
            std::uint8_t* const column = columns[i] + p * pass.total + first;
            if (count == tile_rows) {
                std::memcpy(column, part, tile_rows);
            } else {
                std::memcpy(column, part, count);
            }
        }
    }
}

/// Writes the columns of a block: `count` residues of a tile, from place `first` of each plane on.
template <class L>
[[gnu::noinline]] void write_columns(const Pass& pass, const Places<L>& places, std::size_t b,
                                     std::size_t first, std::size_t count) {
    for (std::size_t i = 0; i < degree; i += at_once) {
        collect_runs(places, b, i);
        write_runs<L>(pass, places.runs(), pass.columns[b] + i, first, count);
    }
}

/// 1 <= count <= tile_rows rows, of which the first, number `first`, begins at `rows`.
template <class L, Coding coding>
[[gnu::noinline, gnu::used]] void multiply_tile(const Roots& roots, const Pass& pass,
                                                const std::uint8_t* rows, std::size_t first,
                                                std::size_t count, const Places<L>& places) {
    constexpr unsigned halves = halves_of(coding);
    const std::size_t row_bytes = pass.elements * element_bytes(coding, pass.planes);
    for (std::size_t row = 0; row < count; row += L::width, rows += L::width * row_bytes) {
        transform_rows<L, coding>(roots, pass, rows, std::min(L::width, count - row), places);
        multiply_points<L, halves>(pass, places);
        for (std::size_t b = 0; b < pass.blocks; ++b) {
            for (unsigned half = 0; half < halves; ++half) {
                inverse<L>(roots, places.product(b, half));
            }
            reduce_product<L, halves>(places.product(b, 0), places.residues(b, row / L::width));
        }
    }
    for (std::size_t b = 0; b < pass.blocks; ++b) {
        write_columns(pass, places, b, pass.first + first, count);
    }
}

template <class L, Coding coding>
void multiply_tiles(const Roots& roots, const Pass& pass, void* workspace) {
    const Places<L> places(workspace, pass.elements, halves_of(coding), pass.blocks);
    const std::size_t tile_bytes = tile_rows * pass.elements * element_bytes(coding, pass.planes);
    const std::uint8_t* rows = pass.rows;
    for (std::size_t first = 0; first < pass.count; first += tile_rows, rows += tile_bytes) {
        multiply_tile<L, coding>(roots, pass, rows, first, std::min(tile_rows, pass.count - first),
                                 places);
    }
}

template <class L>
void multiply_pass(const Roots& roots, const Pass& pass, void* workspace) {
    switch (pass.coding) {
        case Coding::residues:
            return multiply_tiles<L, Coding::residues>(roots, pass, workspace);
        case Coding::centred:
            return multiply_tiles<L, Coding::centred>(roots, pass, workspace);
        case Coding::rounded:
            return multiply_tiles<L, Coding::rounded>(roots, pass, workspace);
    }
}

/// Lane i takes the element `stride` times i bytes from the first one on, for i < count; the other
/// lanes are zero. The inverse transform multiplies by `points`: these values are divided by
/// them, which is exact.
template <class L>
[[gnu::always_inline]] inline void transform_small(const Roots& roots, const std::int8_t* small,
                                                   std::size_t stride, std::size_t count,
                                                   Complex<L>* x) {
    const auto source = [&](std::size_t j) {
        Complex<L> coefficient{};
        for (std::size_t lane = 0; lane < count; ++lane) {
            const std::int8_t* const element = small + lane * stride;
            coefficient.re[lane] = element[j] * (1.0 / points);
            coefficient.im[lane] = element[j + points] * (1.0 / points);
        }
        return coefficient;
    };
    forward<L>(roots, source, x);
}

/// 1 <= count <= width elements of a secret of `elements`.
template <class L>
[[gnu::noinline]] void transform_secret_group(const Roots& roots, const std::int8_t* small,
                                              std::size_t elements, std::size_t count,
                                              Complex<L>* x, double* spectrum) {
    transform_small<L>(roots, small, degree, count, x);
    for (std::size_t k = 0; k < points; ++k) {
        for (std::size_t lane = 0; lane < count; ++lane) {
            double* const out = spectrum + 2 * (k * elements + lane);
            out[0] = x[k].re[lane];
            out[1] = x[k].im[lane];
        }
    }
}

template <class L>
void transform_secret_elements(const Roots& roots, const std::int8_t* small, std::size_t elements,
                               void* workspace, double* spectrum) {
    Complex<L>* const x = Places<L>(workspace, 1, 1, 0).factor(0, 0);
    for (std::size_t first = 0; first < elements; first += L::width) {
        transform_secret_group<L>(roots, small + first * degree, elements,
                                  std::min(L::width, elements - first), x, spectrum + 2 * first);
    }
}

}  // namespace slip::masks

#include "optimized/split/hint.hpp"

#include <algorithm>
#include <array>

#include "optimized/base/error.hpp"
#include "optimized/base/hidden_widths.hpp"
#include "optimized/base/parallel.hpp"
#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/registry.hpp"
#include "optimized/kernels/weight_matrix.hpp"
#include "optimized/masks/products.hpp"

namespace slip::splitting {
namespace {

namespace parameters = base::parameters;
using base::MatrixView;
using base::parameters::LatticeParameters;
using base::parameters::ParameterSet;

const LatticeParameters& lattice_of(const ParameterSet& set) {
    base::require(set.lattice.has_value(), "a hint needs a set with lattice masks");
    return *set.lattice;
}

/// tau^-1 mod a prime.
std::uint64_t inverse_of(std::uint64_t tau, std::uint64_t prime) {
    std::uint64_t inverse = 1;
    while (tau % prime * inverse % prime != 1) ++inverse;
    return inverse;
}

void store(std::uint64_t value, std::uint8_t* bytes, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(value >> (8 * i));
}

/// MODEL-7: two representatives of least magnitude over 16, rounded up from the middle on, each
/// with 2^43 added, in 44 bits.
void store_rounded(std::int64_t first, std::int64_t second, std::uint8_t* bytes) {
    constexpr std::int64_t half = masks::rounding / 2;
    const auto bits = [&](std::int64_t v) {
        return static_cast<std::uint64_t>(((v + half) >> 4) + (std::int64_t{1} << 43));
    };
    static_assert(masks::rounding == 1 << 4);
    const std::uint64_t low = bits(first), high = bits(second);
    store(low | high << 44, bytes, 8);
    store(high >> 20, bytes + 8, 3);
}

}  // namespace

std::size_t hint_row_bytes(const ParameterSet& set) {
    return masks::row_bytes(set.planes, lattice_of(set).rank, set.hides_weights);
}

PublicColumns::PublicColumns(const ParameterSet& set, const masks::PublicMatrix::Seed& seed,
                             std::size_t width)
    : set_(set),
      width_(width),
      count_(lattice_of(set).rank * lattice_of(set).degree),
      residues_(count_ * set.planes * width) {
    // RING-2: what each residue of a plane becomes over tau.
    std::array<std::array<std::uint8_t, 256>, parameters::primes.size()> over_tau{};
    for (std::size_t p = 0; p < set.planes; ++p) {
        const std::uint64_t prime = parameters::primes[p];
        const std::uint64_t inverse = inverse_of(base::tau_at(set, width), prime);
        for (std::uint64_t r = 0; r < prime; ++r) {
            over_tau[p][r] = static_cast<std::uint8_t>(r * inverse % prime);
        }
    }
    constexpr std::size_t rows_at_once = 64;  // as many bytes in a run, per column and plane
    masks::PublicMatrix matrix(set, seed, width);
    std::vector<std::uint8_t> rows(rows_at_once * matrix.row_bytes());
    for (std::size_t first = 0; first < width; first += rows_at_once) {
        const std::size_t here = std::min(rows_at_once, width - first);
        for (std::size_t j = 0; j < here; ++j) {
            matrix.expand_planes(
                first + j, std::span(rows).subspan(j * matrix.row_bytes(), matrix.row_bytes()));
        }
        for (std::size_t p = 0; p < set.planes; ++p) {
            for (std::size_t t = 0; t < count_; ++t) {
                const std::uint8_t* const from = rows.data() + p * count_ + t;
                std::uint8_t* const column = residues_.data() + place(t, p) + first;
                for (std::size_t j = 0; j < here; ++j) {
                    column[j] = over_tau[p][from[j * matrix.row_bytes()]];
                }
            }
        }
    }
}

void compute_hint(const PublicColumns& columns, MatrixView<const std::int8_t> rows,
                  std::size_t threads, std::span<std::uint8_t> hint) {
    const ParameterSet& set = columns.set();
    const std::size_t m = rows.rows(), planes = set.planes, row_bytes = hint_row_bytes(set);
    base::require(rows.cols() == columns.width() && hint.size() == m * row_bytes,
                  "compute_hint: shapes that do not fit");
    const kernels::WeightMatrix weights(rows.data(), m, rows.cols());
    const std::uint64_t modulus = parameters::modulus(planes);
    const base::SecretBuffer<std::uint8_t> nothing(planes * m);
    constexpr std::size_t at_once = 64;  // columns: runs of 320 bytes of a row
    base::parallel_for(threads, (columns.count() + at_once - 1) / at_once, [&](std::size_t piece) {
        const std::size_t first = piece * at_once;
        const std::size_t count = std::min(at_once, columns.count() - first);
        base::SecretBuffer<std::uint8_t> product(count * planes * m);
        base::SecretBuffer<std::int64_t> lifted(m);
        weights.multiply(columns.columns(first, count), product.span(), planes);
        for (std::size_t t = 0; t < count; ++t) {
            // Nothing to take away: the kernel joins the planes (RING-5) and lifts (RING-3).
            kernels::active().unmask(product.data() + t * planes * m, nothing.data(), m, planes,
                                     lifted.data());
            for (std::size_t i = 0; i < m; ++i) {
                const std::uint64_t negative = static_cast<std::uint64_t>(lifted[i]) >> 63;
                store(static_cast<std::uint64_t>(lifted[i]) + negative * modulus,
                      hint.data() + i * row_bytes + (first + t) * planes, planes);
            }
        }
    });
}

void compute_rounded_hint(const PublicColumns& columns, const kernels::PlanarMatrix& rows,
                          std::size_t threads, std::span<std::uint8_t> hint) {
    const ParameterSet& set = columns.set();
    const std::size_t m = rows.rows(), planes = set.planes, row_bytes = hint_row_bytes(set);
    base::require(
        rows.cols() == columns.width() && rows.planes() == planes && hint.size() == m * row_bytes,
        "compute_rounded_hint: shapes that do not fit");
    rows.prepare();
    const base::SecretBuffer<std::uint8_t> nothing(planes * m);
    // Complex coefficient j of an element has the columns of j and j + N/2.
    constexpr std::size_t at_once = 32;
    base::parallel_for(threads, columns.count() / (2 * at_once), [&](std::size_t piece) {
        const std::size_t pairs_per_element = masks::points / at_once;
        const std::size_t l = piece / pairs_per_element, j = piece % pairs_per_element * at_once;
        base::SecretBuffer<std::uint8_t> products(planes * 2 * at_once * m), column(planes * m);
        base::SecretBuffer<std::int64_t> lifted(2 * m);
        for (std::size_t p = 0; p < planes; ++p) {
            for (std::size_t half = 0; half < 2; ++half) {
                const std::size_t first = l * masks::degree + half * masks::points + j;
                rows.plane(p).multiply_plane(
                    columns.plane(p, first, at_once),
                    products.span().subspan((2 * p + half) * at_once * m, at_once * m), p);
            }
        }
        for (std::size_t t = 0; t < at_once; ++t) {
            for (std::size_t half = 0; half < 2; ++half) {
                for (std::size_t p = 0; p < planes; ++p) {
                    std::copy_n(products.data() + ((2 * p + half) * at_once + t) * m, m,
                                column.data() + p * m);
                }
                kernels::active().unmask(column.data(), nothing.data(), m, planes,
                                         lifted.data() + half * m);
            }
            for (std::size_t i = 0; i < m; ++i) {
                store_rounded(lifted[i], lifted[m + i],
                              hint.data() + i * row_bytes +
                                  (l * masks::points + j + t) * masks::rounded_pair_bytes);
            }
        }
    });
}

}  // namespace slip::splitting

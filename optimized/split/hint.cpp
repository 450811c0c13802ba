#include "optimized/split/hint.hpp"

#include <algorithm>
#include <array>

#include "optimized/base/error.hpp"
#include "optimized/base/parallel.hpp"
#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/registry.hpp"
#include "optimized/kernels/weight_matrix.hpp"

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

/// tau^-1 mod a prime: half, as often as tau is a power of two.
std::uint64_t inverse_of_tau(const ParameterSet& set, std::uint64_t prime) {
    std::uint64_t inverse = 1;
    for (unsigned i = 0; i < lattice_of(set).tau_bits; ++i) {
        inverse = (inverse % 2 == 0 ? inverse : inverse + prime) / 2;
    }
    return inverse;
}

std::uint64_t load(const std::uint8_t* bytes, std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) value |= std::uint64_t{bytes[i]} << (8 * i);
    return value;
}

void store(std::uint64_t value, std::uint8_t* bytes, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(value >> (8 * i));
}

}  // namespace

std::size_t hint_row_bytes(const ParameterSet& set) {
    return lattice_of(set).rank * lattice_of(set).degree * set.planes;
}

PublicColumns::PublicColumns(const ParameterSet& set, const masks::PublicMatrix::Seed& seed,
                             std::size_t width)
    : set_(set),
      width_(width),
      count_(lattice_of(set).rank * lattice_of(set).degree),
      residues_(count_ * set.planes * width) {
    std::array<std::uint64_t, parameters::primes.size()> inverse{};
    for (std::size_t p = 0; p < set.planes; ++p) {
        inverse[p] = inverse_of_tau(set, parameters::primes[p]);
    }
    constexpr std::size_t rows_at_once = 64;  // a run of so many bytes per column and plane
    masks::PublicMatrix matrix(set, seed, width);
    std::vector<std::uint8_t> rows(rows_at_once * matrix.row_bytes());
    for (std::size_t first = 0; first < width; first += rows_at_once) {
        const std::size_t here = std::min(rows_at_once, width - first);
        matrix.expand(first, std::span(rows).first(here * matrix.row_bytes()));
        for (std::size_t t = 0; t < count_; ++t) {
            std::uint8_t* const column = residues_.data() + t * set.planes * width + first;
            for (std::size_t j = 0; j < here; ++j) {
                const std::uint64_t value =
                    load(rows.data() + j * matrix.row_bytes() + t * set.planes, set.planes);
                for (std::size_t p = 0; p < set.planes; ++p) {
                    const std::uint64_t prime = parameters::primes[p];
                    column[p * width + j] =
                        static_cast<std::uint8_t>(value % prime * inverse[p] % prime);
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

}  // namespace slip::splitting

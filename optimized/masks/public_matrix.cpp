#include "optimized/masks/public_matrix.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "optimized/base/error.hpp"
#include "optimized/kernels/registry.hpp"

namespace slip::masks {
namespace {

namespace parameters = base::parameters;
using base::require;
using parameters::primes;

/// RAND-8: the input for one plane, domain || set || purpose || plane || width || index || seed.
struct Input {
    static constexpr std::string_view domain = "SLIP-2";
    static constexpr std::size_t plane = 8, index = 13, seed = 17;
    std::array<std::uint8_t, seed + parameters::public_seed_bytes> bytes{};

    Input(std::uint8_t set, PublicMatrix::Kind kind, std::size_t width,
          const PublicMatrix::Seed& seed_bytes) {
        std::ranges::copy(domain, bytes.begin());
        bytes[6] = set;
        bytes[7] = static_cast<std::uint8_t>(kind);
        put(9, width);
        std::ranges::copy(seed_bytes, bytes.begin() + seed);
    }
    /// A number of 4 bytes.
    void put(std::size_t at, std::size_t number) {
        for (std::size_t i = 0; i < 4; ++i) {
            bytes[at + i] = static_cast<std::uint8_t>(number >> (8 * i));
        }
    }
};

/// RING-5: what residue r of plane p adds to the integer that it is a residue of, modulo L.
using Shares = std::vector<std::array<std::uint64_t, 256>>;

Shares shares_of(std::size_t planes) {
    const std::uint64_t modulus = parameters::modulus(planes);
    Shares shares(planes);
    for (std::size_t p = 0; p < planes; ++p) {
        const std::uint64_t weight = modulus / primes[p];
        std::uint64_t inverse = 1;
        while (weight % primes[p] * inverse % primes[p] != 1) ++inverse;
        for (std::uint64_t r = 0; r < primes[p]; ++r) {
            shares[p][r] = r * inverse % primes[p] * weight;
        }
    }
    return shares;
}

}  // namespace

struct PublicMatrix::State {
    const Backend& backend;
    std::size_t planes;
    std::size_t residues;  // of a row
    std::size_t rows;
    Input input;
    Shares shares;
    std::size_t permutations = 0;                   // of a stream: as many as one has needed so far
    std::vector<std::uint8_t> inputs{}, streams{};  // of shake_inputs streams
    std::vector<std::uint64_t> row;                 // sums of shares

    State(const Backend& leaf, const parameters::ParameterSet& set, const Seed& seed,
          std::size_t width, Kind kind)
        : backend(leaf),
          planes(set.planes),
          residues(set.lattice->rank * set.lattice->degree),
          rows(width),
          input(set.code, kind, width, seed),
          shares(shares_of(planes)) {
        if (kind == Kind::weights) std::swap(residues, rows);
        permutations = residues / shake128_rate + 1;
        row.resize(residues);
    }

    bool draw(std::size_t first, std::size_t count);
    template <class Use>
    void for_each_plane(std::size_t first, std::size_t count, const Use& use);
    void expand(std::size_t first, std::size_t count, std::uint8_t* out);
};

/// RAND-2: draws streams number first, first + 1, ..., `count` of them, where row j has those from
/// j planes on, and moves what each has below its prime to its beginning, in order. Returns whether
/// all of them had enough.
bool PublicMatrix::State::draw(std::size_t first, std::size_t count) {
    const std::size_t bytes = permutations * shake128_rate;
    inputs.clear();
    for (std::size_t i = 0; i < backend.shake_inputs; ++i) {
        const std::size_t stream = first + std::min(i, count - 1);
        input.bytes[Input::plane] = static_cast<std::uint8_t>(stream % planes);
        input.put(Input::index, stream / planes);
        inputs.insert(inputs.end(), input.bytes.begin(), input.bytes.end());
    }
    streams.resize(backend.shake_inputs * bytes);
    backend.shake128(inputs.data(), input.bytes.size(), permutations, streams.data());
    bool enough = true;
    for (std::size_t i = 0; i < count; ++i) {
        std::uint8_t* const stream = streams.data() + i * bytes;
        const std::uint8_t prime = primes[(first + i) % planes];
        enough = kernels::active().sample(stream, bytes, prime, stream) >= residues && enough;
    }
    return enough;
}

/// Calls use(p, r) with the residues r of each plane p of each row, in order.
template <class Use>
void PublicMatrix::State::for_each_plane(std::size_t first, std::size_t count, const Use& use) {
    const std::size_t end = (first + count) * planes;
    for (std::size_t at = first * planes; at < end; at += backend.shake_inputs) {
        const std::size_t drawn = std::min(backend.shake_inputs, end - at);
        while (!draw(at, drawn)) ++permutations;
        for (std::size_t i = 0; i < drawn; ++i) {
            use((at + i) % planes, streams.data() + i * permutations * shake128_rate);
        }
    }
}

void PublicMatrix::State::expand(std::size_t first, std::size_t count, std::uint8_t* out) {
    const std::uint64_t modulus = parameters::modulus(planes);
    for_each_plane(first, count, [&](std::size_t p, const std::uint8_t* stream) {
        if (p == 0) std::ranges::fill(row, 0);
        for (std::size_t i = 0; i < residues; ++i) row[i] += shares[p][stream[i]];
        if (p + 1 < planes) return;
        for (std::uint64_t sum : row) {
            sum %= modulus;
            for (std::size_t i = 0; i < planes; ++i) {
                *out++ = static_cast<std::uint8_t>(sum >> (8 * i));
            }
        }
    });
}

PublicMatrix::PublicMatrix(const parameters::ParameterSet& set, const Seed& seed, std::size_t width,
                           Kind kind, const Backend& backend) {
    require(set.lattice.has_value(), "PublicMatrix: a set without lattice masks");
    require(width <= std::numeric_limits<std::uint32_t>::max(), "PublicMatrix: too wide");
    state_ = std::make_unique<State>(backend, set, seed, width, kind);
}
PublicMatrix::PublicMatrix(PublicMatrix&&) noexcept = default;
PublicMatrix& PublicMatrix::operator=(PublicMatrix&&) noexcept = default;
PublicMatrix::~PublicMatrix() = default;

std::size_t PublicMatrix::rows() const { return state_->rows; }
std::size_t PublicMatrix::row_bytes() const { return state_->planes * state_->residues; }

void PublicMatrix::expand(std::size_t first, std::span<std::uint8_t> rows) {
    const std::size_t count = rows.size() / row_bytes();
    require(
        rows.size() % row_bytes() == 0 && first <= state_->rows && count <= state_->rows - first,
        "PublicMatrix: rows outside the matrix");
    state_->expand(first, count, rows.data());
}

void PublicMatrix::expand_planes(std::size_t index, std::span<std::uint8_t> residues) {
    require(index < state_->rows && residues.size() == row_bytes(),
            "PublicMatrix: a row outside the matrix");
    const std::size_t n = state_->residues;
    state_->for_each_plane(index, 1, [&](std::size_t p, const std::uint8_t* stream) {
        std::copy_n(stream, n, residues.data() + p * n);
    });
}

std::vector<std::int8_t> public_rows_by_plane(const parameters::ParameterSet& set,
                                              const PublicMatrix::Seed& seed, std::size_t width) {
    PublicMatrix matrix(set, seed, width, PublicMatrix::Kind::weights);
    const std::size_t rows = matrix.rows();
    std::vector<std::uint8_t> row(matrix.row_bytes());
    std::vector<std::int8_t> planes(set.planes * rows * width);
    for (std::size_t l = 0; l < rows; ++l) {
        matrix.expand_planes(l, row);
        for (std::size_t p = 0; p < set.planes; ++p) {
            const int prime = primes[p];
            std::int8_t* const out = planes.data() + (p * rows + l) * width;
            for (std::size_t j = 0; j < width; ++j) {
                const int r = row[p * width + j];
                out[j] = static_cast<std::int8_t>(r > prime / 2 ? r - prime : r);
            }
        }
    }
    return planes;
}

}  // namespace slip::masks

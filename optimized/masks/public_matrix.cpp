#include "optimized/masks/public_matrix.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "optimized/base/error.hpp"

namespace slip::masks {
namespace {

namespace parameters = base::parameters;
using base::require;
using parameters::primes;

/// FIPS 202: the bytes that a permutation of SHAKE-128 gives.
constexpr std::size_t rate = 168;

/// SHAKE-128 of any input.
class Shake {
public:
    Shake() : function_(EVP_MD_fetch(nullptr, "SHAKE128", nullptr)), context_(EVP_MD_CTX_new()) {
        require(function_ != nullptr && context_ != nullptr, "OpenSSL has no SHAKE-128");
    }

    /// Its first bytes, as many as `out` takes.
    void expand(std::span<const std::uint8_t> input, std::span<std::uint8_t> out) {
        require(EVP_DigestInit_ex2(context_.get(), function_.get(), nullptr) == 1 &&
                    EVP_DigestUpdate(context_.get(), input.data(), input.size()) == 1 &&
                    EVP_DigestFinalXOF(context_.get(), out.data(), out.size()) == 1,
                "SHAKE-128 failed");
    }

private:
    struct Free {
        void operator()(EVP_MD* function) const { EVP_MD_free(function); }
        void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
    };
    std::unique_ptr<EVP_MD, Free> function_;
    std::unique_ptr<EVP_MD_CTX, Free> context_;
};

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
    std::size_t planes;
    std::size_t residues;  // of a row
    std::size_t rows;
    Input input;
    Shake shake{};
    Shares shares;
    std::vector<std::uint8_t> stream;  // of one plane
    std::vector<std::uint64_t> row;    // sums of shares

    State(const parameters::ParameterSet& set, const Seed& seed, std::size_t width, Kind kind)
        : planes(set.planes),
          residues(set.lattice->rank * set.lattice->degree),
          rows(width),
          input(set.code, kind, width, seed),
          shares(shares_of(planes)) {
        if (kind == Kind::weights) std::swap(residues, rows);
        stream.resize(residues);
        row.resize(residues);
    }

    bool draw_plane(std::size_t p);
    template <class Use>
    void for_each_plane(std::size_t index, const Use& use);
    void expand(std::size_t index, std::uint8_t* out);
};

/// RAND-2: moves the bytes that the stream has below the prime to its beginning, in order. Returns
/// whether there were enough.
bool PublicMatrix::State::draw_plane(std::size_t p) {
    input.bytes[Input::plane] = static_cast<std::uint8_t>(p);
    shake.expand(input.bytes, stream);
    std::size_t accepted = 0;
    for (auto byte = stream.begin(); byte != stream.end() && accepted < residues; ++byte) {
        if (*byte < primes[p]) stream[accepted++] = *byte;
    }
    return accepted == residues;
}

/// Calls use(p) with the residues of plane p at the beginning of the stream.
template <class Use>
void PublicMatrix::State::for_each_plane(std::size_t index, const Use& use) {
    input.put(Input::index, index);
    for (std::size_t p = 0; p < planes; ++p) {
        while (!draw_plane(p)) stream.resize(stream.size() + rate);
        use(p);
    }
}

void PublicMatrix::State::expand(std::size_t index, std::uint8_t* out) {
    std::ranges::fill(row, 0);
    for_each_plane(index, [&](std::size_t p) {
        for (std::size_t i = 0; i < residues; ++i) row[i] += shares[p][stream[i]];
    });
    const std::uint64_t modulus = parameters::modulus(planes);
    for (std::uint64_t sum : row) {
        sum %= modulus;
        for (std::size_t i = 0; i < planes; ++i) *out++ = static_cast<std::uint8_t>(sum >> (8 * i));
    }
}

PublicMatrix::PublicMatrix(const parameters::ParameterSet& set, const Seed& seed, std::size_t width,
                           Kind kind) {
    require(set.lattice.has_value(), "PublicMatrix: a set without lattice masks");
    require(width <= std::numeric_limits<std::uint32_t>::max(), "PublicMatrix: too wide");
    state_ = std::make_unique<State>(set, seed, width, kind);
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
    for (std::size_t j = 0; j < count; ++j) {
        state_->expand(first + j, rows.data() + j * row_bytes());
    }
}

void PublicMatrix::expand_planes(std::size_t index, std::span<std::uint8_t> residues) {
    require(index < state_->rows && residues.size() == row_bytes(),
            "PublicMatrix: a row outside the matrix");
    state_->for_each_plane(index, [&](std::size_t p) {
        std::copy_n(state_->stream.data(), state_->residues,
                    residues.data() + p * state_->residues);
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

#include "optimized/secrets/product_check.hpp"

#include <algorithm>
#include <cstring>

#include "optimized/base/error.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/masks/keystream.hpp"

namespace slip::secrets {
namespace {

using base::require;
using base::parameters::product_modulus;
using Residues = base::SecretBuffer<std::uint64_t>;
__extension__ using Int128 = __int128;

constexpr unsigned modulus_bits = 61;

/// The residue of v mod 2^61 - 1, for |v| < 2^120. No branch and no division, as v is secret.
std::uint64_t residue(Int128 v) {
    // 2^61 = 1: the digits of base 2^61 are added up; an arithmetic shift keeps the sign.
    constexpr auto low_bits = static_cast<Int128>(product_modulus);
    Int128 sum = (v & low_bits) + (v >> modulus_bits);
    sum = (sum & low_bits) + (sum >> modulus_bits);  // -1 .. 2^61
    const auto folded = static_cast<std::int64_t>(sum);
    const std::int64_t positive =
        folded + (static_cast<std::int64_t>(product_modulus) & (folded >> 63));
    const std::int64_t less = positive - static_cast<std::int64_t>(product_modulus);
    return static_cast<std::uint64_t>(less +
                                      (static_cast<std::int64_t>(product_modulus) & (less >> 63)));
}

std::uint64_t load(std::span<const std::uint8_t> bytes, std::size_t i) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    return value;
}

}  // namespace

Residues draw_product_secret(std::span<const std::uint8_t> seed, std::size_t rows) {
    require(seed.size() == base::parameters::check_seed_bytes, "draw_product_secret: the seed");
    masks::Keystream stream({.given_keys = seed});
    // RAND-2: words of 8 bytes, of which 61 bits count; one in 2^61 is rejected.
    constexpr std::size_t spare_words = 8;
    base::SecretBuffer<std::uint8_t> bytes((rows + spare_words) * sizeof(std::uint64_t));
    stream.draw_bytes(masks::Purpose::product_check, 0, bytes.span());
    Residues z(rows);
    std::size_t word = 0;
    for (std::size_t i = 0; i < rows; ++i) {
        do {
            require(word < rows + spare_words, "draw_product_secret: the stream is exhausted");
            z[i] = load(bytes.span(), word++) & product_modulus;
        } while (z[i] == product_modulus);
    }
    return z;
}

template <class Weight>
static Residues companion_of(const Residues& z, base::MatrixView<const Weight> weights) {
    require(z.size() >= weights.rows(), "product_companion: z is too short");
    const std::size_t n = weights.cols();
    // Halves of z, so that sums of at most 2^20 products with 12 bits fit 64 bits.
    constexpr unsigned half_bits = 31;
    base::SecretBuffer<std::int64_t> low(n), high(n);
    for (std::size_t i = 0; i < weights.rows(); ++i) {
        const auto z_low = static_cast<std::int64_t>(z[i] & ((std::uint64_t{1} << half_bits) - 1));
        const auto z_high = static_cast<std::int64_t>(z[i] >> half_bits);
        const auto row = weights.row(i);
        for (std::size_t j = 0; j < n; ++j) {
            low[j] += z_low * row[j];
            high[j] += z_high * row[j];
        }
    }
    Residues companion(n);
    for (std::size_t j = 0; j < n; ++j) {
        companion[j] = residue(low[j] + (Int128{high[j]} << half_bits));
    }
    return companion;
}

Residues product_companion(const Residues& z, base::MatrixView<const std::int8_t> weights) {
    return companion_of(z, weights);
}
Residues product_companion(const Residues& z, base::MatrixView<const std::int16_t> weights) {
    return companion_of(z, weights);
}

ProductCheck::ProductCheck(const base::CheckSecret& secret, std::size_t rows)
    : companions_(secret.product_companions), z_(draw_product_secret(secret.seed, rows)) {}

std::uint64_t ProductCheck::expected(base::GroupId group, std::span<const std::int16_t> q) const {
    const auto companion = companions_.at(group);
    require(companion.size() == q.size() * sizeof(std::uint64_t), "ProductCheck: the activation");
    Int128 sum = 0;
    for (std::size_t j = 0; j < q.size(); ++j) {
        sum += Int128{static_cast<std::int64_t>(load(companion, j))} * q[j];
    }
    return residue(sum);
}

bool ProductCheck::holds(std::uint64_t expected, std::span<const std::int64_t> y) const {
    require(y.size() <= z_.size(), "ProductCheck: the product");
    Int128 sum = 0;  // below 2^61 2^24 2^20
    for (std::size_t i = 0; i < y.size(); ++i) {
        sum += Int128{static_cast<std::int64_t>(z_[i])} * y[i];
    }
    return residue(sum) == expected;
}

}  // namespace slip::secrets

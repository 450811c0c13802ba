// Charlie's check of his own products (MASK-10): spec/masking.md. It finds a damaged H, T or
// memory, which the integrity check of David's replies cannot see.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "optimized/base/check_secret.hpp"
#include "optimized/base/matrix_view.hpp"
#include "optimized/base/product_shape.hpp"
#include "optimized/base/secret_buffer.hpp"

namespace slip::secrets {

/// MASK-10: the first `rows` entries of z under the seed of a check, each below 2^61 - 1.
base::SecretBuffer<std::uint64_t> draw_product_secret(std::span<const std::uint8_t> seed,
                                                      std::size_t rows);

/// MASK-10: z W_D, or z W', mod 2^61 - 1, weights.cols() entries. `z` has at least weights.rows()
/// entries; |w| <= 2^12.
base::SecretBuffer<std::uint64_t> product_companion(const base::SecretBuffer<std::uint64_t>& z,
                                                    base::MatrixView<const std::int8_t> weights);
base::SecretBuffer<std::uint64_t> product_companion(const base::SecretBuffer<std::uint64_t>& z,
                                                    base::MatrixView<const std::int16_t> weights);

/// z, and z W_D or z W' of every group with lattice masks. Made once per loaded model. Thread-safe.
class ProductCheck {
public:
    /// `secret.product_companions` outlive the object. `rows`: of the tallest group.
    ProductCheck(const base::CheckSecret& secret, std::size_t rows);

    /// (z W_D) q, or (z W') q, mod 2^61 - 1: what z times the product has to be. `group` has
    /// lattice masks; |q| <= 32767.
    std::uint64_t expected(base::GroupId group, std::span<const std::int16_t> q) const;

    /// Whether z y = expected mod 2^61 - 1. Requires |y| < 2^38. A wrong y passes for one z in
    /// 2^61 - 1, in constant time.
    bool holds(std::uint64_t expected, std::span<const std::int64_t> y) const;

private:
    std::vector<std::span<const std::uint8_t>> companions_;  // 8 bytes per entry
    base::SecretBuffer<std::uint64_t> z_;
};

}  // namespace slip::secrets

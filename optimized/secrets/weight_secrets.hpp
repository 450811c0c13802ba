// What hides David's matrices, and how Charlie takes it away: spec/hiding.md, HIDE-3 to HIDE-5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "optimized/base/hidden_widths.hpp"
#include "optimized/base/product_shape.hpp"
#include "optimized/base/secret_buffer.hpp"
#include "optimized/masks/keystream.hpp"
#include "optimized/masks/small_matrix.hpp"

namespace slip::secrets {

/// HIDE-3: the streams of V and E under the key of a matrix.
class WeightStreams {
public:
    /// Requires: a set with the hidden split; a key of 32 bytes.
    WeightStreams(const base::parameters::ParameterSet& set, std::span<const std::uint8_t> key)
        : set_(set), stream_({.given_keys = key}) {}

    /// V of a matrix of `rows` rows: rows over N, rounded up, times d elements of N small integers.
    base::SecretBuffer<std::int8_t> weight_secret(std::size_t rows);
    /// Row i of E: error.size() small integers.
    void weight_error(std::size_t i, std::span<std::int8_t> error);

private:
    void draw(masks::Purpose purpose, std::size_t index, std::span<std::int8_t> small);

    const base::parameters::ParameterSet& set_;
    masks::Keystream stream_;
    base::SecretBuffer<std::uint8_t> bytes_;
};

/// V of every group. Made once per loaded model, wiped at the end. Thread-safe.
class WeightSecrets {
public:
    /// What a reply becomes on its way; of one session. Wiped at the end.
    struct Workspace {
        masks::SmallMatrix::Workspace product;
        base::SecretBuffer<std::uint8_t> zeros, reply, removed;
        base::SecretBuffer<std::int64_t> lifted;
    };

    /// `keys` are of HIDE-3, one of 32 bytes per group, and `shapes` those of W', of M rows.
    WeightSecrets(const base::parameters::ParameterSet& set,
                  std::span<const std::span<const std::uint8_t>> keys,
                  std::span<const base::ProductShape> shapes);

    Workspace workspace() const;

    /// HIDE-4, HIDE-5: W' q, from a column of an accepted reply, M + ell residues, and its
    /// cancellation, M residues. Throws InternalError for other sizes.
    void products(base::GroupId group, std::span<const std::uint8_t> reply,
                  std::span<const std::uint8_t> cancellation, Workspace& workspace,
                  std::span<std::int64_t> products) const;

    /// MODEL-6: multiplications for one column of a reply of a group of `rows` rows.
    static std::uint64_t multiplications(const base::parameters::ParameterSet& set,
                                         std::size_t rows);

private:
    const base::parameters::ParameterSet& set_;
    std::vector<base::ProductShape> shapes_;
    std::vector<masks::SmallMatrix> secrets_;
};

}  // namespace slip::secrets

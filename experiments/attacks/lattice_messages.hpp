// Messages of one block of lattice masks (MASK-7) to one group, as David has them.
#pragma once

#include <Eigen/Core>
#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "experiments/attacks/victim.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/masks/contracts.hpp"
#include "optimized/masks/public_matrix.hpp"

namespace slip::attacks {

using base::parameters::ParameterSet;

const ParameterSet& hidden_set();

/// A seed or a key.
template <class Bytes>
Bytes drawn_bytes(std::mt19937_64& random) {
    Bytes bytes;
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
    return bytes;
}

/// Integers of magnitude 1 at most, as `count` entries of S, V, e or E of the hidden split are
/// drawn.
std::vector<int> small_integers(std::size_t count, std::mt19937_64& random);

/// Coefficient i of sum_l a[l] s[l] in R^d, over the integers.
template <class Residue>
std::int64_t ring_product(std::span<const Residue> a, std::span<const int> s, std::size_t i) {
    std::int64_t sum = 0;
    for (std::size_t first = 0; first < a.size(); first += masks::degree) {
        for (std::size_t t = 0; t < masks::degree; ++t) {
            const bool wraps = t > i;
            const std::int64_t factor = a[first + (wraps ? masks::degree + i - t : i - t)];
            sum += (wraps ? -factor : factor) * s[first + t];
        }
    }
    return sum;
}

/// T of a width, plane by plane.
class PublicRows {
public:
    PublicRows(const masks::PublicMatrix::Seed& seed, std::size_t width);
    std::size_t width() const { return width_; }
    /// Row j, d N residues modulo the prime of plane p.
    std::span<const std::uint8_t> row(std::size_t j, std::size_t p) const;

private:
    std::size_t width_, ell_;
    std::vector<std::uint8_t> residues_;
};

/// Stands for an entry that the attacker does not know, or has not found.
constexpr int unknown = 1 << 20;

/// Column c of all is masked by mask c of one block: planes x n residues each.
using MaskedColumns = std::vector<std::vector<std::uint8_t>>;

/// The integer in -p p'/2 .. p p'/2 that has these residues modulo the first two primes.
int joined(int residue, int residue_2);

/// x modulo the prime of plane p.
int residue_of(std::int64_t x, std::size_t p);

/// A fresh process of the product, which has groups of these widths.
class Process {
public:
    Process(const masks::PublicMatrix::Seed& seed, std::span<const std::size_t> widths);
    Process(const masks::PublicMatrix::Seed& seed, std::size_t width)
        : Process(seed, std::span(&width, 1)) {}
    ~Process();

    /// The messages to a group, one per column of `inputs`.
    MaskedColumns send(const Eigen::MatrixXi& inputs, base::GroupId group = 0);

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// The messages of a fresh process, which has one group for each element of `inputs`. An element
/// has one column of n entries per message.
std::vector<MaskedColumns> sent_by_product(const masks::PublicMatrix::Seed& seed,
                                           std::span<const Eigen::MatrixXi> inputs);
/// q + T S + factor e, with the e of each column in a column of `noise`.
MaskedColumns sent_by_twin(const PublicRows& T, const Eigen::MatrixXi& q, std::span<const int> S,
                           const Eigen::MatrixXi& noise, std::uint64_t factor);

/// The attacker takes what he knows of the first columns for exact, solves for S, and reads the
/// others.
Eigen::MatrixXi read_block(const PublicRows& T, const MaskedColumns& sent,
                           const Eigen::MatrixXi& known);

/// Inputs of a group, each scaled to the norm of the hidden split's width: of the tokens of a
/// random prompt, or, of the head, of `count` such prompts.
Eigen::MatrixXi scaled_inputs(const Setting& setting, base::GroupId group, std::size_t count);

}  // namespace slip::attacks

// Other libraries' products of an int8 matrix and residues mod L, of the same shape, and
// what the same product costs without protection. They are a module of their own: it is compiled
// for the machine that it is built on, as these libraries ask, and shares no inline function with
// slip.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace slip::bench {

/// L of the set `paper`.
constexpr std::uint32_t modulus = 3'368'562'317;

/// W: m x n; x: b columns of n residues, one after the other.
struct Problem {
    const std::vector<std::int8_t>& w;
    std::size_t m, n;
    const std::vector<std::uint32_t>& x;
    std::size_t b;
};

struct Peer {
    std::string figure;   // its name, without plane_
    std::string library;  // which one computes, its version, and in which numbers
    /// One product, single-threaded. Conversions to a library's own matrices came before; only
    /// residues made of sums of products are part of a product.
    std::function<void()> multiply;
    /// Y mod L of the last product, b columns of m; empty if the peer is not exact.
    std::function<std::vector<std::uint32_t>()> result;
};

/// L of the set `hidden`.
constexpr std::uint64_t modulus_of_rings = 175'107'974'924'611;
constexpr std::size_t degree_of_rings = 256;

/// Rows of `elements` elements of Z_L[X] / (X^256 + 1), and a secret of as many small ones.
struct RingProblem {
    const std::vector<std::uint64_t>& rows;
    const std::vector<std::int8_t>& secret;
    std::size_t elements;
};

/// Sums of the products of each row's elements with the secret's. The secret has been brought into
/// the form that products need before.
struct RingPeer {
    std::string figure;  // its name, without ring_
    std::string library;
    std::function<void()> multiply;
    /// Coefficients mod L of the last sums, row by row.
    std::function<std::vector<std::uint64_t>()> result;
};

/// v mod L.
inline std::uint32_t embed(std::int64_t v) {
    const std::int64_t remainder = v % std::int64_t{modulus};
    return static_cast<std::uint32_t>(remainder < 0 ? remainder + modulus : remainder);
}

inline std::vector<std::uint32_t> not_exact() { return {}; }

/// One binary64 product: it is exact, for 127 (L - 1) n < 2^53 if n <= 2^14. Requires: that n.
Peer openblas_dgemm(const Problem& problem);
/// One binary32 product: what a model in the open does.
Peer openblas_sgemm(const Problem& problem);
Peer eigen_float(const Problem& problem);
/// One product of bytes, a quarter of the work: what a quantised model in the open does.
Peer onednn_int8(const Problem& problem);
/// Integers modulo numbers of 32 bits.
Peer fflas(const Problem& problem);
Peer ntl(const Problem& problem);
Peer flint(const Problem& problem);
RingPeer ntl_ring(const RingProblem& problem);
RingPeer flint_ring(const RingProblem& problem);

}  // namespace slip::bench

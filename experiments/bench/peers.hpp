// Other libraries' products of an int8 matrix and residues mod 2^31 - 1, and floating-point
// products of the same shape. A library that was not there when this was built has no entry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace slip::bench {

struct Peer {
    std::string name;  // of the figure, without gemm_p31_
    /// One product of what make_peers() was given. Single-threaded.
    std::function<void()> multiply;
    /// Y mod p of the last product, b columns of m; empty if the peer is not exact.
    std::function<std::vector<std::uint32_t>()> result;
};

/// w: m x n; x: b columns of n residues. Conversions to a library's own matrices are done here, not
/// in multiply(): only residues made of a sum of products are part of a product.
std::vector<Peer> make_peers(const std::vector<std::int8_t>& w, std::size_t m, std::size_t n,
                             const std::vector<std::uint32_t>& x, std::size_t b);

}  // namespace slip::bench

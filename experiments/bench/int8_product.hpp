// Products of int8 weights and int8 activations in the open, as fast as the instructions of the
// kernels' backend have them: the yardstick that protection is measured against.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "optimized/base/huge_buffer.hpp"
#include "optimized/kernels/registry.hpp"

namespace slip::bench {

/// What multiplies: a backend's instructions, or those that the compiler chooses.
enum class Instructions : std::uint8_t { compilers, avx2, vnni };

/// W (m x n, |w| <= 127) in the order in which products read it: panels of 64 rows, each
/// [ceil(n/4)][64][4], padded with zeros, on huge pages.
class Int8Matrix {
public:
    /// For the instructions of `backend`.
    Int8Matrix(const std::int8_t* w, std::size_t m, std::size_t n,
               const kernels::Backend& backend = kernels::active());

    std::size_t rows() const { return m_; }
    /// What a product reads.
    std::span<const std::int8_t> packed() const { return packed_.span(); }

    /// y[t][i] = sum_j w[i][j] (x[t][j] - 128) for `tokens` columns of bytes from 1 on; a column's
    /// bytes end at a multiple of 4, the last of them anything. y: tokens x m.
    void multiply(const std::uint8_t* x, std::size_t tokens, std::int32_t* y) const;

private:
    Instructions instructions_;
    std::size_t m_;
    std::size_t n_;
    base::HugeBuffer packed_;
    std::vector<std::int32_t> row_sums_;  // 128 sum_j w[i][j], padded to whole panels
};

}  // namespace slip::bench

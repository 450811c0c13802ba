// What the host passes to a kernel. The host's compiler and the kernels' compiler both read this
// file, so it includes no other header.
#pragma once

namespace slip::gpu {

/// Columns of W in a step. Both W and X are padded with zeros to whole steps.
constexpr unsigned step = 64;
/// W is padded with zeros to a multiple of this many rows, and Y with it.
constexpr unsigned row_tile = 128;
/// W lies in tiles of row_tile rows and `step` columns, row-major within: those of the first
/// row_tile rows from left to right, then those of the next. So what a block reads at a time lies
/// together.
constexpr unsigned tile_bytes = row_tile * step;
/// The most steps over which a kernel sums before it reduces: 65,536 columns. The magnitude of the
/// sum, 65536 * 127 * 250, is below 2^31.
constexpr unsigned most_steps = 1024;
constexpr unsigned largest_sum = 2'080'768'000;
static_assert(largest_sum == most_steps * step * 127U * 250U && largest_sum < 1U << 31);

/// The "narrow" kernel: threads of a block, the rows and the vectors that it computes.
constexpr unsigned narrow_threads = 256;
constexpr unsigned narrow_rows = 16;
constexpr unsigned narrow_vectors = 8;
/// The "wide" kernels: a block computes row_tile rows of 32, 64, 96 or 128 vectors.
constexpr unsigned wide_threads = 128;
/// Threads of a block of the "join" kernel, and the bytes that each of them joins.
constexpr unsigned join_threads = 256;
constexpr unsigned join_bytes = 16;

#ifdef __CUDA__
template <class T>
using GlobalPointer = T __attribute__((address_space(1)))*;
#else
/// An address in the GPU's memory.
template <class T>
using GlobalPointer = unsigned long long;
#endif

/// Y = W X mod the primes of the planes, of one matrix for all planes (LIN-1) or of one per plane
/// (HIDE-1). A vector is one plane of a column of X or Y. Those of a matrix lie together: its
/// vector v belongs to plane v % planes, or, where `matrices` is not 1, all of them to the matrix's
/// plane.
struct Work {
    GlobalPointer<const unsigned char> w;      // matrices x rows_above x stride, signed, in tiles
    GlobalPointer<const unsigned char> below;  // likewise, of the other rows
    GlobalPointer<const unsigned char> x;      // matrices x vectors x stride
    /// Per split, matrices x vectors x rows canonical residues of the sums over its steps.
    GlobalPointer<unsigned char> partial;
    GlobalPointer<unsigned char> y;  // matrices x vectors x rows; join sums the splits
    unsigned long long primes;       // byte p, from the lowest on, is the prime of plane p
    unsigned rows;                   // a multiple of row_tile
    unsigned rows_above;             // a multiple of row_tile; not 0, at most rows
    unsigned stride;                 // a multiple of step
    unsigned matrices;
    unsigned vectors;  // of a matrix
    unsigned planes;   // 1 where `matrices` is not
    unsigned splits;
    unsigned steps_per_split;  // at most most_steps; split s begins at step s * steps_per_split
};

}  // namespace slip::gpu

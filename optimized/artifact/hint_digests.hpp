// Digests of the rows of tau^-1 H mod L, as they are stored, chunk by chunk, so that whoever reads
// a chunk can tell that it is the one that was written, without reading the whole file first
// (MODEL-7).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "optimized/artifact/layout.hpp"
#include "optimized/artifact/sha256.hpp"

namespace slip::artifact {

/// Digests of the hint of one group: the SHA-256 of the seed of T and the rows of each chunk.
class HintDigests {
public:
    HintDigests(std::span<const std::byte> seed, std::size_t row_bytes)
        : seed_(seed.begin(), seed.end()), row_bytes_(row_bytes) {}

    /// Whole rows, the next ones.
    void append(std::span<const std::byte> rows);
    /// The digests of all rows so far, layout::hint_chunks() of them.
    std::vector<std::byte> finish();

private:
    void close_chunk();

    std::vector<std::byte> seed_;
    std::size_t row_bytes_;
    std::size_t rows_ = 0;  // of the chunk that is open
    Sha256Stream chunk_;
    std::vector<std::byte> digests_;
};

}  // namespace slip::artifact

// Sealing the hint of one group while it is computed (MODEL-20).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "optimized/artifact/seal.hpp"
#include "optimized/base/secret_buffer.hpp"

namespace slip::splitting {

/// Takes the rows of a hint in order, in pieces of any number of rows, and gives the chunks that
/// the file has, each once. A group that is written again gets another sealer: the salt is drawn
/// with it, so that nothing that was sealed before shares a key with it.
class HintSealer {
public:
    using Store = std::function<void(std::span<const std::byte> sealed)>;

    /// `group` without its salt. `store` receives what the file holds, chunk by chunk.
    HintSealer(const artifact::SealKey& key, artifact::SealedGroup group, std::size_t row_bytes,
               Store store);

    /// HIDE-3: the key of V and E as the file holds it.
    std::vector<std::byte> seal_key(std::span<const std::uint8_t> key);
    /// Whole rows, the next ones.
    void append(std::span<const std::byte> rows);

    std::span<const std::byte> salt() const { return std::as_bytes(std::span(salt_)); }
    /// The tags of all chunks, and of the key where one was sealed. Throws InternalError unless all
    /// rows have been appended.
    std::span<const std::byte> tags() const;

private:
    void close_chunk();
    artifact::GroupSeal::Tag tag(std::size_t number);

    const std::size_t rows_, row_bytes_;
    const std::vector<std::uint8_t> salt_;
    const artifact::GroupSeal seal_;
    const Store store_;
    base::SecretBuffer<std::uint8_t> open_;  // the chunk that is not full yet
    std::size_t used_ = 0;                   // bytes of it
    std::size_t sealed_rows_ = 0;
    std::vector<std::uint8_t> tags_;
};

}  // namespace slip::splitting

// From a key to uniform residues: a keystream, and a sampler that rejects.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/aes.hpp"
#include "reference/bytes.hpp"
#include "reference/integer.hpp"
#include "reference/ring.hpp"
#include "reference/shake.hpp"

namespace slip::reference {

/// The key of a session, the seed of a check or of a split: 32 bytes, always an argument.
using Key = std::array<std::uint8_t, 32>;

/// What a stream is for. A key is used for one purpose: that of a session for masks, the seed of a
/// check for integrity and product_check, the seed of a split for selection (DECO-10), that of a
/// process for block_secret and noise (MASK-7), that of a hidden matrix for V and E (HIDE-3).
enum class Purpose : std::uint8_t {
    mask = 1,
    integrity = 2,
    selection = 3,
    block_secret = 4,
    noise = 5,
    product_check = 6,
    weight_secret = 7,
    weight_error = 8,
};

/// RAND-1. The block that is encrypted: field[4] || index[8] || counter[4], each an unsigned
/// big-endian integer, with field = 256 plane + purpose. Distinct arguments give distinct blocks,
/// because a purpose is below 256 and the fields are disjoint. Error: plane >= 2^24.
Block counter_block(Purpose purpose, std::uint64_t index, std::uint32_t counter,
                    std::size_t plane = 0);

/// RAND-1. The stream of (plane, purpose, index) under a key: AES-256 of the counter blocks 0, 1,
/// 2, ..., one after the other. Error: more than 2^32 blocks.
class Keystream : public ByteSource {
public:
    Keystream(const Key& key, Purpose purpose, std::uint64_t index, std::size_t plane = 0)
        : cipher_(key), purpose_(purpose), index_(index), plane_(plane) {}

    Bytes take(std::size_t count) override;

private:
    Aes cipher_;
    Purpose purpose_;
    std::uint64_t index_;
    std::size_t plane_;
    std::uint64_t next_counter_ = 0;
    Block block_{};
    std::size_t used_ = 16;  ///< bytes of block_ already given out
};

/// Bytes that were written down, for tests and vectors. Error: more bytes than there are.
class FixedBytes : public ByteSource {
public:
    explicit FixedBytes(Bytes bytes) : bytes_(std::move(bytes)) {}

    Bytes take(std::size_t count) override;

    std::size_t remaining() const { return bytes_.size() - used_; }

private:
    Bytes bytes_;
    std::size_t used_ = 0;
};

/// What the sampler made of a stream: the residues, and the positions (0, 1, ... in the order
/// of the stream) of the words that it rejected.
struct Sample {
    Vector residues;
    std::vector<std::size_t> rejected;
};

/// RAND-2. Draws residues modulo L from raw bytes.
///
///     e = bit length of L - 1
///     w = bytes of a word: the least power of two with 8 w >= e, or ceil(e / 8) if e > 64
///     v = little-endian word AND (2^e - 1);  accepted if v < L, else the next word is tried
///
/// RAND-3: if words are uniform then v is uniform on 0..2^e-1, and an accepted v is uniform on
/// 0..L-1, because each residue is the image of equally many words (256^w / 2^e). More than half
/// of all words are accepted, since L - 1 >= 2^(e-1).
class Sampler {
public:
    explicit Sampler(Ring ring);

    std::size_t bits() const { return bits_; }              ///< e
    std::size_t word_bytes() const { return word_bytes_; }  ///< w

    /// The next `count` residues of the source.
    Sample draw(ByteSource& source, std::size_t count) const;

private:
    Ring ring_;
    std::size_t bits_;
    std::size_t word_bytes_;
};

/// The first `count` residues of the stream (plane, purpose, index) under `key`.
Vector uniform_residues(const Ring& ring, const Key& key, Purpose purpose, std::uint64_t index,
                        std::size_t count, std::size_t plane = 0);

/// RAND-9. The next `count` integers of the centred binomial distribution of eta + eta bits, whose
/// variance is eta / 2. The bits of a byte are taken from the least significant on; each integer is
/// the sum of the next eta bits less the sum of the eta bits after them. Errors: eta = 0, eta > 8.
Vector small_integers(ByteSource& source, unsigned eta, std::size_t count);

/// RAND-8. What public residues are for.
enum class PublicPurpose : std::uint8_t { masks = 1, weights = 2 };

/// RAND-8. What SHAKE-128 expands for one plane: "SLIP-2" || set || purpose || plane || width ||
/// index || seed, with one byte each for set, purpose and plane, and width and index as 4 bytes,
/// least significant byte first. Error: plane >= 256.
Bytes public_input(std::uint8_t set, PublicPurpose purpose, std::size_t plane, std::uint32_t width,
                   std::uint32_t index, const Key& seed);

/// RAND-8. The first `count` residues modulo a ring's L that RAND-2 draws from SHAKE-128 of
/// `input`.
Vector public_residues(const Ring& ring, const Bytes& input, std::size_t count);

/// The unsigned integer that bytes spell, least significant byte first.
Integer little_endian(const Bytes& bytes);

}  // namespace slip::reference

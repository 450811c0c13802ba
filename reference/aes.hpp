// The block cipher AES of FIPS-197, written for reading: a step of the standard is a function.
// It takes time that depends on its data and is no cipher for use; it says what the cipher is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace slip::reference {

using Block = std::array<std::uint8_t, 16>;

/// RAND-7. AES with a key of 16 or 32 bytes (AES-128, AES-256), encryption only.
class Aes {
public:
    /// Expands the key. Error: a key that has neither 16 nor 32 bytes.
    explicit Aes(std::span<const std::uint8_t> key);

    /// Cipher(plaintext), FIPS-197 Section 5.1.
    Block encrypt(const Block& plaintext) const;

    /// The words w[0], w[1], ... of the key schedule, FIPS-197 Section 5.2.
    using Word = std::array<std::uint8_t, 4>;
    const std::vector<Word>& schedule() const { return schedule_; }

private:
    std::vector<Word> schedule_;
};

/// The substitution of one byte: the inverse in GF(2^8), 0 kept, and then an affine map over
/// GF(2). FIPS-197 Section 5.1.1.
std::uint8_t substitute(std::uint8_t byte);

}  // namespace slip::reference

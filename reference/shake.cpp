#include "reference/shake.hpp"

#include <bit>

namespace slip::reference {

namespace {

constexpr std::size_t rate = 168;  // bytes of a block: 1600 - 2 * 128 bits

/// FIPS 202, 3.2.1: every bit plus the parities of two columns.
void theta(KeccakState& a) {
    std::array<std::uint64_t, 5> parity{};
    for (std::size_t i = 0; i < 25; ++i) parity[i % 5] ^= a[i];
    for (std::size_t i = 0; i < 25; ++i) {
        a[i] ^= parity[(i + 4) % 5] ^ std::rotl(parity[(i + 1) % 5], 1);
    }
}

/// FIPS 202, 3.2.2 and 3.2.3: along one path through the words but (0, 0), word t is turned by (t +
/// 1) (t + 2) / 2 bits and takes the next one's place.
void rho_and_pi(KeccakState& a) {
    std::size_t x = 1, y = 0;
    std::uint64_t moved = a[x + 5 * y];
    for (int t = 0; t < 24; ++t) {
        const std::size_t next = (2 * x + 3 * y) % 5;
        x = y;
        y = next;
        const std::uint64_t replaced = a[x + 5 * y];
        a[x + 5 * y] = std::rotl(moved, (t + 1) * (t + 2) / 2 % 64);
        moved = replaced;
    }
}

/// FIPS 202, 3.2.4.
void chi(KeccakState& a) {
    for (std::size_t y = 0; y < 25; y += 5) {
        std::array<std::uint64_t, 5> row{};
        for (std::size_t x = 0; x < 5; ++x) row[x] = a[y + x];
        for (std::size_t x = 0; x < 5; ++x) a[y + x] ^= ~row[(x + 1) % 5] & row[(x + 2) % 5];
    }
}

/// FIPS 202, 3.2.5: the next bit of the register x^8 + x^6 + x^5 + x^4 + 1.
bool next_bit(unsigned& shift_register) {
    const bool bit = (shift_register & 1) != 0;
    shift_register <<= 1;
    if ((shift_register & 0x100) != 0) shift_register ^= 0x171;
    return bit;
}

/// FIPS 202, 3.2.5: bits 2^j - 1 of word (0, 0).
void iota(KeccakState& a, unsigned& shift_register) {
    for (unsigned j = 0; j <= 6; ++j) {
        if (next_bit(shift_register)) a[0] ^= std::uint64_t{1} << ((1U << j) - 1);
    }
}

}  // namespace

KeccakState keccak_f(KeccakState state) {
    unsigned shift_register = 1;
    for (int round = 0; round < 24; ++round) {
        theta(state);
        rho_and_pi(state);
        chi(state);
        iota(state, shift_register);
    }
    return state;
}

ShakeSource::ShakeSource(const Bytes& message) {
    // FIPS 202, 5.1 and 6.2: the message, the bits 1111, and 10*1 up to whole blocks.
    Bytes padded = message;
    padded.push_back(0x1f);
    while (padded.size() % rate != 0) padded.push_back(0);
    padded.back() |= 0x80;
    for (std::size_t i = 0; i < padded.size(); ++i) {
        state_[i % rate / 8] ^= std::uint64_t{padded[i]} << (i % 8 * 8);
        if ((i + 1) % rate == 0) state_ = keccak_f(state_);
    }
}

Bytes ShakeSource::take(std::size_t count) {
    Bytes bytes;
    for (; bytes.size() < count; ++used_) {
        if (used_ == rate) {
            state_ = keccak_f(state_);
            used_ = 0;
        }
        bytes.push_back(static_cast<std::uint8_t>(state_[used_ / 8] >> (used_ % 8 * 8)));
    }
    return bytes;
}

}  // namespace slip::reference

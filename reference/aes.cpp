#include "reference/aes.hpp"

#include <bit>

#include "reference/error.hpp"

// RAND-7. Section numbers are those of FIPS-197.

namespace slip::reference {

namespace {

/// x b in GF(2^8) = GF(2)[x] / (x^8 + x^4 + x^3 + x + 1). Section 4.2.1.
constexpr std::uint8_t times_x(std::uint8_t b) {
    const int doubled = b << 1;
    return static_cast<std::uint8_t>(doubled ^ ((b & 0x80) != 0 ? 0x11b : 0));
}

/// a b in GF(2^8): the sum of the multiples x^i b for the bits i of a. Section 4.2.
constexpr std::uint8_t field_product(std::uint8_t a, std::uint8_t b) {
    std::uint8_t sum = 0;
    for (; a != 0; a = static_cast<std::uint8_t>(a >> 1), b = times_x(b)) {
        if ((a & 1) != 0) sum ^= b;
    }
    return sum;
}

/// b^254, which is b^-1 for b != 0, since the multiplicative group has order 255; and 0 for 0.
constexpr std::uint8_t field_inverse(std::uint8_t b) {
    std::uint8_t power = 1;
    for (int i = 0; i < 254; ++i) power = field_product(power, b);
    return power;
}

/// The affine map b |-> M b + 0x63 over GF(2), a sum of rotations. Section 5.1.1, equation 5.1.
constexpr std::uint8_t affine_map(std::uint8_t b) {
    return static_cast<std::uint8_t>(b ^ std::rotl(b, 1) ^ std::rotl(b, 2) ^ std::rotl(b, 3) ^
                                     std::rotl(b, 4) ^ 0x63);
}

/// The S-box: all 256 values of affine_map(field_inverse(b)).
const std::array<std::uint8_t, 256>& substitution_box() {
    static const auto box = [] {
        std::array<std::uint8_t, 256> values{};
        for (unsigned b = 0; b < 256; ++b) {
            values[b] = affine_map(field_inverse(static_cast<std::uint8_t>(b)));
        }
        return values;
    }();
    return box;
}

/// The state is a 4 x 4 matrix of bytes, filled column by column: s(r, c) is byte r + 4 c of the
/// block. Section 3.4.
std::uint8_t& at(Block& state, std::size_t r, std::size_t c) { return state[r + 4 * c]; }
std::uint8_t at(const Block& state, std::size_t r, std::size_t c) { return state[r + 4 * c]; }

/// Section 5.1.1.
void sub_bytes(Block& state) {
    for (std::uint8_t& byte : state) byte = substitute(byte);
}

/// Row r turns left by r places. Section 5.1.2.
void shift_rows(Block& state) {
    const Block before = state;
    for (std::size_t r = 0; r < 4; ++r) {
        for (std::size_t c = 0; c < 4; ++c) at(state, r, c) = at(before, r, (c + r) % 4);
    }
}

/// Each column is multiplied by the polynomial 3 x^3 + x^2 + x + 2. Section 5.1.3.
void mix_columns(Block& state) {
    const Block before = state;
    for (std::size_t c = 0; c < 4; ++c) {
        for (std::size_t r = 0; r < 4; ++r) {
            at(state, r, c) = static_cast<std::uint8_t>(
                field_product(2, at(before, r, c)) ^ field_product(3, at(before, (r + 1) % 4, c)) ^
                at(before, (r + 2) % 4, c) ^ at(before, (r + 3) % 4, c));
        }
    }
}

/// The four words of round `round` are added, a word to a column. Section 5.1.4.
void add_round_key(Block& state, const std::vector<Aes::Word>& schedule, std::size_t round) {
    for (std::size_t c = 0; c < 4; ++c) {
        for (std::size_t r = 0; r < 4; ++r) at(state, r, c) ^= schedule[4 * round + c][r];
    }
}

Aes::Word sub_word(Aes::Word word) {
    for (std::uint8_t& byte : word) byte = substitute(byte);
    return word;
}

Aes::Word rot_word(const Aes::Word& w) { return {w[1], w[2], w[3], w[0]}; }

}  // namespace

std::uint8_t substitute(std::uint8_t byte) { return substitution_box()[byte]; }

Aes::Aes(std::span<const std::uint8_t> key) {  // KeyExpansion, Section 5.2
    require(key.size() == 16 || key.size() == 32, "an AES key has 16 or 32 bytes");
    const std::size_t key_words = key.size() / 4;  // Nk
    const std::size_t rounds = key_words + 6;      // Nr
    for (std::size_t i = 0; i < key_words; ++i) {
        schedule_.push_back({key[4 * i], key[4 * i + 1], key[4 * i + 2], key[4 * i + 3]});
    }
    std::uint8_t round_constant = 1;  // Rcon: 1, x, x^2, ...
    for (std::size_t i = key_words; i < 4 * (rounds + 1); ++i) {
        Word word = schedule_[i - 1];
        if (i % key_words == 0) {
            word = sub_word(rot_word(word));
            word[0] ^= round_constant;
            round_constant = times_x(round_constant);
        } else if (key_words > 6 && i % key_words == 4) {
            word = sub_word(word);
        }
        for (std::size_t r = 0; r < 4; ++r) word[r] ^= schedule_[i - key_words][r];
        schedule_.push_back(word);
    }
}

Block Aes::encrypt(const Block& plaintext) const {
    const std::size_t rounds = schedule_.size() / 4 - 1;
    Block state = plaintext;
    add_round_key(state, schedule_, 0);
    for (std::size_t round = 1; round < rounds; ++round) {
        sub_bytes(state);
        shift_rows(state);
        mix_columns(state);
        add_round_key(state, schedule_, round);
    }
    sub_bytes(state);
    shift_rows(state);
    add_round_key(state, schedule_, rounds);
    return state;
}

}  // namespace slip::reference

// Masks from the keystream (RAND-1, RAND-2): 8 blocks of AES-256 in flight. Time depends on no
// residue; only which bytes were rejected shows.
#include <array>

#include "optimized/kernels/leaf/aes_schedule.hpp"
#include "optimized/kernels/leaf/avx2/layout.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::avx2 {
namespace {

/// 8 blocks, named because g++ 12 keeps arrays in memory.
struct Chunk {
    __m128i a, b, c, d, e, f, g, h;
};

template <class Step>
[[gnu::always_inline]] inline void each(Chunk& x, const Step& step) {
    step(x.a), step(x.b), step(x.c), step(x.d), step(x.e), step(x.f), step(x.g), step(x.h);
}

[[gnu::always_inline]] inline __m128i round_key(const std::uint8_t* round_keys, std::size_t i) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(round_keys + 16 * i));
}

/// The counter block of RAND-1 but for the order of the counter's bytes.
__m128i counter_block(std::uint32_t field, std::uint64_t index, std::uint32_t counter) {
    const auto word = [](std::uint64_t big_endian) {
        return static_cast<int>(__builtin_bswap32(static_cast<std::uint32_t>(big_endian)));
    };
    return _mm_setr_epi32(word(field), word(index >> 32), word(index), static_cast<int>(counter));
}

/// The keystream of the 8 blocks from `counter` on, which moves to the next.
[[gnu::always_inline]] inline Chunk encrypt(const std::uint8_t* round_keys, __m128i& counter) {
    const __m128i big_endian = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15, 14, 13, 12);
    Chunk x;
    const __m128i whitening = round_key(round_keys, 0);
    each(x, [&](__m128i& block) {
        block = _mm_xor_si128(_mm_shuffle_epi8(counter, big_endian), whitening);
        counter = _mm_add_epi32(counter, _mm_setr_epi32(0, 0, 0, 1));
    });
    for (std::size_t i = 1; i < aes256_rounds; ++i) {
        const __m128i key = round_key(round_keys, i);
        each(x, [&](__m128i& block) { block = _mm_aesenc_si128(block, key); });
    }
    const __m128i key = round_key(round_keys, aes256_rounds);
    each(x, [&](__m128i& block) { block = _mm_aesenclast_si128(block, key); });
    return x;
}

/// The places of the ones of a byte, in order; behind them anything.
using Places = std::array<std::uint8_t, 8>;
constexpr Places places_of(unsigned ones) {
    Places places{};
    std::size_t count = 0;
    for (std::uint8_t i = 0; i < 8; ++i) {
        if ((ones >> i & 1) != 0) places[count++] = i;
    }
    return places;
}
constexpr std::array<Places, 256> places_of_bytes = [] {
    std::array<Places, 256> all{};
    for (unsigned ones = 0; ones < all.size(); ++ones) all[ones] = places_of(ones);
    return all;
}();

/// RAND-2 on the lower 8 bytes, those of `kept`, below 2^8, are accepted. Returns their number.
[[gnu::always_inline]] inline std::size_t sample_8(__m128i bytes, unsigned kept,
                                                   std::uint8_t* out) {
    const __m128i places =
        _mm_loadl_epi64(reinterpret_cast<const __m128i*>(places_of_bytes[kept].data()));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm_shuffle_epi8(bytes, places));
    return static_cast<std::size_t>(__builtin_popcount(kept));
}

/// The same on a block. Which bytes are accepted shows in the addresses, and is no secret.
[[gnu::always_inline]] inline std::size_t sample_block(__m128i block, std::uint8_t prime,
                                                       std::uint8_t* out) {
    const __m128i least_rejected = _mm_set1_epi8(static_cast<char>(prime));
    const __m128i rejected = _mm_cmpeq_epi8(_mm_max_epu8(block, least_rejected), block);
    const unsigned kept = static_cast<unsigned>(_mm_movemask_epi8(rejected)) ^ 0xffff;
    const std::size_t first = sample_8(block, kept & 0xff, out);
    return first + sample_8(_mm_srli_si128(block, 8), kept >> 8, out + first);
}

}  // namespace

void aes256_schedule(const std::uint8_t* key, std::uint8_t* round_keys) {
    expand_aes256_key(key, round_keys);
}

std::size_t expand(const std::uint8_t* round_keys, std::uint32_t field, std::uint64_t index,
                   std::uint32_t first_block, std::size_t blocks, std::uint8_t prime,
                   std::uint8_t* out) {
    __m128i counter = counter_block(field, index, first_block);
    std::size_t accepted = 0;
    while (blocks > 0) {
        Chunk x = encrypt(round_keys, counter);
        each(x, [&](const __m128i& block) {
            if (blocks == 0) return;  // of the last chunk only what was asked for
            accepted += sample_block(block, prime, out + accepted);
            --blocks;
        });
    }
    return accepted;
}

}  // namespace slip::kernels::avx2

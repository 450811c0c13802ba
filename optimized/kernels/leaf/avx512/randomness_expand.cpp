// Masks from the keystream (RAND-1, RAND-2), with VAES: 32 blocks of AES-256 in flight, four a
// register. Time depends on no residue; only which bytes were rejected shows.
#include "optimized/kernels/leaf/aes_schedule.hpp"
#include "optimized/kernels/leaf/avx512/layout.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::avx512 {
namespace {

constexpr std::size_t chunk_blocks = 32;

/// 32 blocks, named because g++ 12 keeps arrays in memory.
struct Chunk {
    __m512i a, b, c, d, e, f, g, h;
};

template <class Step>
[[gnu::always_inline]] inline void each(Chunk& x, const Step& step) {
    step(x.a), step(x.b), step(x.c), step(x.d), step(x.e), step(x.f), step(x.g), step(x.h);
}

[[gnu::always_inline]] inline __m512i round_key(const std::uint8_t* round_keys, std::size_t i) {
    return _mm512_broadcast_i32x4(
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(round_keys + 16 * i)));
}

/// Four counter blocks of a stream as RAND-1 has them but for the order of the counter's bytes.
__m512i first_blocks(std::uint32_t field, std::uint64_t index, std::uint32_t counter) {
    const auto word = [](std::uint64_t big_endian) {
        return static_cast<int>(__builtin_bswap32(static_cast<std::uint32_t>(big_endian)));
    };
    const __m128i block =
        _mm_setr_epi32(word(field), word(index >> 32), word(index), static_cast<int>(counter));
    return _mm512_add_epi32(_mm512_broadcast_i32x4(block),
                            _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3));
}

/// The keystream of the 32 blocks from `counters` on.
[[gnu::always_inline]] inline Chunk encrypt(const std::uint8_t* round_keys, __m512i counters) {
    const __m512i big_endian =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15, 14, 13, 12));
    const __m512i four = _mm512_setr_epi32(0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 4);
    Chunk x;
    const __m512i whitening = round_key(round_keys, 0);
    each(x, [&](__m512i& block) {
        block = _mm512_xor_si512(_mm512_shuffle_epi8(counters, big_endian), whitening);
        counters = _mm512_add_epi32(counters, four);
    });
    for (std::size_t i = 1; i < aes256_rounds; ++i) {
        const __m512i key = round_key(round_keys, i);
        each(x, [&](__m512i& block) { block = _mm512_aesenc_epi128(block, key); });
    }
    const __m512i key = round_key(round_keys, aes256_rounds);
    each(x, [&](__m512i& block) { block = _mm512_aesenclast_epi128(block, key); });
    return x;
}

}  // namespace

void aes256_schedule(const std::uint8_t* key, std::uint8_t* round_keys) {
    expand_aes256_key(key, round_keys);
}

std::size_t expand(const std::uint8_t* round_keys, std::uint32_t field, std::uint64_t index,
                   std::uint32_t first_block, std::size_t blocks, std::uint8_t prime,
                   std::uint8_t* out) {
    const __m512i chunk_step = _mm512_setr_epi32(0, 0, 0, chunk_blocks, 0, 0, 0, chunk_blocks, 0, 0,
                                                 0, chunk_blocks, 0, 0, 0, chunk_blocks);
    __m512i counters = first_blocks(field, index, first_block);
    std::size_t accepted = 0;
    while (blocks > 0) {
        Chunk x = encrypt(round_keys, counters);
        counters = _mm512_add_epi32(counters, chunk_step);
        each(x, [&](const __m512i& four) {  // of the last chunk only what was asked for
            accepted += sample_64(four, first_64(16 * blocks), prime, out + accepted);
            blocks -= least(4, blocks);
        });
    }
    return accepted;
}

}  // namespace slip::kernels::avx512

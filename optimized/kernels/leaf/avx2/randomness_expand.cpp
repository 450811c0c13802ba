// Masks from the keystream (RAND-1, RAND-2): 8 blocks of AES-256 in flight. Time depends on no
// residue; only where a word was rejected shows.
#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/leaf/aes_schedule.hpp"
#include "optimized/kernels/leaf/avx2/layout.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::avx2 {
namespace {

constexpr std::size_t chunk_blocks = 8;

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
__m128i counter_block(std::uint32_t tag, std::uint64_t index, std::uint32_t counter) {
    const auto word = [](std::uint64_t big_endian) {
        return static_cast<int>(__builtin_bswap32(static_cast<std::uint32_t>(big_endian)));
    };
    return _mm_setr_epi32(word(tag), word(index >> 32), word(index), static_cast<int>(counter));
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

/// The words of the 8 blocks.
template <class Residue>
[[gnu::always_inline]] inline void store_words(Chunk& x, Residue* out) {
    each(x, [&](const __m128i& block) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out), block);
        out += 16 / sizeof *out;
    });
}

/// RAND-2 on the words of a block: p in every lane, lanes of ones where a word equals p, and the
/// sampler for what is not accepted whole.
struct Words31 {
    using Residue = std::uint32_t;
    [[gnu::always_inline]] static __m128i p() { return _mm_set1_epi32(P31::p); }
    [[gnu::always_inline]] static __m128i rejected(__m128i v) { return _mm_cmpeq_epi32(v, p()); }
    static constexpr auto sample = portable::sample_p31;
};
template <class W>
std::size_t expand(const std::uint8_t* round_keys, std::uint32_t tag, std::uint64_t index,
                   std::uint32_t first_block, std::size_t blocks, typename W::Residue* out) {
    constexpr std::size_t block_words = 16 / sizeof *out;
    __m128i counter = counter_block(tag, index, first_block);
    std::size_t accepted = 0;
    while (blocks > 0) {
        Chunk x = encrypt(round_keys, counter);
        __m128i rejected = _mm_setzero_si128();
        each(x, [&](__m128i& block) {
            block = _mm_and_si128(block, W::p());
            rejected = _mm_or_si128(rejected, W::rejected(block));
        });
        if (__builtin_expect(blocks >= chunk_blocks && _mm_testz_si128(rejected, rejected), 1)) {
            store_words(x, out + accepted);
            accepted += chunk_blocks * block_words;
            blocks -= chunk_blocks;
        } else {  // of the last chunk only what was asked for
            typename W::Residue words[chunk_blocks * block_words];
            store_words(x, words);
            const std::size_t used = least(blocks, chunk_blocks);
            accepted += W::sample(words, used * block_words, out + accepted);
            base::wipe(words, sizeof words);
            blocks -= used;
        }
    }
    return accepted;
}

}  // namespace

void aes256_schedule(const std::uint8_t* key, std::uint8_t* round_keys) {
    expand_aes256_key(key, round_keys);
}

std::size_t expand_p31(const std::uint8_t* round_keys, std::uint32_t tag, std::uint64_t index,
                       std::uint32_t first_block, std::size_t blocks, std::uint32_t* out) {
    return expand<Words31>(round_keys, tag, index, first_block, blocks, out);
}

}  // namespace slip::kernels::avx2

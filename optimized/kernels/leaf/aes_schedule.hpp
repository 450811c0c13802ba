// The round keys of AES-256 (FIPS 197, 5.2) with AES instructions, whose time depends on no key.
// Static and always inlined, as in avx512/layout.hpp.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace slip::kernels {

constexpr std::size_t aes256_rounds = 14;

/// Each word of `key` plus those before it, and `assist` in every word.
[[gnu::always_inline]] static inline __m128i next_aes_key(__m128i key, __m128i assist) {
    key = _mm_xor_si128(key, _mm_slli_si128(key, 4));
    key = _mm_xor_si128(key, _mm_slli_si128(key, 8));
    return _mm_xor_si128(key, assist);
}

/// 15 round keys of 16 bytes from a key of 32.
[[gnu::always_inline]] static inline void expand_aes256_key(const std::uint8_t* key,
                                                            std::uint8_t* round_keys) {
    auto* const out = reinterpret_cast<__m128i*>(round_keys);
    __m128i even = _mm_loadu_si128(reinterpret_cast<const __m128i*>(key));
    __m128i odd = _mm_loadu_si128(reinterpret_cast<const __m128i*>(key + 16));
    _mm_storeu_si128(out, even);
    _mm_storeu_si128(out + 1, odd);
    // The constant of aeskeygenassist is part of the instruction, hence no loop. The word that
    // counts is the last for an even key (rotated, with the constant), the third for an odd one.
#define SLIP_AES_EVEN(i, constant)                                                                \
    even = next_aes_key(even, _mm_shuffle_epi32(_mm_aeskeygenassist_si128(odd, constant), 0xff)); \
    _mm_storeu_si128(out + (i), even)
#define SLIP_AES_ODD(i)                                                                   \
    odd = next_aes_key(odd, _mm_shuffle_epi32(_mm_aeskeygenassist_si128(even, 0), 0xaa)); \
    _mm_storeu_si128(out + (i), odd)
    SLIP_AES_EVEN(2, 0x01);
    SLIP_AES_ODD(3);
    SLIP_AES_EVEN(4, 0x02);
    SLIP_AES_ODD(5);
    SLIP_AES_EVEN(6, 0x04);
    SLIP_AES_ODD(7);
    SLIP_AES_EVEN(8, 0x08);
    SLIP_AES_ODD(9);
    SLIP_AES_EVEN(10, 0x10);
    SLIP_AES_ODD(11);
    SLIP_AES_EVEN(12, 0x20);
    SLIP_AES_ODD(13);
    SLIP_AES_EVEN(14, 0x40);
#undef SLIP_AES_EVEN
#undef SLIP_AES_ODD
}

}  // namespace slip::kernels

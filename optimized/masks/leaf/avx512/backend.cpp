#include <immintrin.h>

#include "optimized/masks/leaf/backend.hpp"

namespace slip::masks::avx512 {
namespace {

struct Lanes : PlainLanes<Lanes, 8> {
    [[gnu::always_inline]] static Doubles plus_product(Doubles a, Doubles b, Doubles c) {
        return _mm512_fmadd_pd(b, c, a);
    }
    [[gnu::always_inline]] static Doubles minus_product(Doubles a, Doubles b, Doubles c) {
        return _mm512_fnmadd_pd(b, c, a);
    }

    [[gnu::always_inline]] static Doubles in_register(Doubles x) {
        asm("" : "+v"(x));
        return x;
    }

    template <bool ahead>
    [[gnu::always_inline]] static void load(const std::uint8_t* const* rows, std::size_t byte,
                                            const Pair& pair, Words& first, Words& second) {
        const std::size_t start = ahead ? byte : byte + pair.bytes - 16;
        const __m512i order = _mm512_broadcast_i32x4(sixteen(byte_order<ahead>(pair)));
        const __m512i even = _mm512_shuffle_epi8(every_other(rows, start), order);
        const __m512i odd = _mm512_shuffle_epi8(every_other(rows + 1, start), order);
        first = reinterpret_cast<Words>(_mm512_unpacklo_epi64(even, odd));
        second = reinterpret_cast<Words>(_mm512_unpackhi_epi64(even, odd));
    }

    [[gnu::always_inline]] static void store(std::int16_t* out, Doubles x) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out),
                         _mm256_cvtsepi32_epi16(_mm512_cvtpd_epi32(x)));
    }

private:
    [[gnu::always_inline]] static __m128i sixteen(const std::uint8_t* bytes) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
    }
    [[gnu::always_inline]] static __m512i every_other(const std::uint8_t* const* rows,
                                                      std::size_t byte) {
        __m512i x = _mm512_castsi128_si512(sixteen(rows[0] + byte));
        x = _mm512_inserti64x2(x, sixteen(rows[2] + byte), 1);
        x = _mm512_inserti64x2(x, sixteen(rows[4] + byte), 2);
        return _mm512_inserti64x2(x, sixteen(rows[6] + byte), 3);
    }
};

}  // namespace

const Backend backend = backend_of<Lanes>("avx512");

}  // namespace slip::masks::avx512

#include <immintrin.h>

#include "optimized/masks/leaf/backend.hpp"

namespace slip::masks::avx2 {
namespace {

struct Lanes : PlainLanes<Lanes, 4> {
    [[gnu::always_inline]] static Doubles plus_product(Doubles a, Doubles b, Doubles c) {
        return _mm256_fmadd_pd(b, c, a);
    }
    [[gnu::always_inline]] static Doubles minus_product(Doubles a, Doubles b, Doubles c) {
        return _mm256_fnmadd_pd(b, c, a);
    }

    [[gnu::always_inline]] static Doubles in_register(Doubles x) {
        asm("" : "+x"(x));
        return x;
    }

    template <bool ahead>
    [[gnu::always_inline]] static void load(const std::uint8_t* const* rows, std::size_t byte,
                                            const Pair& pair, Words& first, Words& second) {
        const std::size_t start = ahead ? byte : byte + pair.bytes - 16;
        const __m256i order = _mm256_broadcastsi128_si256(sixteen(byte_order<ahead>(pair)));
        const __m256i even = _mm256_shuffle_epi8(every_other(rows, start), order);
        const __m256i odd = _mm256_shuffle_epi8(every_other(rows + 1, start), order);
        first = reinterpret_cast<Words>(_mm256_unpacklo_epi64(even, odd));
        second = reinterpret_cast<Words>(_mm256_unpackhi_epi64(even, odd));
    }

    [[gnu::always_inline]] static void store(std::int16_t* out, Doubles x) {
        const __m128i integers = _mm256_cvtpd_epi32(x);
        _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm_packs_epi32(integers, integers));
    }

private:
    [[gnu::always_inline]] static __m128i sixteen(const std::uint8_t* bytes) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
    }
    [[gnu::always_inline]] static __m256i every_other(const std::uint8_t* const* rows,
                                                      std::size_t byte) {
        return _mm256_inserti128_si256(_mm256_castsi128_si256(sixteen(rows[0] + byte)),
                                       sixteen(rows[2] + byte), 1);
    }
};

}  // namespace

const Backend backend = backend_of<Lanes>("avx2");

}  // namespace slip::masks::avx2

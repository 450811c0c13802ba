// s = rho^T W mod p (INTEG-2) from packed weights, four columns at a time.
#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/leaf/neon/layout.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::neon {
namespace {

/// Four columns of s, whose weights lie at `w` in every panel, panel_bytes apart.
template <class P>
void check_step(const std::int8_t* w, std::size_t panel_bytes, std::size_t m, std::size_t columns,
                const typename P::Residue* rho, typename P::Residue* s) {
    constexpr std::size_t pass = 65536;  // rows that 32 bits hold: 128 * 128 * 65,536 < 2^31
    for (std::size_t first = 0; first == 0 || first < m; first += pass) {
        std::int32_t sums[digits<P> * step_columns] = {};
        for (std::size_t i = first; i < least(m, first + pass); ++i) {
            const std::int8_t* const row =
                w + i / panel_rows * panel_bytes + i % panel_rows * step_columns;
            auto v = lift(rho[i]);
            for (std::size_t l = 0; l < digits<P>; ++l) {
                const auto digit = static_cast<std::int8_t>(v);
                v = (v - digit) >> 8;
                for (std::size_t d = 0; d < step_columns; ++d) {
                    sums[l * step_columns + d] += digit * row[d];
                }
            }
        }
        for (std::size_t d = 0; d < columns; ++d) {
            s[d] = recombine(sums + d, step_columns, first == 0 ? 0 : s[d]);
        }
        base::wipe(sums, sizeof sums);
    }
}

template <class P>
void check_vector(const std::int8_t* packed, std::size_t m, std::size_t n,
                  const typename P::Residue* rho, typename P::Residue* s) {
    for (std::size_t step = 0; step < steps_of(n); ++step) {
        const std::size_t j = step * step_columns;
        check_step<P>(packed + step * step_bytes, steps_of(n) * step_bytes, m,
                      least(step_columns, n - j), rho, s + j);
    }
}

}  // namespace

void check_vector_p31(const PackedWeights* packed, std::size_t m, std::size_t n,
                      const std::uint32_t* rho, std::uint32_t* s) {
    check_vector<P31>(raw(packed), m, n, rho, s);
}

}  // namespace slip::kernels::neon

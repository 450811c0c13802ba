// s = rho^T W mod p (INTEG-2): four rows of W at a time meet the limbs of rho.
#include <algorithm>

#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/leaf/limbs.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::portable {
namespace {

/// Columns of W whose sums lie on the stack at a time.
constexpr std::size_t block = 512;

/// Sums over rows of W, one per column and limb of rho; `total` of those that 32 bits do not hold.
template <class P>
struct Sums {
    alignas(64) std::int32_t partial[Limbs<P>::count][block];
    alignas(64) std::int64_t total[block][Limbs<P>::count];
};

/// partial[l][j] += sum_i rho[i].limb[l] w[i][j] over R rows that are `stride` apart.
template <class P, std::size_t R>
void add_rows(const std::int8_t* w, std::size_t stride, std::size_t n,
              const typename P::Residue* rho, Sums<P>& sums) {
    for (std::size_t l = 0; l < Limbs<P>::count; ++l) {
        std::int16_t limb[R];
        for (std::size_t i = 0; i < R; ++i) limb[i] = split<P>(rho[i]).limb[l];
        std::int32_t* const partial = sums.partial[l];
        for (std::size_t j = 0; j < n; ++j) {
            std::int32_t sum = partial[j];
            for (std::size_t i = 0; i < R; ++i) sum += std::int16_t{w[i * stride + j]} * limb[i];
            partial[j] = sum;
        }
    }
}

/// s[j] for `width` columns of W.
template <class P>
void check_columns(const std::int8_t* w, std::size_t m, std::size_t n, std::size_t width,
                   const typename P::Residue* rho, Sums<P>& sums, typename P::Residue* s) {
    for (auto& total : sums.total) std::fill(std::begin(total), std::end(total), 0);
    for (std::size_t top = 0; top < m; top += limb_pass) {
        const std::size_t end = std::min(m, top + limb_pass);
        for (auto& partial : sums.partial) std::fill_n(partial, width, 0);
        std::size_t i = top;
        for (; i + 4 <= end; i += 4) add_rows<P, 4>(w + i * n, n, width, rho + i, sums);
        for (; i < end; ++i) add_rows<P, 1>(w + i * n, n, width, rho + i, sums);
        for (std::size_t l = 0; l < Limbs<P>::count; ++l) {
            for (std::size_t j = 0; j < width; ++j) sums.total[j][l] += sums.partial[l][j];
        }
    }
    for (std::size_t j = 0; j < width; ++j) s[j] = recombine(sums.total[j], 0);
}

template <class P>
void check_vector(const std::int8_t* w, std::size_t m, std::size_t n,
                  const typename P::Residue* rho, typename P::Residue* s) {
    Sums<P> sums;
    for (std::size_t first = 0; first < n; first += block) {
        check_columns(w + first, m, n, std::min(block, n - first), rho, sums, s + first);
    }
    base::wipe(&sums, sizeof sums);
}

}  // namespace

void check_vector_p31(const PackedWeights* w, std::size_t m, std::size_t n,
                      const std::uint32_t* rho, std::uint32_t* s) {
    check_vector<P31>(raw(w), m, n, rho, s);
}

}  // namespace slip::kernels::portable

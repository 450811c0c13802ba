#include "optimized/kernels/combinations.hpp"

#include "optimized/base/error.hpp"
#include "optimized/kernels/registry.hpp"

namespace slip::kernels {

using base::require;
using base::parameters::kappa;
using base::parameters::primes;

Combinations::Combinations(std::span<const std::uint8_t> w, std::size_t n, std::size_t planes)
    : n_(n), planes_(planes) {
    const Backend& kernels = active();
    require(planes > 0 && planes <= primes.size() && w.size() == kappa * planes * n,
            "Combinations: the sizes");
    for (std::size_t i = 0; i < kappa * planes; ++i) {
        require(kernels.below(w.data() + i * n, n, primes[i % planes]),
                "Combinations: an entry is no residue");
    }
    packed_ = base::SecretBuffer<PackedCombinations>(kernels.combinations_bytes(n, planes));
    kernels.pack_combinations(w.data(), n, planes, packed_.data());
}

void Combinations::combine(std::span<const std::uint8_t> columns, std::size_t b,
                           std::span<std::uint8_t> out) const {
    require(out.size() == b * planes_ * kappa, "Combinations::combine: the size of the result");
    if (b == 0) return;
    require(planes_ > 0, "Combinations::combine: there are none");
    const std::size_t m = columns.size() / (b * planes_);
    require(columns.size() == b * planes_ * m && m <= n_, "Combinations::combine: the columns");
    active().combine(packed_.data(), m, planes_, columns.data(), b, out.data());
}

}  // namespace slip::kernels

// The inner products of the integrity check (INTEG-3): see combination_blocks.hpp for the layout.
#include "optimized/kernels/leaf/combination_blocks.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::portable {
namespace {

/// The sums over a plane's blocks. Those of a block are below 64 * 125 * 250 < 2^31.
struct Sums {
    std::int64_t of[base::parameters::kappa] = {};

    void add_block(const std::int8_t* w, const std::uint8_t* v, std::uint32_t) {
        for (std::size_t a = 0; a < base::parameters::kappa; ++a, w += block_entries) {
            std::int32_t sum = 0;
            for (std::size_t i = 0; i < block_entries; ++i) {
                sum += std::int16_t{w[i]} * std::int16_t{v[i]};
            }
            of[a] += sum;
        }
    }
    void add_to(std::int64_t* totals) const {
        for (std::size_t a = 0; a < base::parameters::kappa; ++a) totals[a] += of[a];
    }
};

}  // namespace

void combine(const PackedCombinations* packed, std::size_t n, std::size_t planes,
             const std::uint8_t* v, std::size_t b, std::uint8_t* out) {
    combine_blocks<Sums>(raw(packed), n, planes, v, b, out);
}

}  // namespace slip::kernels::portable

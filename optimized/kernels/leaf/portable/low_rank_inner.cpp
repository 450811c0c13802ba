// z = B q (DECO-7). B stays row-major, in 16 bits per entry.
#include <limits>

#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::portable {
namespace {

namespace parameters = base::parameters;

/// Products of B and q that one 32-bit sum holds.
constexpr std::size_t pass = 32;
static_assert(std::int64_t{parameters::largest_factor} * parameters::largest_activation_norm *
                  std::int64_t{pass} <=
              std::numeric_limits<std::int32_t>::max());

/// sum_j b[j] q[j] for n <= pass.
inline std::int32_t pass_product(const std::int16_t* b, const std::int16_t* q, std::size_t n) {
    std::int32_t sum = 0;
    for (std::size_t j = 0; j < n; ++j) sum += b[j] * q[j];
    return sum;
}

}  // namespace

void low_rank_inner(const PackedRight* right, std::size_t k, std::size_t n, const std::int16_t* q,
                    std::int64_t* z) {
    const auto* row = reinterpret_cast<const std::int16_t*>(right);
    for (std::size_t c = 0; c < k; ++c, row += n) {
        std::int64_t sum = 0;
        std::size_t j = 0;
        for (; j + pass <= n; j += pass) sum += pass_product(row + j, q + j, pass);
        z[c] = sum + pass_product(row + j, q + j, n - j);
    }
}

}  // namespace slip::kernels::portable

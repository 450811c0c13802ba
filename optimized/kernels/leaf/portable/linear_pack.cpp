// The layout of packed weights, which the products read from front to back.
#include <algorithm>

#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::portable {

// Plain loops read rows from front to back: W is packed as it is.
std::size_t packed_bytes(std::size_t m, std::size_t n) { return m * n; }

void pack(const std::int8_t* w, std::size_t m, std::size_t n, PackedWeights* packed) {
    std::copy_n(w, m * n, raw(packed));
}

}  // namespace slip::kernels::portable

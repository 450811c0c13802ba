#include "optimized/masks/block_secret.hpp"

#include "optimized/base/error.hpp"
#include "optimized/masks/stack.hpp"

namespace slip::masks {

using base::require;

bool all_small(std::span<const std::int8_t> small, int largest) {
    unsigned differences = 0;  // the highest bit is set where one is negative
    for (const int s : small) {
        differences |= static_cast<unsigned>(largest - s);
        differences |= static_cast<unsigned>(largest + s);
    }
    return differences >> 31 == 0;
}

BlockSecret::BlockSecret(std::span<const std::int8_t> small, int largest, const Backend& backend)
    : largest_(largest), spectrum_(small.size()) {
    require(!small.empty() && small.size() % degree == 0 && elements() <= most_elements,
            "a block's secret has 1 to 16 ring elements");
    require(1 <= largest && largest <= largest_secret && all_small(small, largest),
            "a block's secret has small coefficients");
    base::SecretBuffer<std::byte> workspace(backend.workspace_bytes(1, 0));
    backend.transform_secret(roots(), small.data(), elements(), workspace.data(), spectrum_.data());
    wipe_used_stack();
}

}  // namespace slip::masks

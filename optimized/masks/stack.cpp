#include "optimized/masks/stack.hpp"

#include <cstddef>

#include "optimized/base/secret_buffer.hpp"

namespace slip::masks {

[[gnu::noinline]] void wipe_used_stack() {
    std::byte used[std::size_t{1} << 14];  // a kernel uses less than a quarter of it
    base::wipe(used, sizeof used);
}

}  // namespace slip::masks

#include "optimized/masks/registry.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "optimized/kernels/registry.hpp"
#include "optimized/masks/leaf/tables.hpp"

namespace slip::masks {
namespace {

std::vector<const Backend*> runnable() {
    std::vector<const Backend*> backends = {&portable::backend};
#ifdef __x86_64__
    // What leaf/avx2 and leaf/avx512 are compiled for (CMakeLists.txt).
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        backends.push_back(&avx2::backend);
    }
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {
        backends.push_back(&avx512::backend);
    }
#endif
#ifdef __aarch64__
    backends.push_back(&neon::backend);
#endif
    return backends;
}

const Backend& choose() {
    const std::string_view wanted = kernels::active().name;
    const auto named = std::ranges::find(available(), wanted, &Backend::name);
    return named == available().end() ? portable::backend : **named;
}

}  // namespace

std::span<const Backend* const> available() {
    static const std::vector<const Backend*> backends = runnable();
    return backends;
}

const Backend& active() {
    static const Backend& chosen = choose();
    return chosen;
}

}  // namespace slip::masks

#include "optimized/kernels/registry.hpp"

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "optimized/base/error.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"
#ifdef __aarch64__
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace slip::kernels {
namespace {

#ifdef __x86_64__
// What leaf/avx2 and leaf/avx512 are compiled for (CMakeLists.txt).
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("aes"); }

bool has_avx512() {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vbmi") &&
           __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("vaes");
}
#endif

std::vector<const Backend*> runnable() {
    std::vector<const Backend*> backends = {&portable::backend};
#ifdef __x86_64__
    if (has_avx2()) backends.push_back(&avx2::backend);
    if (has_avx512()) backends.push_back(&avx512::backend);
#endif
#ifdef __aarch64__
    if ((::getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0) backends.push_back(&neon::backend);
#endif
    return backends;
}

const Backend& choose() {
    const char* wanted = std::getenv("SLIP_KERNELS");
    if (wanted == nullptr) return *available().back();
    std::string names;
    for (const Backend* backend : available()) {
        if (std::string_view(backend->name) == wanted) return *backend;
        names.append(names.empty() ? "" : ", ").append(backend->name);
    }
    throw BadInput("SLIP_KERNELS names no backend that this machine can run; it has: " + names);
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

}  // namespace slip::kernels

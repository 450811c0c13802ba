#include "optimized/kernels/registry.hpp"

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

#include "optimized/base/error.hpp"
#include "optimized/kernels/leaf/portable/portable.hpp"

namespace slip::kernels {
namespace {

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
    static const std::array<const Backend*, 1> backends = {&portable::backend};
    return backends;
}

const Backend& active() {
    static const Backend& chosen = choose();
    return chosen;
}

}  // namespace slip::kernels

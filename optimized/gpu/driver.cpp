#include "optimized/gpu/driver.hpp"

#include <dlfcn.h>

namespace slip::gpu {
namespace {

/// The driver's name and explanation of a result, as far as it has them.
std::string describe(const Library& library, int result) {
    using Describe = int (*)(int, const char**);
    std::string text;
    for (const char* const function : {"cuGetErrorName", "cuGetErrorString"}) {
        const char* words = nullptr;
        reinterpret_cast<Describe>(library.function(function))(result, &words);
        if (words != nullptr) text.append(text.empty() ? "" : ": ").append(words);
    }
    return text.empty() ? "CUresult " + std::to_string(result) : text;
}

}  // namespace

Library::Library(const char* name) : name_(name), handle_(::dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ != nullptr) return;
    const char* const reason = ::dlerror();
    throw DriverError("GPU: the driver cannot be loaded: " +
                      std::string(reason != nullptr ? reason : name));
}

void* Library::function(const char* name) const {
    void* const found = ::dlsym(handle_, name);
    if (found == nullptr) throw DriverError("GPU: " + name_ + " has no function " + name);
    return found;
}

void Library::check(int result, const char* call) const {
    if (result == 0) return;
    throw DriverError("GPU: " + std::string(call) + " failed: " + describe(*this, result));
}

}  // namespace slip::gpu

// libcuda.so.1 for machines without a GPU: the calls that optimized/gpu makes, with the processor's
// memory as the GPU's and plain loops as kernels. It counts calls, and fails on demand. What a copy
// or a kernel must not touch, AddressSanitizer sees.
#include "property_tests/gpu/fake_driver.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "optimized/gpu/work.hpp"

namespace {

using slip::gpu::Work;
namespace gpu = slip::gpu;
using Address = unsigned long long;

enum Result { success = 0, invalid_value = 1, out_of_memory = 2, not_found = 500 };

struct State {
    std::mutex mutex;
    std::map<std::string, std::size_t, std::less<>> calls;
    std::string failing;
    std::size_t failing_after = 0;
    std::size_t held = 0;
    std::size_t freed_bytes = 0;
    std::map<Address, std::size_t> sizes;
    const char* ptx = nullptr;
};

State& state() {
    static State only;
    return only;
}

/// Counts a call; whether it is to fail.
bool fails(const char* call) {
    const std::lock_guard lock(state().mutex);
    ++state().calls[call];
    if (state().failing != call) return false;
    return --state().failing_after == 0;
}

Result take(const char* call) {
    if (fails(call)) return out_of_memory;
    const std::lock_guard lock(state().mutex);
    ++state().held;
    return success;
}

Result give_back(const char* call) {
    if (fails(call)) return out_of_memory;
    const std::lock_guard lock(state().mutex);
    --state().held;
    return success;
}

template <class T>
T* memory(Address address) {
    return reinterpret_cast<T*>(address);
}

/// The prime of a vector; those of a matrix stand after those of the one before it.
std::size_t prime_of(const Work& work, std::size_t vector) {
    const std::size_t plane = vector / work.vectors + vector % work.vectors % work.planes;
    return work.primes >> plane * 8 & 0xffU;
}

/// Where a matrix's tiles of a row begin, and which of their rows it is.
const std::int8_t* row_of(const Work& work, std::size_t matrix, std::size_t row) {
    const bool is_above = row < work.rows_above;
    const std::size_t rows = is_above ? work.rows_above : work.rows - work.rows_above;
    const std::size_t within = is_above ? row : row - work.rows_above;
    return memory<const std::int8_t>(is_above ? work.w : work.below) +
           (matrix * rows + within / gpu::row_tile * gpu::row_tile) * work.stride +
           within % gpu::row_tile * gpu::step;
}

/// A row of Y for a vector of all, from a split's steps.
void multiply(const Work& work, unsigned split, unsigned row, unsigned vector) {
    const std::size_t begin = std::size_t{split} * work.steps_per_split;
    const std::size_t steps = work.stride / gpu::step;
    const auto* w = row_of(work, vector / work.vectors, row) + begin * gpu::tile_bytes;
    const auto* x =
        memory<const std::uint8_t>(work.x) + std::size_t{vector} * work.stride + begin * gpu::step;
    std::int32_t sum = 0;  // as the tensor cores have it: too many steps overflow
    for (std::size_t at = begin; at < std::min(begin + work.steps_per_split, steps); ++at) {
        for (std::size_t j = 0; j < gpu::step; ++j) sum += w[j] * x[j];
        w += gpu::tile_bytes;
        x += gpu::step;
    }
    const auto prime = static_cast<std::int32_t>(prime_of(work, vector));
    const std::size_t vectors = std::size_t{work.matrices} * work.vectors;
    memory<std::uint8_t>(work.partial)[(split * vectors + vector) * work.rows + row] =
        static_cast<std::uint8_t>((sum % prime + prime) % prime);
}

void join(const Work& work) {
    const std::size_t all = std::size_t{work.matrices} * work.vectors * work.rows;
    for (std::size_t i = 0; i < all; ++i) {
        std::size_t sum = 0;
        for (std::size_t s = 0; s < work.splits; ++s) {
            sum += memory<const std::uint8_t>(work.partial)[s * all + i];
        }
        memory<std::uint8_t>(work.y)[i] =
            static_cast<std::uint8_t>(sum % prime_of(work, i / work.rows));
    }
}

/// The rows and vectors of a block, and its threads.
struct Kernel {
    std::string_view name;
    unsigned rows, vectors, threads;
};
constexpr Kernel kernels[] = {
    {"narrow", gpu::narrow_rows, gpu::narrow_vectors, gpu::narrow_threads},
    {"wide32", gpu::row_tile, 32, gpu::wide_threads},
    {"wide64", gpu::row_tile, 64, gpu::wide_threads},
    {"wide96", gpu::row_tile, 96, gpu::wide_threads},
    {"wide128", gpu::row_tile, 128, gpu::wide_threads},
    {"join", 0, 0, gpu::join_threads},
};

/// What a launch of these blocks computes.
void run(const Kernel& kernel, const Work& work, unsigned blocks_x, unsigned blocks_y,
         unsigned blocks_z) {
    if (kernel.name == "join") return join(work);
    for (unsigned z = 0; z < blocks_z; ++z) {
        const unsigned matrix = z / work.splits, split = z % work.splits;
        for (unsigned v = 0; v < blocks_y * kernel.vectors && v < work.vectors; ++v) {
            for (unsigned i = 0; i < blocks_x * kernel.rows; ++i) {
                multiply(work, split, i, matrix * work.vectors + v);
            }
        }
    }
}

}  // namespace

extern "C" {

void fake_cuda_fail(const char* call, std::size_t n) {
    const std::lock_guard lock(state().mutex);
    state().failing = call == nullptr ? "" : call;
    state().failing_after = n;
}

std::size_t fake_cuda_calls(const char* call) {
    const std::lock_guard lock(state().mutex);
    const auto found = state().calls.find(call);
    return found == state().calls.end() ? 0 : found->second;
}

std::size_t fake_cuda_held() {
    const std::lock_guard lock(state().mutex);
    return state().held;
}

std::size_t fake_cuda_freed_bytes() {
    const std::lock_guard lock(state().mutex);
    return state().freed_bytes;
}

int cuGetErrorName(int result, const char** name) {
    *name = result == out_of_memory ? "CUDA_ERROR_OUT_OF_MEMORY" : nullptr;
    return success;
}

int cuGetErrorString(int result, const char** text) {
    *text = result == out_of_memory ? "out of memory" : nullptr;
    return success;
}

int cuInit(unsigned) {
    if (const char* const wanted = std::getenv("FAKE_CUDA_FAILS")) {
        const std::string call(wanted);
        const std::size_t colon = call.find(':');
        fake_cuda_fail(call.substr(0, colon).c_str(),
                       colon == std::string::npos ? 1 : std::stoul(call.substr(colon + 1)));
    }
    return fails("cuInit") ? out_of_memory : success;
}

int cuDeviceGet(int* device, int ordinal) {
    *device = ordinal;
    return fails("cuDeviceGet") ? out_of_memory : success;
}

int cuDeviceGetName(char* name, int size, int) {
    std::strncpy(name, "a fake GPU", static_cast<std::size_t>(size));
    return fails("cuDeviceGetName") ? out_of_memory : success;
}

int cuDeviceGetAttribute(int* value, int attribute, int) {
    constexpr int multiprocessors = 16, major = 75;
    const char* const capability = std::getenv("FAKE_CUDA_CAPABILITY");
    *value = attribute == multiprocessors ? 4
             : attribute == major         ? (capability == nullptr ? 8 : std::atoi(capability))
                                          : 0;
    return fails("cuDeviceGetAttribute") ? out_of_memory : success;
}

int cuDevicePrimaryCtxRetain(void** context, int) {
    *context = &state();
    return take("cuDevicePrimaryCtxRetain");
}

int cuDevicePrimaryCtxRelease_v2(int) { return give_back("cuDevicePrimaryCtxRelease_v2"); }
int cuCtxPushCurrent_v2(void*) { return take("cuCtxPushCurrent_v2"); }
int cuCtxPopCurrent_v2(void**) { return give_back("cuCtxPopCurrent_v2"); }
int cuCtxSynchronize() { return fails("cuCtxSynchronize") ? out_of_memory : success; }

int cuModuleLoadData(void** module, const void* image) {
    state().ptx = static_cast<const char*>(image);
    *module = &state();
    return take("cuModuleLoadData");
}

int cuModuleUnload(void*) { return give_back("cuModuleUnload"); }

int cuModuleGetFunction(void** function, void*, const char* name) {
    if (fails("cuModuleGetFunction")) return out_of_memory;
    const std::string entry = std::string(".entry ") + name + "(";
    if (std::strstr(state().ptx, entry.c_str()) == nullptr) return not_found;
    for (const Kernel& kernel : kernels) {
        if (kernel.name == name) *function = const_cast<Kernel*>(&kernel);
    }
    return success;
}

int cuMemAlloc_v2(Address* address, std::size_t bytes) {
    if (bytes == 0) return invalid_value;  // as the driver has it
    const Result result = take("cuMemAlloc_v2");
    if (result != success) return result;
    void* const allocated = std::malloc(bytes);
    std::memset(allocated, 0xa5, bytes);
    *address = reinterpret_cast<Address>(allocated);
    const std::lock_guard lock(state().mutex);
    state().sizes[*address] = bytes;
    return success;
}

int cuMemFree_v2(Address address) {
    {
        const std::lock_guard lock(state().mutex);
        for (std::size_t i = 0; i < state().sizes[address]; ++i) {
            state().freed_bytes += memory<const std::uint8_t>(address)[i];
        }
        state().sizes.erase(address);
    }
    std::free(memory<void>(address));
    return give_back("cuMemFree_v2");
}

int cuMemAllocHost_v2(void** allocated, std::size_t bytes) {
    if (bytes == 0) return invalid_value;
    const Result result = take("cuMemAllocHost_v2");
    if (result == success) *allocated = std::malloc(bytes);
    return result;
}

int cuMemFreeHost(void* allocated) {
    std::free(allocated);
    return give_back("cuMemFreeHost");
}

int cuMemcpyHtoD_v2(Address to, const void* from, std::size_t bytes) {
    if (fails("cuMemcpyHtoD_v2")) return out_of_memory;
    std::memcpy(memory<void>(to), from, bytes);
    return success;
}

int cuMemcpyHtoDAsync_v2(Address to, const void* from, std::size_t bytes, void*) {
    if (fails("cuMemcpyHtoDAsync_v2")) return out_of_memory;
    std::memcpy(memory<void>(to), from, bytes);
    return success;
}

int cuMemcpyDtoHAsync_v2(void* to, Address from, std::size_t bytes, void*) {
    if (fails("cuMemcpyDtoHAsync_v2")) return out_of_memory;
    std::memcpy(to, memory<const void>(from), bytes);
    return success;
}

int cuMemsetD8Async(Address to, unsigned char value, std::size_t bytes, void*) {
    if (fails("cuMemsetD8Async")) return out_of_memory;
    std::memset(memory<void>(to), value, bytes);
    return success;
}

int cuStreamCreate(void** stream, unsigned) {
    *stream = &state();
    return take("cuStreamCreate");
}

int cuStreamDestroy_v2(void*) { return give_back("cuStreamDestroy_v2"); }
int cuStreamSynchronize(void*) { return fails("cuStreamSynchronize") ? out_of_memory : success; }

int cuLaunchKernel(void* function, unsigned x, unsigned y, unsigned z, unsigned threads,
                   unsigned threads_y, unsigned threads_z, unsigned shared_bytes, void*,
                   void** arguments, void**) {
    if (fails("cuLaunchKernel")) return out_of_memory;
    const auto& kernel = *static_cast<const Kernel*>(function);
    const bool is_launchable = x > 0 && y > 0 && y < 65536 && z > 0 && z < 65536 &&
                               threads == kernel.threads && threads_y == 1 && threads_z == 1 &&
                               shared_bytes == 0;
    if (!is_launchable) return invalid_value;
    run(kernel, *static_cast<const Work*>(arguments[0]), x, y, z);
    return success;
}
}

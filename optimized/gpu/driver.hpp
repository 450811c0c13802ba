// NVIDIA's driver, as far as products need it: libcuda.so.1, which is looked for when a GPU is
// asked for, so that nothing of CUDA is needed to build or to run without one. The declarations
// follow the CUDA driver API, whose names stand beside them.
#pragma once

#include <cstddef>
#include <string>

#include "slip/error.hpp"

namespace slip::gpu {

/// A call of the driver failed. The message names the call and the driver's reason.
class DriverError : public InternalError {
public:
    using InternalError::InternalError;
};

/// What the driver gives is known by these.
using Device = int;
using Address = unsigned long long;  // in the GPU's memory
using Context = void*;
using Module = void*;
using Function = void*;
using Stream = void*;

/// A shared library that has the driver's functions. It stays loaded until the process ends,
/// because the driver has threads of its own.
class Library {
public:
    /// Throws DriverError if it cannot be loaded.
    explicit Library(const char* name);
    /// Throws DriverError if there is no such function.
    void* function(const char* name) const;
    /// Throws DriverError, naming the call, unless `result` is CUDA_SUCCESS.
    void check(int result, const char* call) const;

private:
    std::string name_;
    void* handle_;
};

/// A function of the driver.
template <class... Arguments>
class Call {
public:
    Call(const Library& library, const char* name)
        : library_(&library),
          name_(name),
          function_(reinterpret_cast<int (*)(Arguments...)>(library.function(name))) {}

    /// Throws DriverError if it fails.
    void operator()(Arguments... arguments) const {
        library_->check(function_(arguments...), name_);
    }
    /// For destructors: what was held is given back, and whether that failed changes nothing.
    void ignoring_failure(Arguments... arguments) const noexcept { function_(arguments...); }

private:
    const Library* library_;
    const char* name_;
    int (*function_)(Arguments...);
};

/// CUdevice_attribute.
enum class Attribute : int { multiprocessors = 16, capability_major = 75, capability_minor = 76 };

/// The calls. Neither copied nor moved, because they refer to the library.
struct Driver {
    /// Throws DriverError if the library or one of the functions is missing, or cuInit fails.
    explicit Driver(const char* library_name) : library(library_name) { init(0); }
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;

    const Library library;
    const Call<unsigned> init{library, "cuInit"};
    const Call<Device*, int> device_get{library, "cuDeviceGet"};
    const Call<char*, int, Device> device_get_name{library, "cuDeviceGetName"};
    const Call<int*, Attribute, Device> device_get_attribute{library, "cuDeviceGetAttribute"};
    const Call<Context*, Device> context_retain{library, "cuDevicePrimaryCtxRetain"};
    const Call<Device> context_release{library, "cuDevicePrimaryCtxRelease_v2"};
    const Call<Context> context_push{library, "cuCtxPushCurrent_v2"};
    const Call<Context*> context_pop{library, "cuCtxPopCurrent_v2"};
    const Call<> context_synchronize{library, "cuCtxSynchronize"};
    const Call<Module*, const void*> module_load{library, "cuModuleLoadData"};
    const Call<Module> module_unload{library, "cuModuleUnload"};
    const Call<Function*, Module, const char*> module_get_function{library, "cuModuleGetFunction"};
    const Call<Address*, std::size_t> allocate{library, "cuMemAlloc_v2"};
    const Call<Address> free{library, "cuMemFree_v2"};
    const Call<void**, std::size_t> allocate_host{library, "cuMemAllocHost_v2"};
    const Call<void*> free_host{library, "cuMemFreeHost"};
    const Call<Address, const void*, std::size_t> copy_to_gpu{library, "cuMemcpyHtoD_v2"};
    const Call<Address, const void*, std::size_t, Stream> copy_to_gpu_in{library,
                                                                         "cuMemcpyHtoDAsync_v2"};
    const Call<void*, Address, std::size_t, Stream> copy_from_gpu_in{library,
                                                                     "cuMemcpyDtoHAsync_v2"};
    const Call<Address, unsigned char, std::size_t, Stream> fill_in{library, "cuMemsetD8Async"};
    const Call<Stream*, unsigned> stream_create{library, "cuStreamCreate"};
    const Call<Stream> stream_destroy{library, "cuStreamDestroy_v2"};
    const Call<Stream> stream_synchronize{library, "cuStreamSynchronize"};
    /// Grid x, y, z; block x, y, z; bytes of dynamic shared memory; stream; arguments; extra.
    const Call<Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
               Stream, void**, void**>
        launch{library, "cuLaunchKernel"};
};

/// A context that is the calling thread's while this lives. What was current before is so again.
class InContext {
public:
    InContext(const Driver& driver, Context context) : driver_(driver) {
        driver_.context_push(context);
    }
    InContext(const InContext&) = delete;
    InContext& operator=(const InContext&) = delete;
    ~InContext() {
        Context context = nullptr;
        driver_.context_pop.ignoring_failure(&context);
    }

private:
    const Driver& driver_;
};

}  // namespace slip::gpu

// What a test asks of the fake driver, by dlsym from the library that it has loaded.
#pragma once

#include <cstddef>

extern "C" {
/// The call of this name fails with CUDA_ERROR_OUT_OF_MEMORY when it is made for the n-th time from
/// now on; null: none does. In a process of its own the environment says it: FAKE_CUDA_FAILS=NAME
/// or NAME:N.
void fake_cuda_fail(const char* call, std::size_t n);
/// How often the call was made.
std::size_t fake_cuda_calls(const char* call);
/// What was made and not yet given back: memory, streams, modules and contexts.
std::size_t fake_cuda_held();
/// The sum of all bytes of the GPU's memory that was freed, as they were then: 0 of what was wiped.
std::size_t fake_cuda_freed_bytes();
}

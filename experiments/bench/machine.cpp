#include "experiments/bench/machine.hpp"

#include <sched.h>

#include <fstream>

#include "optimized/base/error.hpp"

namespace slip::bench {

std::string processor_name() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        const std::size_t colon = line.find(": ");
        if (line.rfind("model name", 0) == 0 && colon != std::string::npos) {
            return line.substr(colon + 2);
        }
    }
    return "unknown";
}

std::size_t this_processor() { return static_cast<std::size_t>(::sched_getcpu()); }

void bind_to_processors(std::initializer_list<std::size_t> processors) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const std::size_t processor : processors) CPU_SET(processor, &set);
    base::require(::sched_setaffinity(0, sizeof set, &set) == 0, "the thread cannot be bound");
}

#ifdef __x86_64__
namespace {

using Wide [[gnu::vector_size(64)]] = unsigned long long;

/// Reads all of it, as fast as one thread can.
[[gnu::target("avx512f")]] unsigned long long read_wide(std::span<const std::int8_t> bytes) {
    const auto* words = reinterpret_cast<const Wide*>(bytes.data());
    Wide a{}, b{}, c{}, d{};
    for (std::size_t i = 0; i + 4 <= bytes.size() / sizeof(Wide); i += 4) {
        a += words[i];
        b += words[i + 1];
        c += words[i + 2];
        d += words[i + 3];
    }
    const Wide sum = a + b + c + d;
    return sum[0] + sum[1] + sum[2] + sum[3] + sum[4] + sum[5] + sum[6] + sum[7];
}

bool has_avx512() { return __builtin_cpu_supports("avx512f"); }

}  // namespace

[[gnu::target("avx512f")]] void multiply_bytes(std::size_t count) {
    asm volatile(
        "1:\n"
        "vpdpbusd %%zmm0, %%zmm1, %%zmm4\nvpdpbusd %%zmm0, %%zmm1, %%zmm5\n"
        "vpdpbusd %%zmm0, %%zmm1, %%zmm6\nvpdpbusd %%zmm0, %%zmm1, %%zmm7\n"
        "vpdpbusd %%zmm0, %%zmm1, %%zmm8\nvpdpbusd %%zmm0, %%zmm1, %%zmm9\n"
        "vpdpbusd %%zmm0, %%zmm1, %%zmm10\nvpdpbusd %%zmm0, %%zmm1, %%zmm11\n"
        "vpdpbusd %%zmm0, %%zmm1, %%zmm12\nvpdpbusd %%zmm0, %%zmm1, %%zmm13\n"
        "vpdpbusd %%zmm0, %%zmm1, %%zmm14\nvpdpbusd %%zmm0, %%zmm1, %%zmm15\n"
        "dec %0\njnz 1b\n"
        : "+r"(count)
        :
        : "xmm0", "xmm1", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
          "xmm13", "xmm14", "xmm15", "cc");
}

bool has_vnni() { return __builtin_cpu_supports("avx512vnni"); }

namespace {

[[gnu::target("avx512f")]] void multiply_8_doubles(std::size_t count) {
    asm volatile(
        "1:\n"
        "vfmadd231pd %%zmm0, %%zmm1, %%zmm4\nvfmadd231pd %%zmm0, %%zmm1, %%zmm5\n"
        "vfmadd231pd %%zmm0, %%zmm1, %%zmm6\nvfmadd231pd %%zmm0, %%zmm1, %%zmm7\n"
        "vfmadd231pd %%zmm0, %%zmm1, %%zmm8\nvfmadd231pd %%zmm0, %%zmm1, %%zmm9\n"
        "vfmadd231pd %%zmm0, %%zmm1, %%zmm10\nvfmadd231pd %%zmm0, %%zmm1, %%zmm11\n"
        "vfmadd231pd %%zmm0, %%zmm1, %%zmm12\nvfmadd231pd %%zmm0, %%zmm1, %%zmm13\n"
        "vfmadd231pd %%zmm0, %%zmm1, %%zmm14\nvfmadd231pd %%zmm0, %%zmm1, %%zmm15\n"
        "dec %0\njnz 1b\n"
        : "+r"(count)
        :
        : "xmm0", "xmm1", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
          "xmm13", "xmm14", "xmm15", "cc");
}

[[gnu::target("avx2,fma")]] void multiply_4_doubles(std::size_t count) {
    asm volatile(
        "1:\n"
        "vfmadd231pd %%ymm0, %%ymm1, %%ymm4\nvfmadd231pd %%ymm0, %%ymm1, %%ymm5\n"
        "vfmadd231pd %%ymm0, %%ymm1, %%ymm6\nvfmadd231pd %%ymm0, %%ymm1, %%ymm7\n"
        "vfmadd231pd %%ymm0, %%ymm1, %%ymm8\nvfmadd231pd %%ymm0, %%ymm1, %%ymm9\n"
        "vfmadd231pd %%ymm0, %%ymm1, %%ymm10\nvfmadd231pd %%ymm0, %%ymm1, %%ymm11\n"
        "vfmadd231pd %%ymm0, %%ymm1, %%ymm12\nvfmadd231pd %%ymm0, %%ymm1, %%ymm13\n"
        "vfmadd231pd %%ymm0, %%ymm1, %%ymm14\nvfmadd231pd %%ymm0, %%ymm1, %%ymm15\n"
        "dec %0\njnz 1b\n"
        : "+r"(count)
        :
        : "xmm0", "xmm1", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
          "xmm13", "xmm14", "xmm15", "cc");
}

}  // namespace

void multiply_doubles(std::size_t lanes, std::size_t count) {
    if (lanes == 8) {
        multiply_8_doubles(count);
    } else {
        multiply_4_doubles(count);
    }
}
#else
namespace {

unsigned long long read_wide(std::span<const std::int8_t>) { return 0; }
bool has_avx512() { return false; }

}  // namespace

void multiply_bytes(std::size_t) {}
bool has_vnni() { return false; }
void multiply_doubles(std::size_t, std::size_t) {}
#endif

// The sum is given to nobody, in a way that the compiler cannot see.
void read_all(std::span<const std::int8_t> bytes) {
    unsigned long long sum = 0;
    if (has_avx512()) {
        sum = read_wide(bytes);
    } else {
        const auto* words = reinterpret_cast<const unsigned long long*>(bytes.data());
        for (std::size_t i = 0; i < bytes.size() / sizeof *words; ++i) sum += words[i];
    }
    asm volatile("" : : "r"(sum));
}

}  // namespace slip::bench

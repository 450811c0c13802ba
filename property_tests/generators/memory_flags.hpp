// What the system says of this process's memory, for tests of memory that holds secrets.
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

#include "property_tests/generators/sanitizers.hpp"

namespace slip::testing {

inline const bool own_pages = !under_address_sanitizer();  // else its allocator has them

/// The VmFlags of the mapping that holds `address`, with a space around each.
inline std::string flags_at(const void* address) {
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    std::ifstream maps("/proc/self/smaps");
    bool here = false;
    for (std::string line; std::getline(maps, line);) {
        unsigned long begin = 0;
        unsigned long end = 0;
        if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
            here = begin <= wanted && wanted < end;
        }
        if (here && line.rfind("VmFlags:", 0) == 0) return line + " ";
    }
    return "";
}

inline bool has(const std::string& flags, const char* flag) {
    return flags.find(std::string(" ") + flag + " ") != std::string::npos;
}

/// Whether the system lets this process lock some memory.
inline bool may_lock() {
    void* const page =
        ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const bool locked = ::mlock(page, 4096) == 0;
    ::munmap(page, 4096);
    return locked;
}

}  // namespace slip::testing

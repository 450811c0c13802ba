// Drives the one target of a program with libFuzzer. `TARGET --seeds DIR` writes the target's seeds
// and ends.
#include <sanitizer/allocator_interface.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "property_tests/fuzz/fuzz.hpp"

namespace {

const slip::fuzz::Target& target() { return *slip::fuzz::targets().front(); }

std::size_t largest_allocation = 0;

/// Called by the sanitizer's allocator, before LLVMFuzzerTestOneInput as well as inside it.
void note_allocation(const volatile void*, std::size_t size) {
    largest_allocation = std::max(largest_allocation, size);
}
void note_release(const volatile void*) {}

void write_seeds(const std::filesystem::path& folder) {
    std::filesystem::create_directories(folder);
    std::size_t number = 0;
    for (const slip::fuzz::Bytes& seed : target().seeds()) {
        std::ofstream file(folder / ("seed-" + std::to_string(number++)), std::ios::binary);
        file.write(reinterpret_cast<const char*>(seed.data()),
                   static_cast<std::streamsize>(seed.size()));
        slip::fuzz::expect(file.good(), "a seed could not be written");
    }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
    if (*count == 3 && std::string_view((*arguments)[1]) == "--seeds") {
        write_seeds((*arguments)[2]);
        std::exit(0);
    }
    __sanitizer_install_malloc_and_free_hooks(note_allocation, note_release);
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    largest_allocation = 0;
    target().check(std::as_bytes(std::span(data, size)));
    slip::fuzz::expect(largest_allocation <= target().allowance + 32 * size,
                       "an allocation is larger than the input justifies");
    return 0;
}

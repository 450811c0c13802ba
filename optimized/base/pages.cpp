#include "optimized/base/pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace slip::base {
namespace {

/// For all pages that have bytes of the data.
void advise(const void* data, std::size_t size, int advice) noexcept {
    const std::size_t before = reinterpret_cast<std::uintptr_t>(data) % page_size();
    auto* const first = static_cast<std::byte*>(const_cast<void*>(data)) - before;
    ::madvise(first, size + before, advice);
}

}  // namespace

std::size_t page_size() {
    static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    return size;
}

void provide_for_writing(void* pages, std::size_t size) noexcept {
    advise(pages, size, MADV_POPULATE_WRITE);
}

void provide_for_reading(const void* data, std::size_t size) noexcept {
    advise(data, size, MADV_POPULATE_READ);
}

void prefer_huge_pages(const void* data, std::size_t size) noexcept {
    advise(data, size, MADV_HUGEPAGE);
}

}  // namespace slip::base

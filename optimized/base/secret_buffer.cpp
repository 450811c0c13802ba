#include "optimized/base/secret_buffer.hpp"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <limits>
#include <new>

namespace slip::base {
namespace {

std::atomic<bool> lock_refused = false;

}  // namespace

void wipe(void* data, std::size_t size) noexcept {
    if (size != 0) explicit_bzero(data, size);  // an empty span may have no address
}

void keep_in_memory(void* pages, std::size_t size) noexcept {
    if (::mlock(pages, size) != 0) lock_refused = true;
}

bool secrets_may_be_swapped() noexcept { return lock_refused; }

#if defined(SLIP_ADDRESS_SANITIZER)

// AddressSanitizer sees what is written behind an array that operator new has made.
constexpr std::align_val_t alignment{64};

[[gnu::weak]] void* allocate_secret(std::size_t size, Children /*children*/) {
    void* const data = ::operator new(size, alignment);
    ::memset(data, 0, size);
    return data;
}

[[gnu::weak]] void free_secret(void* data, std::size_t /*size*/) noexcept {
    ::operator delete(data, alignment);
}

#else

static std::size_t whole_pages(std::size_t size) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    if (size > std::numeric_limits<std::size_t>::max() - page) throw std::bad_alloc();
    return (size + page - 1) / page * page;
}

/// A page shared with anything else could be neither left out of core dumps nor locked alone.
/// Neighbours with the same flags become one mapping, so masks by the thousand are few mappings:
/// but not once they have pages, so locking comes last.
[[gnu::weak]] void* allocate_secret(std::size_t size, Children children) {
    const std::size_t bytes = whole_pages(size);
    void* const pages =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    if (::madvise(pages, bytes, MADV_DONTDUMP) != 0) {
        ::munmap(pages, bytes);
        throw std::bad_alloc();
    }
    if (children == Children::forget) ::madvise(pages, bytes, MADV_WIPEONFORK);
    keep_in_memory(pages, bytes);
    return pages;
}

[[gnu::weak]] void free_secret(void* data, std::size_t size) noexcept {
    ::munmap(data, whole_pages(size));
}

#endif

}  // namespace slip::base

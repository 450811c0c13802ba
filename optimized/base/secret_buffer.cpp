#include "optimized/base/secret_buffer.hpp"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include <atomic>
#include <limits>
#include <mutex>
#include <new>

#include "optimized/base/pages.hpp"
#include "optimized/base/secret_pages.hpp"

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

namespace {

/// The pages of small secrets, of both kinds. Never destroyed: secrets may outlive it.
class SharedMappings {
public:
    static SharedMappings& instance() {
        static auto* const all = new SharedMappings;
        return *all;
    }
    void* take(std::size_t pages, Children children) {
        const std::lock_guard lock(mutex_);
        return (children == Children::forget ? forget_ : remember_).take(pages);
    }
    void give_back(void* run, std::size_t pages) noexcept {
        const std::lock_guard lock(mutex_);
        (forget_.has(run) ? forget_ : remember_).give_back(run, pages);
    }

private:
    /// A child of a process in which another thread held the mutex would wait for it for ever.
    SharedMappings() {
        ::pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                         [] { instance().begin_child(); });
    }
    void begin_child() noexcept {
        remember_.forget_locks();
        forget_.forget_locks();
        mutex_.unlock();
    }

    std::mutex mutex_;
    SecretPages remember_{Children::remember};
    SecretPages forget_{Children::forget};
};

std::size_t pages_of(std::size_t size) {
    if (size > std::numeric_limits<std::size_t>::max() - page_size()) throw std::bad_alloc();
    return (size + page_size() - 1) / page_size();
}

}  // namespace

/// A page shared with anything else could be neither left out of core dumps nor locked alone. Small
/// secrets share mappings.
[[gnu::weak]] void* allocate_secret(std::size_t size, Children children) {
    const std::size_t pages = pages_of(size);
    if (pages <= SecretPages::most_pages) {
        return SharedMappings::instance().take(pages, children);
    }
    void* const own = map_secret(pages * page_size(), children);
    keep_in_memory(own, pages * page_size());
    provide_for_writing(own, pages * page_size());
    return own;
}

[[gnu::weak]] void free_secret(void* data, std::size_t size) noexcept {
    const std::size_t pages = (size + page_size() - 1) / page_size();
    if (pages <= SecretPages::most_pages) {
        SharedMappings::instance().give_back(data, pages);
    } else {
        unmap_secret(data, pages * page_size());
    }
}

#endif

}  // namespace slip::base

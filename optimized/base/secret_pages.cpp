#include "optimized/base/secret_pages.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "optimized/base/pages.hpp"

namespace slip::base {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t first_chunk_bytes = std::size_t{256} << 10;

/// The mapping is larger by a huge page before what lies outside the aligned part goes back.
std::byte* map_aligned(std::size_t size) {
    const std::size_t larger = size + huge_page;
    void* const mapped =
        ::mmap(nullptr, larger, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    auto* const begin = static_cast<std::byte*>(mapped);
    const std::size_t before =
        (huge_page - reinterpret_cast<std::uintptr_t>(begin) % huge_page) % huge_page;
    if (before > 0) ::munmap(begin, before);
    if (before < huge_page) ::munmap(begin + before + size, huge_page - before);
    ::madvise(begin + before, size, MADV_HUGEPAGE);
    return begin + before;
}

std::byte* map(std::size_t size) {
    if (size >= huge_page) return map_aligned(size);
    void* const mapped =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    return static_cast<std::byte*>(mapped);
}

}  // namespace

void* map_secret(std::size_t size, Children children) {
    void* const pages = map(size);
    if (::madvise(pages, size, MADV_DONTDUMP) != 0) {
        ::munmap(pages, size);
        throw std::bad_alloc();
    }
    if (children == Children::forget) ::madvise(pages, size, MADV_WIPEONFORK);
    return pages;
}

void unmap_secret(void* pages, std::size_t size) noexcept { ::munmap(pages, size); }

void* SecretPages::take(std::size_t pages) {
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
        if (void* const run = take_from(chunks_[next_], pages)) return run;
        next_ = (next_ + 1) % chunks_.size();
    }
    next_ = add_chunk();
    return take_from(chunks_[next_], pages);
}

/// The first free run of `pages` pages, or null.
void* SecretPages::take_from(Chunk& chunk, std::size_t pages) {
    if (chunk.longest < pages) return nullptr;
    const auto first = std::search_n(chunk.taken.begin(), chunk.taken.end(),
                                     static_cast<std::ptrdiff_t>(pages), 0);
    if (first == chunk.taken.end()) {
        chunk.longest = pages - 1;
        return nullptr;
    }
    void* const run =
        chunk.start + static_cast<std::size_t>(first - chunk.taken.begin()) * page_size();
    if (!chunk.locked) keep_in_memory(run, pages * page_size());
    std::fill_n(first, pages, 1);
    if (chunk.pages_taken == 0) chunks_free_ -= 1;
    chunk.pages_taken += pages;
    pages_taken_ += pages;
    return run;
}

/// Twice as large as the one before, up to a huge page: few secrets take few pages, and masks few
/// system calls. Where the system refuses to lock a whole chunk, it may still lock some runs.
std::size_t SecretPages::add_chunk() {
    const std::size_t doublings = std::min<std::size_t>(chunks_.size(), 3);
    const std::size_t size = std::max(first_chunk_bytes << doublings, most_pages * page_size());
    const std::size_t pages = size / page_size();
    Chunk chunk{nullptr, std::vector<std::uint8_t>(pages), 0, pages, false};
    chunks_.reserve(chunks_.size() + 1);
    chunk.start = static_cast<std::byte*>(map_secret(size, children_));
    chunk.locked = ::mlock(chunk.start, size) == 0;
    if (!chunk.locked) provide_for_writing(chunk.start, size);
    pages_ += pages;
    chunks_free_ += 1;
    const auto place = std::ranges::upper_bound(chunks_, chunk.start, {}, &Chunk::start);
    return static_cast<std::size_t>(chunks_.insert(place, std::move(chunk)) - chunks_.begin());
}

/// The index of the last chunk that begins at `run` or before it, and 1 more.
std::size_t SecretPages::index_of(const void* run) const {
    const auto* const address = static_cast<const std::byte*>(run);
    return static_cast<std::size_t>(std::ranges::upper_bound(chunks_, address, {}, &Chunk::start) -
                                    chunks_.begin());
}

bool SecretPages::has(void* run) const {
    const std::size_t behind = index_of(run);
    if (behind == 0) return false;
    const Chunk& chunk = chunks_[behind - 1];
    return static_cast<std::byte*>(run) < chunk.start + chunk.taken.size() * page_size();
}

void SecretPages::give_back(void* run, std::size_t pages) noexcept {
    Chunk& chunk = chunks_[index_of(run) - 1];
    const auto first =
        (static_cast<std::byte*>(run) - chunk.start) / static_cast<std::ptrdiff_t>(page_size());
    std::fill_n(chunk.taken.begin() + first, pages, 0);
    chunk.longest = chunk.taken.size();
    chunk.pages_taken -= pages;
    pages_taken_ -= pages;
    if (!chunk.locked) ::munlock(run, pages * page_size());
    if (chunk.pages_taken == 0) chunks_free_ += 1;
    if (chunks_free_ > 0) drop_free_chunks();
}

/// An eighth of what is taken may be free besides a chunk that goes: a stock gives pages up and
/// takes them again for masks of another size.
bool SecretPages::too_many_free(const Chunk& chunk) const {
    return pages_ - chunk.taken.size() - pages_taken_ > pages_taken_ / 8;
}

/// The last one stays: whoever takes and gives back one run after the other would otherwise map and
/// unmap each time.
void SecretPages::drop_free_chunks() noexcept {
    for (std::size_t i = chunks_.size(); i-- > 0 && chunks_free_ > 0 && chunks_.size() > 1;) {
        Chunk& chunk = chunks_[i];
        if (chunk.pages_taken > 0 || !too_many_free(chunk)) continue;
        unmap_secret(chunk.start, chunk.taken.size() * page_size());
        pages_ -= chunk.taken.size();
        chunks_free_ -= 1;
        chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(i));
        next_ = 0;
    }
}

void SecretPages::forget_locks() noexcept {
    for (Chunk& chunk : chunks_) chunk.locked = false;
}

}  // namespace slip::base

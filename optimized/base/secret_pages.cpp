#include "optimized/base/secret_pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>

namespace slip::base {

/// What a chunk has at most, unless one run is larger.
constexpr std::size_t chunk_pages = 256;

std::size_t page_size() {
    static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    return size;
}

void* map_secret(std::size_t size, Children children) {
    void* const pages =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    if (::madvise(pages, size, MADV_DONTDUMP) != 0) {
        ::munmap(pages, size);
        throw std::bad_alloc();
    }
    if (children == Children::forget) ::madvise(pages, size, MADV_WIPEONFORK);
    return pages;
}

void unmap_secret(void* pages, std::size_t size) noexcept { ::munmap(pages, size); }

std::size_t SecretRuns::run_size() const { return pages_ * page_size(); }

void* SecretRuns::take() {
    if (free_.empty()) add_chunk();
    void* const run = free_.back();
    Chunk& chunk = chunk_of(run)->second;
    if (!chunk.locked) keep_in_memory(run, run_size());
    free_.pop_back();
    chunk.taken += 1;
    return run;
}

/// Twice as large as the one before: a key alone takes a page, and masks few system calls. Where
/// the system refuses to lock a whole chunk, it may still lock some runs.
void SecretRuns::add_chunk() {
    const std::size_t most = std::max<std::size_t>(chunk_pages / pages_, 1);
    const std::size_t runs =
        std::min(most, std::size_t{1} << std::min<std::size_t>(chunks_.size(), 20));
    std::size_t all = runs;
    for (const auto& [start, chunk] : chunks_) all += chunk.runs;
    free_.reserve(all);
    auto* const start = static_cast<std::byte*>(map_secret(runs * run_size(), children_));
    try {
        chunks_.emplace(start, Chunk{runs, 0, ::mlock(start, runs * run_size()) == 0});
    } catch (...) {
        unmap_secret(start, runs * run_size());
        throw;
    }
    for (std::size_t i = 0; i < runs; ++i) free_.push_back(start + i * run_size());
}

bool SecretRuns::has(void* run) const {
    const auto next = chunks_.upper_bound(run);
    if (next == chunks_.begin()) return false;
    const auto& [start, chunk] = *std::prev(next);
    return run < static_cast<std::byte*>(start) + chunk.runs * run_size();
}

/// A chunk goes when nothing of it is taken, but for the last one: whoever takes and gives back one
/// run after the other would otherwise map and unmap each time.
void SecretRuns::give_back(void* run) noexcept {
    const auto chunk = chunk_of(run);
    chunk->second.taken -= 1;
    if (!chunk->second.locked) ::munlock(run, run_size());
    free_.push_back(run);
    if (chunk->second.taken == 0 && free_.size() > chunk->second.runs) drop(chunk);
}

void SecretRuns::forget_locks() noexcept {
    for (auto& [start, chunk] : chunks_) chunk.locked = false;
}

void SecretRuns::drop(Chunks::iterator chunk) noexcept {
    void* const start = chunk->first;
    const std::size_t size = chunk->second.runs * run_size();
    void* const end = static_cast<std::byte*>(start) + size;
    std::erase_if(free_, [&](void* run) { return start <= run && run < end; });
    unmap_secret(start, size);
    chunks_.erase(chunk);
}

}  // namespace slip::base

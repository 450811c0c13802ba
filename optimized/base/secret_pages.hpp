// Whole pages for secrets, taken from the system many at a time: a stock of masks has tens of
// thousands of buffers, and four system calls for each would take longer than making the masks.
// Clause THREAT-3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "optimized/base/secret_buffer.hpp"

namespace slip::base {

/// Runs of pages, of one kind. A stock that gives up masks of one size and makes others gets the
/// same pages again: to have new ones from the system takes longer than making masks. Not for
/// several threads at once.
class SecretPages {
public:
    static constexpr std::size_t most_pages = 64;  // of a run

    explicit SecretPages(Children children) : children_(children) {}

    /// A run of `pages` pages, zeros. Throws std::bad_alloc. Requires: 1 <= pages <= most_pages.
    void* take(std::size_t pages);
    bool has(void* run) const;
    /// Requires: `run` came from take() with as many pages, and is zeros again.
    void give_back(void* run, std::size_t pages) noexcept;
    /// In a forked child, which inherits no locks: runs are locked as they are taken from here on.
    void forget_locks() noexcept;

private:
    /// A mapping that is divided into runs.
    struct Chunk {
        std::byte* start;
        std::vector<std::uint8_t> taken;  // for each page, 1 or 0
        std::size_t pages_taken;
        std::size_t longest;  // no longer run of it is free
        bool locked;          // as a whole; otherwise each run is while it is taken
    };
    using Chunks = std::vector<Chunk>;  // in the order of their addresses

    void* take_from(Chunk& chunk, std::size_t pages);
    std::size_t add_chunk();
    std::size_t index_of(const void* run) const;
    bool too_many_free(const Chunk& chunk) const;
    void drop_free_chunks() noexcept;

    Children children_;
    Chunks chunks_;
    std::size_t next_ = 0;  // the chunk that a run was taken from last
    std::size_t pages_ = 0, pages_taken_ = 0, chunks_free_ = 0;
};

/// `size` bytes of whole pages, zeros, in no core dump, and for children as is said; not locked.
/// What has the size of huge pages lies on them, where the system has them. Throws std::bad_alloc.
void* map_secret(std::size_t size, Children children);
void unmap_secret(void* pages, std::size_t size) noexcept;

}  // namespace slip::base

// Whole pages for secrets, taken from the system many at a time: a stock of masks has tens of
// thousands of buffers, and four system calls for each would take longer than making the masks.
// Clause THREAT-3.
#pragma once

#include <cstddef>
#include <iterator>
#include <map>
#include <vector>

#include "optimized/base/secret_buffer.hpp"

namespace slip::base {

/// Runs of so many pages each, of one kind. Not for several threads at once.
class SecretRuns {
public:
    SecretRuns(std::size_t pages, Children children) : pages_(pages), children_(children) {}

    /// A run of zeros. Throws std::bad_alloc.
    void* take();
    bool has(void* run) const;
    /// Requires: `run` came from take(), and is zeros again.
    void give_back(void* run) noexcept;
    /// In a forked child, which inherits no locks: runs are locked as they are taken from here on.
    void forget_locks() noexcept;

private:
    /// A mapping that is divided into runs.
    struct Chunk {
        std::size_t runs = 0;
        std::size_t taken = 0;
        bool locked = false;  // as a whole; otherwise each run is while it is taken
    };
    using Chunks = std::map<void*, Chunk>;

    std::size_t run_size() const;
    void add_chunk();
    Chunks::iterator chunk_of(void* run) { return std::prev(chunks_.upper_bound(run)); }
    void drop(Chunks::iterator chunk) noexcept;

    std::size_t pages_;
    Children children_;
    Chunks chunks_;
    std::vector<void*> free_;  // has room for every run, so that give_back() allocates nothing
};

std::size_t page_size();

/// `size` bytes of whole pages, zeros, in no core dump, and for children as is said; not locked.
/// Throws std::bad_alloc.
void* map_secret(std::size_t size, Children children);
void unmap_secret(void* pages, std::size_t size) noexcept;

}  // namespace slip::base

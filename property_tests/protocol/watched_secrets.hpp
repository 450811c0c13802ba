// Tracks every SecretBuffer of the program and checks it when it is freed; FreedMemory searches
// plain memory when it is freed. Replaces operator new and the memory of SecretBuffers, so what
// includes it is compiled together, as one source of a program.
#pragma once

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <span>
#include <vector>

#include "property_tests/generators/forks.hpp"
#include "property_tests/generators/protocol_fixture.hpp"

namespace slip::testing {

inline std::atomic<int> secrets_alive{0};
inline std::atomic<int> secrets_freed{0};
inline std::atomic<int> freed_unwiped{0};

inline std::mutex blocks_mutex;
inline std::map<void*, std::size_t>& blocks() {
    static std::map<void*, std::size_t> blocks;
    return blocks;
}

/// The number of SecretBuffers that contain `residues`. Requires: no other thread writes to one.
inline int copies_of(const Residues& residues) {
    const std::lock_guard lock(blocks_mutex);
    int copies = 0;
    for (const auto& [memory, size] : blocks()) {
        const auto* first = static_cast<const std::uint8_t*>(memory);
        const auto* last = first + size;
        copies += std::search(first, last, residues.begin(), residues.end()) != last;
    }
    return copies;
}

/// While an object lives, plain memory is searched for some residues when it is freed.
class FreedMemory {
public:
    explicit FreedMemory(std::span<const std::uint8_t> residues) {
        const auto bytes = std::as_bytes(residues);
        wanted_.assign(bytes.begin(), bytes.end());
        holding_ = 0;
        active_ = this;
    }
    FreedMemory(const FreedMemory&) = delete;
    FreedMemory& operator=(const FreedMemory&) = delete;
    ~FreedMemory() { active_ = nullptr; }

    /// The number of blocks that held the residues when they were freed.
    static int holding() { return holding_; }
    static void look_at(const void* memory) {
        const FreedMemory* const watch = active_;
        if (watch == nullptr) return;
        const auto* first = static_cast<const std::byte*>(memory);
        const auto* last = first + ::malloc_usable_size(const_cast<void*>(memory));
        holding_ += std::search(first, last, watch->wanted_.begin(), watch->wanted_.end()) != last;
    }

private:
    inline static std::atomic<const FreedMemory*> active_{nullptr};
    inline static std::atomic<int> holding_{0};
    std::vector<std::byte> wanted_;
};

}  // namespace slip::testing

void* operator new(std::size_t size) {
    void* memory = std::malloc(size == 0 ? 1 : size);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}
/// NTL allocates with this operator and frees with the one below.
void* operator new(std::size_t size, const std::nothrow_t& /*nothrow*/) noexcept {
    return std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* memory) noexcept {
    if (memory != nullptr) slip::testing::FreedMemory::look_at(memory);
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

void* slip::base::allocate_secret(std::size_t size, Children /*children*/) {
    constexpr std::size_t boundary = 64;
    void* memory = std::aligned_alloc(boundary, (size + boundary - 1) / boundary * boundary);
    if (memory == nullptr) throw std::bad_alloc();
    std::memset(memory, 0, ::malloc_usable_size(memory));
    ++slip::testing::secrets_alive;
    const std::lock_guard lock(slip::testing::blocks_mutex);
    slip::testing::blocks()[memory] = size;
    return memory;
}
void slip::base::free_secret(void* memory, std::size_t /*size*/) noexcept {
    const auto* bytes = static_cast<const unsigned char*>(memory);
    slip::testing::freed_unwiped += !std::all_of(bytes, bytes + ::malloc_usable_size(memory),
                                                 [](unsigned char byte) { return byte == 0; });
    ++slip::testing::secrets_freed;
    --slip::testing::secrets_alive;
    {
        const std::lock_guard lock(slip::testing::blocks_mutex);
        slip::testing::blocks().erase(memory);
    }
    std::free(memory);
}

namespace slip::testing {

/// Every later call throws a typed error and sends nothing, and the secrets are wiped (SESS-4).
inline void expect_dead(protocol::CharlieSession& charlie, const RecordingTransport& transport,
                        const Model& model, int secrets_before) {
    const std::size_t sent = transport.sent.size();
    const Columns columns = some_columns(model);
    Products products(model.matrices[0].rows());
    EXPECT_FALSE(charlie.alive());
    EXPECT_THROW(charlie.send(0, columns.view()), ProtocolError);
    EXPECT_THROW(charlie.receive({products.data(), 1, products.size()}), ProtocolError);
    EXPECT_THROW(charlie.close(), ProtocolError);
    EXPECT_THROW(charlie.wait_until_ready(1), ProtocolError);
    EXPECT_EQ(transport.sent.size(), sent);
    EXPECT_EQ(secrets_alive, secrets_before);
    EXPECT_EQ(freed_unwiped, 0);
    EXPECT_EQ(guarded_pages(), 0) << "the key";
}

}  // namespace slip::testing

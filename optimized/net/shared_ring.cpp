#include "optimized/net/shared_ring.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <ctime>

#include "slip/error.hpp"

namespace slip::net {
namespace {

/// Not FUTEX_PRIVATE: the peer is another process.
long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* limit) {
    return ::syscall(SYS_futex, &word, operation, value, limit, nullptr, 0);
}

}  // namespace

std::size_t Ring::available() {
    const std::uint32_t peer = peer_position().load(std::memory_order_acquire);
    // The reader is behind the writer by at most the size, and nobody goes back.
    const std::uint32_t before = end_ == End::writer ? own_ - peer_ : peer_ - own_;
    const std::uint32_t now = end_ == End::writer ? own_ - peer : peer - own_;
    const std::uint32_t moved = peer - peer_;
    const std::uint32_t most =
        end_ == End::writer ? before : static_cast<std::uint32_t>(data_.size()) - before;
    if (moved > most) throw ProtocolError("the peer's position in shared memory is impossible");
    peer_ = peer;
    return end_ == End::writer ? data_.size() - now : now;
}

void Ring::advance(std::size_t bytes) {
    own_ += static_cast<std::uint32_t>(bytes);
    own_position().store(own_, std::memory_order_release);
    // Either this sees that the peer sleeps, or the peer, who says so before he looks, sees this.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    auto& sleeps = end_ == End::writer ? positions_.reader_sleeps : positions_.writer_sleeps;
    if (sleeps.load(std::memory_order_relaxed) != 0) {
        sleeps.store(0, std::memory_order_relaxed);
        futex(own_position(), FUTEX_WAKE, INT_MAX, nullptr);
    }
}

std::size_t Ring::write(std::span<const std::byte> bytes) {
    const std::size_t size = std::min(available(), bytes.size());
    if (size == 0) return 0;
    const std::size_t begin = own_ % data_.size();
    const std::size_t first = std::min(size, data_.size() - begin);
    std::memcpy(data_.data() + begin, bytes.data(), first);
    std::memcpy(data_.data(), bytes.data() + first, size - first);
    advance(size);
    return size;
}

std::size_t Ring::read(std::span<std::byte> bytes) {
    const std::size_t size = std::min(available(), bytes.size());
    if (size == 0) return 0;
    const std::size_t begin = own_ % data_.size();
    const std::size_t first = std::min(size, data_.size() - begin);
    std::memcpy(bytes.data(), data_.data() + begin, first);
    std::memcpy(bytes.data() + first, data_.data(), size - first);
    advance(size);
    return size;
}

void Ring::sleep(std::chrono::milliseconds limit) {
    auto& sleeps = end_ == End::writer ? positions_.writer_sleeps : positions_.reader_sleeps;
    sleeps.store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const timespec wait{limit.count() / 1000, limit.count() % 1000 * 1'000'000};
    futex(peer_position(), FUTEX_WAIT, peer_, &wait);
    sleeps.store(0, std::memory_order_relaxed);
}

void Ring::wake() noexcept { futex(peer_position(), FUTEX_WAKE, INT_MAX, nullptr); }

}  // namespace slip::net

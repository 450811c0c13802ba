// Buffers for messages of changing size on the online path.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace slip::base {

/// An array whose memory grows to the largest use so far and never shrinks: after the first
/// messages nothing is allocated and nothing is filled in twice. Move-only, so that no copy of a
/// message is made by mistake; what was moved from is empty.
template <class T>
class GrowingBuffer {
public:
    GrowingBuffer() = default;
    GrowingBuffer(GrowingBuffer&& other) noexcept
        : memory_(std::move(other.memory_)), size_(std::exchange(other.size_, 0)) {}
    GrowingBuffer& operator=(GrowingBuffer&& other) noexcept {
        memory_ = std::move(other.memory_);
        size_ = std::exchange(other.size_, 0);
        return *this;
    }

    /// From now on `size` elements, of no particular value.
    std::span<T> resize(std::size_t size) {
        if (memory_.size() < size) memory_.resize(size);
        size_ = size;
        return span();
    }
    std::span<T> span() { return std::span(memory_).first(size_); }
    std::span<const T> span() const { return std::span(memory_).first(size_); }

private:
    std::vector<T> memory_;
    std::size_t size_ = 0;
};

}  // namespace slip::base

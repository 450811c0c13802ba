// Memory for what products stream from: the processor's prefetchers end with a page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace slip::base {

/// Bytes aligned to 64; large ones lie on huge pages, where the system has them.
class HugeBuffer {
public:
    enum class InDumps { yes, no };  // whether core dumps contain it
    /// Throws std::bad_alloc.
    explicit HugeBuffer(std::size_t size, InDumps in_dumps = InDumps::yes);

    std::int8_t* data() { return data_.get(); }
    const std::int8_t* data() const { return data_.get(); }
    /// The same memory as elements of one byte.
    template <class Byte>
    Byte* as() {
        static_assert(sizeof(Byte) == 1);
        return reinterpret_cast<Byte*>(data());
    }
    template <class Byte>
    const Byte* as() const {
        static_assert(sizeof(Byte) == 1);
        return reinterpret_cast<const Byte*>(data());
    }
    std::size_t size() const { return size_; }
    std::span<const std::int8_t> span() const { return {data_.get(), size_}; }

private:
    struct Free {
        std::size_t left_out;  // bytes that core dumps do not contain; 0 at first
        void operator()(std::int8_t* data) const;
    };
    std::size_t size_;
    std::unique_ptr<std::int8_t, Free> data_;
};

}  // namespace slip::base

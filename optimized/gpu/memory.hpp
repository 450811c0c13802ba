// Memory that belongs to a scope: the GPU's, and the processor's that the GPU copies from and to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "optimized/base/secret_buffer.hpp"
#include "optimized/gpu/driver.hpp"

namespace slip::gpu {

/// Bytes of the GPU's memory, unspecified at first. Made and destroyed in the driver's context.
class DeviceMemory {
public:
    explicit DeviceMemory(const Driver& driver, std::size_t bytes = 0) : driver_(driver) {
        at_least(bytes);
    }
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;
    ~DeviceMemory() { free(); }

    /// Their contents are lost if there are fewer so far. Throws DriverError.
    void at_least(std::size_t bytes) {
        if (bytes <= bytes_) return;
        free();
        driver_.allocate(&address_, bytes);
        bytes_ = bytes;
    }
    Address address() const { return address_; }

private:
    void free() noexcept {
        if (bytes_ > 0) driver_.free.ignoring_failure(address_);
        bytes_ = 0;
    }

    const Driver& driver_;
    Address address_ = 0;
    std::size_t bytes_ = 0;
};

/// Bytes of the processor's memory that stay where they are, likewise.
class PinnedMemory {
public:
    explicit PinnedMemory(const Driver& driver) : driver_(driver) {}
    PinnedMemory(const PinnedMemory&) = delete;
    PinnedMemory& operator=(const PinnedMemory&) = delete;
    ~PinnedMemory() { free(); }

    /// The first `bytes` bytes; their contents are lost if the buffer has to grow. Throws
    /// DriverError.
    std::span<std::uint8_t> first(std::size_t bytes) {
        if (bytes > bytes_) {
            free();
            driver_.allocate_host(&memory_, bytes);
            bytes_ = bytes;
        }
        return {static_cast<std::uint8_t*>(memory_), bytes};
    }

private:
    void free() noexcept {
        if (bytes_ == 0) return;
        base::wipe(memory_, bytes_);  // SESS-6: a product may have failed
        driver_.free_host.ignoring_failure(memory_);
        bytes_ = 0;
    }

    const Driver& driver_;
    void* memory_ = nullptr;
    std::size_t bytes_ = 0;
};

}  // namespace slip::gpu

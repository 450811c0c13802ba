// Memory for secrets: keys, masks, cancellations, integrity vectors, activations. Clauses MASK-6
// and THREAT-3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

namespace slip::base {

/// Overwrites `size` bytes with zeros in a way that the compiler may not remove.
void wipe(void* data, std::size_t size) noexcept;

/// What a forked child sees of memory: what was there, or, where the system can do it, zeros.
enum class Children { remember, forget };

/// Zeroed pages for `size` > 0 bytes, shared with no other object. They are in no core dump and, as
/// far as the system allows, locked in memory. Throws std::bad_alloc. Both functions are weak, so
/// that a test can replace them.
void* allocate_secret(std::size_t size, Children children = Children::remember);
/// Requires: `data` was wiped.
void free_secret(void* data, std::size_t size) noexcept;

/// Locks whole pages in memory; if the system refuses (RLIMIT_MEMLOCK), they may be swapped out.
void keep_in_memory(void* pages, std::size_t size) noexcept;
/// Whether the system has refused to lock pages in this process.
bool secrets_may_be_swapped() noexcept;

/// A fixed-size array of trivially copyable elements, aligned to 64 bytes, zero at the start, wiped
/// when it is destroyed, released or moved from. Move-only, so that no second copy can linger. It
/// takes whole pages: for what lives long or is large.
template <class T>
class SecretBuffer {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    SecretBuffer() = default;
    explicit SecretBuffer(std::size_t size, Children children = Children::remember) : size_(size) {
        if (size == 0) return;
        data_ = static_cast<T*>(allocate_secret(size * sizeof(T), children));
    }
    SecretBuffer(SecretBuffer&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    SecretBuffer& operator=(SecretBuffer&& other) noexcept {
        if (this != &other) {
            release();
            data_ = std::exchange(other.data_, nullptr);
            size_ = std::exchange(other.size_, 0);
        }
        return *this;
    }
    SecretBuffer(const SecretBuffer&) = delete;
    SecretBuffer& operator=(const SecretBuffer&) = delete;
    ~SecretBuffer() { release(); }

    /// Wipes and frees; the buffer is empty afterwards.
    void release() noexcept {
        if (data_ == nullptr) return;
        wipe(data_, size_ * sizeof(T));
        free_secret(data_, size_ * sizeof(T));
        data_ = nullptr;
        size_ = 0;
    }

    /// Overwrites the elements with zeros; the memory stays.
    void clear() noexcept { wipe(data_, size_ * sizeof(T)); }

    T* data() { return data_; }
    const T* data() const { return data_; }
    std::size_t size() const { return size_; }
    // NOLINTBEGIN(clang-analyzer-core.uninitialized.UndefReturn): i < size(), so data_ is not null
    T& operator[](std::size_t i) { return data_[i]; }
    const T& operator[](std::size_t i) const { return data_[i]; }
    // NOLINTEND(clang-analyzer-core.uninitialized.UndefReturn)
    std::span<T> span() { return {data_, size_}; }
    std::span<const T> span() const { return {data_, size_}; }

private:
    T* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace slip::base

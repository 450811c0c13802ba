// The system calls that change what is on a disk, or put it in order: one object, so that a test
// can let any of them fail, or end the process before or after it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <utility>

namespace slip::base {

/// Each as the system call of its name: -1 and errno on failure.
class Disk {
public:
    Disk() = default;
    Disk(const Disk&) = delete;
    Disk& operator=(const Disk&) = delete;
    virtual ~Disk() = default;

    /// The disk itself. Safe to share by threads.
    static Disk& of_system();

    virtual int open(const std::filesystem::path& path, int flags, mode_t mode);
    virtual ssize_t read(int descriptor, std::span<std::byte> bytes, std::size_t offset);
    virtual ssize_t write(int descriptor, std::span<const std::byte> bytes, std::size_t offset);
    virtual int truncate(int descriptor, std::size_t size);
    virtual int sync(int descriptor);
    /// An exclusive lock of the open file, which the system gives up with the last descriptor of
    /// it. Without `wait` it fails with EWOULDBLOCK if somebody else holds it.
    virtual int lock(int descriptor, bool wait);
    virtual int rename(const std::filesystem::path& from, const std::filesystem::path& to);
    virtual int unlink(const std::filesystem::path& path);
    virtual int make_folder(const std::filesystem::path& path, mode_t mode);
    virtual int remove_folder(const std::filesystem::path& path);
};

/// A descriptor that closes itself.
class OpenFile {
public:
    OpenFile() = default;
    explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
    OpenFile(OpenFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    OpenFile& operator=(OpenFile&& other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }
    ~OpenFile();

    bool is_open() const { return descriptor_ >= 0; }
    int descriptor() const { return descriptor_; }

private:
    int descriptor_ = -1;
};

/// All of the bytes, in as many calls as it takes; false, with errno, if the disk refuses or the
/// file ends before.
bool read_all(Disk& disk, const OpenFile& file, std::span<std::byte> bytes, std::size_t offset = 0);
bool write_all(Disk& disk, const OpenFile& file, std::span<const std::byte> bytes,
               std::size_t offset = 0);

/// Makes the names inside `folder` durable; false, with errno, if the disk refuses.
bool sync_folder(Disk& disk, const std::filesystem::path& folder);

/// `path`: `what`: the reason in errno. Throws BadInput.
[[noreturn]] void refuse_with_reason(const std::filesystem::path& path, const char* what);

}  // namespace slip::base

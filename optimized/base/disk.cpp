#include "optimized/base/disk.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <system_error>

#include "optimized/base/error.hpp"

namespace slip::base {
namespace {

/// A call that a signal has interrupted is made again.
template <class Call>
auto uninterrupted(const Call& call) {
    auto result = call();
    while (result < 0 && errno == EINTR) result = call();
    return result;
}

/// Calls `transfer` for what is left of `bytes` until nothing is. 0 bytes are the file's end.
template <class Byte, class Transfer>
bool transfer_all(std::span<Byte> bytes, std::size_t offset, const Transfer& transfer) {
    while (!bytes.empty()) {
        const ssize_t moved = transfer(bytes, offset);
        if (moved == 0) errno = EIO;
        if (moved <= 0) return false;
        bytes = bytes.subspan(static_cast<std::size_t>(moved));
        offset += static_cast<std::size_t>(moved);
    }
    return true;
}

}  // namespace

Disk& Disk::of_system() {
    static Disk disk;
    return disk;
}

int Disk::open(const std::filesystem::path& path, int flags, mode_t mode) {
    return uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, mode); });
}

ssize_t Disk::read(int descriptor, std::span<std::byte> bytes, std::size_t offset) {
    return uninterrupted([&] {
        return ::pread(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    });
}

ssize_t Disk::write(int descriptor, std::span<const std::byte> bytes, std::size_t offset) {
    return uninterrupted([&] {
        return ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    });
}

int Disk::truncate(int descriptor, std::size_t size) {
    return uninterrupted([&] { return ::ftruncate(descriptor, static_cast<off_t>(size)); });
}

int Disk::sync(int descriptor) {
    return uninterrupted([&] { return ::fsync(descriptor); });
}

int Disk::lock(int descriptor, bool wait) {
    return uninterrupted([&] { return ::flock(descriptor, LOCK_EX | (wait ? 0 : LOCK_NB)); });
}

int Disk::rename(const std::filesystem::path& from, const std::filesystem::path& to) {
    return ::rename(from.c_str(), to.c_str());
}

int Disk::unlink(const std::filesystem::path& path) { return ::unlink(path.c_str()); }

int Disk::make_folder(const std::filesystem::path& path, mode_t mode) {
    return ::mkdir(path.c_str(), mode);
}

int Disk::remove_folder(const std::filesystem::path& path) { return ::rmdir(path.c_str()); }

OpenFile::~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

bool read_all(Disk& disk, const OpenFile& file, std::span<std::byte> bytes, std::size_t offset) {
    return transfer_all(bytes, offset, [&](std::span<std::byte> rest, std::size_t at) {
        return disk.read(file.descriptor(), rest, at);
    });
}

bool write_all(Disk& disk, const OpenFile& file, std::span<const std::byte> bytes,
               std::size_t offset) {
    return transfer_all(bytes, offset, [&](std::span<const std::byte> rest, std::size_t at) {
        return disk.write(file.descriptor(), rest, at);
    });
}

bool sync_folder(Disk& disk, const std::filesystem::path& folder) {
    const OpenFile opened(disk.open(folder, O_RDONLY | O_DIRECTORY, 0));
    return opened.is_open() && disk.sync(opened.descriptor()) == 0;
}

void refuse_with_reason(const std::filesystem::path& path, const char* what) {
    const std::string reason = std::generic_category().message(errno);
    throw BadInput(path.string() + ": " + what + ": " + reason);
}

}  // namespace slip::base

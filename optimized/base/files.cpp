#include "optimized/base/files.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <system_error>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/base/parameters.hpp"

namespace slip::base {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& what) {
    throw BadInput(path.string() + ": " + what);
}

/// Reads errno first, so that nothing on the way can change it.
[[noreturn]] void fail_with_reason(const std::filesystem::path& path, const std::string& what) {
    const std::string reason = std::generic_category().message(errno);
    fail(path, what + ": " + reason);
}

/// An open file that closes itself.
class Descriptor {
public:
    explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    int get() const { return descriptor_; }

private:
    int descriptor_;
};

/// Opens for reading and returns the size. The type is checked on the open file too, so that nobody
/// can swap it in between; O_NONBLOCK keeps a FIFO from hanging the program before it is refused.
std::size_t open_regular(const std::filesystem::path& path, const Descriptor& file) {
    if (file.get() < 0) fail_with_reason(path, "cannot be opened");
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) fail_with_reason(path, "cannot be examined");
    if (!S_ISREG(status.st_mode)) fail(path, "is not a regular file");
    return static_cast<std::size_t>(status.st_size);
}

/// What is no regular file is not opened: a device may do something about it.
int open_for_reading(const std::filesystem::path& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
        fail(path, "is not a regular file");
    }
    return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

void read_all(int descriptor, std::span<std::byte> bytes, const std::filesystem::path& path) {
    while (!bytes.empty()) {
        const ssize_t got = ::read(descriptor, bytes.data(), bytes.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) fail_with_reason(path, "cannot be read");
        if (got == 0) fail(path, "became shorter while it was read");
        bytes = bytes.subspan(static_cast<std::size_t>(got));
    }
}

/// THREAT-2, of an open file.
void require_private(const std::filesystem::path& path, int descriptor) {
    struct stat status {};
    if (::fstat(descriptor, &status) != 0) fail_with_reason(path, "cannot be examined");
    if (status.st_uid != ::geteuid()) {
        fail(path, "belongs to another user: expected a secret of the user who runs this");
    }
    if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        fail(path, "other users may use this secret: expected mode 0600");
    }
}

void write_all(int descriptor, std::span<const std::byte> bytes,
               const std::filesystem::path& path) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) fail_with_reason(path, "cannot be written");
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
}

std::filesystem::path parent_of(const std::filesystem::path& path) {
    return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

/// How the names of `target`'s files under construction begin.
std::string staging_stem(const std::filesystem::path& target) {
    std::string stem = ".";
    return stem.append(target.filename().string()).append(".partial-");
}

/// Waits for the lock that tells a living process's file from a leftover. False if the file had
/// lost its name before: then somebody else has removed it. Where there are no locks, nobody
/// removes.
bool lock_if_named(int descriptor) {
    struct stat status {};
    ::flock(descriptor, LOCK_EX);
    return ::fstat(descriptor, &status) == 0 && status.st_nlink > 0;
}

/// Whether the open file is a regular file of this user that no living process holds. Then it is
/// locked, and still has its name.
bool is_leftover(int descriptor) {
    struct stat status {};
    return ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 && ::fstat(descriptor, &status) == 0 &&
           S_ISREG(status.st_mode) && status.st_uid == ::geteuid() && status.st_nlink > 0;
}

/// Removes what processes that were killed have left of StagedFiles for `target`.
void remove_leftovers(const std::filesystem::path& target) {
    const std::string stem = staging_stem(target);
    std::error_code error;
    std::filesystem::directory_iterator entry(parent_of(target), error);
    for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
        const std::filesystem::path& path = entry->path();
        if (!path.filename().string().starts_with(stem)) continue;
        const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
        if (file.get() >= 0 && is_leftover(file.get())) ::unlink(path.c_str());
    }
}

}  // namespace

void flush_folder(const std::filesystem::path& path) {
    const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.get() >= 0) ::fsync(folder.get());
}

MappedFile::MappedFile(const std::filesystem::path& path) : path_(path) {
    const Descriptor file(open_for_reading(path));
    size_ = open_regular(path, file);
    if (size_ == 0) fail(path, "is empty");
    void* address = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.get(), 0);
    if (address == MAP_FAILED) fail_with_reason(path, "cannot be mapped");
    data_ = static_cast<const std::byte*>(address);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
}

MappedFile::~MappedFile() {
    if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::forget_pages() const {
    // Advice only; the map is read-only, so nothing can be lost.
    if (data_ != nullptr) ::madvise(const_cast<std::byte*>(data_), size_, MADV_DONTNEED);
}

std::string read_file(const std::filesystem::path& path, std::size_t limit) {
    const Descriptor file(open_for_reading(path));
    const std::size_t size = open_regular(path, file);
    if (size > limit) fail(path, "is longer than " + std::to_string(limit) + " bytes");
    std::string contents(size, '\0');
    read_all(file.get(), std::as_writable_bytes(std::span(contents)), path);
    return contents;
}

void read_secret_file(const std::filesystem::path& path, std::span<std::uint8_t> bytes) {
    const Descriptor file(open_for_reading(path));
    const std::size_t size = open_regular(path, file);
    require_private(path, file.get());
    if (size != bytes.size()) {
        fail(path, "has " + std::to_string(size) + " bytes: expected a secret of exactly " +
                       std::to_string(bytes.size()));
    }
    read_all(file.get(), std::as_writable_bytes(bytes), path);
}

NewFile::NewFile(std::filesystem::path path, mode_t mode) : path_(std::move(path)) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (descriptor_ < 0) fail_with_reason(path_, "cannot be created");
}

NewFile::~NewFile() {
    if (descriptor_ < 0) return;
    ::close(descriptor_);
    ::unlink(path_.c_str());
}

void NewFile::append(std::span<const std::byte> bytes) {
    require(descriptor_ >= 0, "NewFile::append: the file is finished");
    write_all(descriptor_, bytes, path_);
}

void NewFile::finish() {
    require(descriptor_ >= 0, "NewFile::finish: the file is finished");
    if (::fsync(descriptor_) != 0) fail_with_reason(path_, "cannot be flushed to disk");
    ::close(std::exchange(descriptor_, -1));
}

StagedFile::StagedFile(std::filesystem::path target, Existing existing, mode_t mode)
    : target_(std::move(target)), existing_(existing) {
    if (!target_.has_filename()) fail(target_, "is not the name of a file");
    require_place();
    remove_leftovers(target_);
    if (create_without_name(mode)) return;
    take_free_name([&](const char* name) { return create_as(name, mode); });
}

StagedFile::~StagedFile() {
    if (descriptor_ < 0) return;
    ::close(descriptor_);
    if (!staging_.empty()) ::unlink(staging_.c_str());
}

/// Sets staging_ to the first name that `make` can make.
template <class Make>
void StagedFile::take_free_name(const Make& make) {
    constexpr unsigned most = 1U << 16;
    const std::string stem = (parent_of(target_) / staging_stem(target_)).string();
    for (unsigned number = 0; number < most; ++number) {
        const std::string name = stem + std::to_string(number);
        if (make(name.c_str())) {
            staging_ = name;
            return;
        }
        if (errno != EEXIST) break;
    }
    fail_with_reason(target_, "cannot be created");
}

/// Through which commit() gives the file its name.
std::string StagedFile::link_to_descriptor() const {
    return "/proc/self/fd/" + std::to_string(descriptor_);
}

bool StagedFile::create_without_name(mode_t mode) {
    const std::filesystem::path folder = parent_of(target_);
    descriptor_ = ::open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);
    if (descriptor_ < 0) return false;
    if (::access(link_to_descriptor().c_str(), F_OK) == 0) return true;
    ::close(std::exchange(descriptor_, -1));  // there is no /proc
    return false;
}

bool StagedFile::create_as(const char* name, mode_t mode) {
    descriptor_ = ::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (descriptor_ < 0) return false;
    // Until the lock is taken, another process may hold this for a leftover.
    if (lock_if_named(descriptor_)) return true;
    ::close(std::exchange(descriptor_, -1));
    errno = EEXIST;
    return false;
}

bool StagedFile::link_as(const char* name) {
    return ::linkat(AT_FDCWD, link_to_descriptor().c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
}

void StagedFile::require_place() const {
    std::error_code error;
    if (!std::filesystem::exists(std::filesystem::symlink_status(target_, error))) return;
    if (existing_ == Existing::refuse) fail(target_, "exists already");
    const auto status = std::filesystem::status(target_, error);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
        fail(target_, "is not a regular file");
    }
}

void StagedFile::append(std::span<const std::byte> bytes) {
    require(descriptor_ >= 0, "StagedFile::append: the file is in its place");
    write_all(descriptor_, bytes, target_);
}

void StagedFile::commit() {
    require(descriptor_ >= 0, "StagedFile::commit: called twice");
    if (::fsync(descriptor_) != 0) fail_with_reason(target_, "cannot be flushed to disk");
    if (staging_.empty()) {
        ::flock(descriptor_, LOCK_EX);  // as soon as it has a name, it must not pass for a leftover
        take_free_name([&](const char* name) { return link_as(name); });
    }
    require_place();
    if (::rename(staging_.c_str(), target_.c_str()) != 0) {
        fail_with_reason(target_, "cannot be put in place");
    }
    ::close(std::exchange(descriptor_, -1));
    flush_folder(parent_of(target_));
}

FixedFile::FixedFile(std::filesystem::path path, std::size_t size, mode_t mode)
    : path_(std::move(path)), size_(size) {
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode);
    if (descriptor_ < 0) fail_with_reason(path_, "cannot be created");
    try {
        struct stat status {};
        if (::fstat(descriptor_, &status) != 0) fail_with_reason(path_, "cannot be examined");
        const auto present = static_cast<std::size_t>(status.st_size);
        if (!S_ISREG(status.st_mode) || (present != 0 && present != size)) {
            fail(path_, "is not the file of " + std::to_string(size) + " bytes that is expected");
        }
        // All the space now, so that a full disk is noticed before the long work.
        if (present == 0 && size > 0) {
            errno = ::posix_fallocate(descriptor_, 0, static_cast<off_t>(size));
            if (errno != 0) fail_with_reason(path_, "cannot be written");
        }
    } catch (...) {
        ::close(descriptor_);
        throw;
    }
}

FixedFile::~FixedFile() { ::close(descriptor_); }

void FixedFile::write_at(std::size_t offset, std::span<const std::byte> bytes) {
    require(offset <= size_ && bytes.size() <= size_ - offset, "FixedFile: beyond its size");
    while (!bytes.empty()) {
        const ssize_t written =
            ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) fail_with_reason(path_, "cannot be written");
        offset += static_cast<std::size_t>(written);
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
}

void FixedFile::read_at(std::size_t offset, std::span<std::byte> bytes) const {
    require(offset <= size_ && bytes.size() <= size_ - offset, "FixedFile: beyond its size");
    while (!bytes.empty()) {
        const ssize_t got =
            ::pread(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) fail_with_reason(path_, "cannot be read");
        if (got == 0) fail(path_, "became shorter while it was read");
        offset += static_cast<std::size_t>(got);
        bytes = bytes.subspan(static_cast<std::size_t>(got));
    }
}

void FixedFile::flush() {
    if (::fdatasync(descriptor_) != 0) fail_with_reason(path_, "cannot be flushed to disk");
}

FileLock::FileLock(const std::filesystem::path& path, Others others) {
    descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
                         parameters::secret_file_mode);
    if (descriptor_ < 0) fail_with_reason(path, "cannot be opened");
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
    alone_ = false;
    if (others == Others::shared && ::flock(descriptor_, LOCK_SH) == 0) return;
    ::close(descriptor_);
    fail(path, "another process is at work here");
}

void FileLock::share() {
    ::flock(descriptor_, LOCK_SH);
    alone_ = false;
}

FileLock::~FileLock() { ::close(descriptor_); }

void write_file(const std::filesystem::path& path, std::string_view contents, mode_t mode) {
    NewFile file(path, mode);
    file.append(std::as_bytes(std::span(contents)));
    file.finish();
}

std::filesystem::path name_of_new_folder(const std::filesystem::path& path) {
    // "OUT/" and "OUT" name the same folder; without this the first has an empty last name.
    const std::filesystem::path name = path.has_filename() ? path : path.parent_path();
    if (name.empty()) throw BadInput("the name of the folder to make is empty");
    std::error_code error;
    if (std::filesystem::exists(std::filesystem::symlink_status(name, error))) {
        fail(name, "exists already");
    }
    return name;
}

void put_in_place(const std::filesystem::path& made, const std::filesystem::path& target) {
    flush_folder(made);
    if (::rename(made.c_str(), target.c_str()) != 0) {
        fail_with_reason(target, "cannot be put in place");
    }
    flush_folder(parent_of(target));
}

StagedFolder::StagedFolder(const std::filesystem::path& target)
    : target_(name_of_new_folder(target)) {
    std::string name = (parent_of(target_) / ".").string();
    name.append(target_.filename().string()).append(".partial-XXXXXX");
    if (::mkdtemp(name.data()) == nullptr) fail_with_reason(target_, "cannot be created");
    staging_ = name;
}

StagedFolder::~StagedFolder() {
    if (committed_) return;
    std::error_code ignored;
    std::filesystem::remove_all(staging_, ignored);
}

void StagedFolder::commit() {
    require(!committed_, "StagedFolder::commit: called twice");
    put_in_place(staging_, target_);
    committed_ = true;
}

}  // namespace slip::base

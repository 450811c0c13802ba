// Files: read-only maps, whole-file reads, and writes that leave either the old state or the new.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace slip::base {

/// A whole file mapped read-only; pages are shared between processes and never copied per session.
class MappedFile {
public:
    MappedFile() = default;
    /// Throws BadInput, naming the file, if it cannot be opened, is no regular file, or is empty.
    explicit MappedFile(const std::filesystem::path& path);
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    ~MappedFile();

    std::span<const std::byte> bytes() const { return {data_, size_}; }
    /// Gives the pages back to the kernel, so that a large file that is read once, piece by piece,
    /// does not count as this process's memory. What is touched again is read again.
    void forget_pages() const;
    const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
    const std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

/// The permissions of what anybody may read: David's half, certificates.
inline constexpr mode_t public_file_mode = 0644;

/// The file's contents; BadInput, naming it, if it cannot be read or is longer than `limit` bytes.
std::string read_file(const std::filesystem::path& path, std::size_t limit = std::size_t{1} << 28);

/// Reads a secret of `bytes.size()` bytes. Throws BadInput, naming the file, unless it is a regular
/// file of exactly this size, belongs to the user of the process, and nobody else may use it
/// (THREAT-2).
void read_secret_file(const std::filesystem::path& path, std::span<std::uint8_t> bytes);

/// A new file that is written in pieces. It has the permissions `mode` (less the process's umask)
/// from its first byte on (THREAT-2). Destroyed without finish(), it removes the file again.
class NewFile {
public:
    /// BadInput, naming the file, if it exists already or cannot be created.
    NewFile(std::filesystem::path path, mode_t mode);
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;
    ~NewFile();

    /// BadInput, naming the file and the reason, if the disk refuses.
    void append(std::span<const std::byte> bytes);
    /// Flushes to disk; the file stays.
    void finish();

private:
    std::filesystem::path path_;
    int descriptor_ = -1;
};

/// A file under construction: append(), then commit() puts it in the place of `target`. Destroyed
/// without commit(), it goes, and what stood at `target` is as it was. Where the file system can
/// hold a file without a name (O_TMPFILE), nothing stays either when the process is killed.
/// Elsewhere it is `.NAME.partial-N` beside the target, and what a process that is gone has left
/// there goes with the next StagedFile for the same target.
class StagedFile {
public:
    /// What a file that stands at the target already means.
    enum class Existing { refuse, replace };

    /// `mode`: the file's permissions, less the process's umask; its owner's alone if not given
    /// (THREAT-2). BadInput, naming `target`, if it cannot be created, exists and is to be refused,
    /// or is no regular file.
    StagedFile(std::filesystem::path target, Existing existing, mode_t mode = 0600);
    StagedFile(const StagedFile&) = delete;
    StagedFile& operator=(const StagedFile&) = delete;
    ~StagedFile();

    /// BadInput, naming `target` and the reason, if the disk refuses.
    void append(std::span<const std::byte> bytes);
    /// Flushes to disk and renames. BadInput, naming `target`, if the disk refuses, or if something
    /// has taken the place of one that must not exist.
    void commit();

private:
    void require_place() const;
    bool create_without_name(mode_t mode);
    bool create_as(const char* name, mode_t mode);
    bool link_as(const char* name);
    template <class Make>
    void take_free_name(const Make& make);
    std::string link_to_descriptor() const;

    std::filesystem::path target_;
    Existing existing_;
    std::string staging_;  // empty while the file has no name
    int descriptor_ = -1;
};

/// A file of a fixed size that is written in any order, over several runs of a program.
class FixedFile {
public:
    /// Creates the file, with its disk space, or opens one that has this size already. BadInput,
    /// naming the file, if it has another size or the disk refuses.
    FixedFile(std::filesystem::path path, std::size_t size, mode_t mode);
    FixedFile(const FixedFile&) = delete;
    FixedFile& operator=(const FixedFile&) = delete;
    ~FixedFile();

    /// BadInput, naming the file and the reason, if the disk refuses.
    void write_at(std::size_t offset, std::span<const std::byte> bytes);
    /// BadInput, naming the file and the reason, if the disk refuses.
    void read_at(std::size_t offset, std::span<std::byte> bytes) const;
    /// What was written is on the disk when this returns.
    void flush();

private:
    std::filesystem::path path_;
    std::size_t size_ = 0;
    int descriptor_ = -1;
};

/// Makes the names inside a folder durable. A file system that cannot do this is left alone: the
/// contents are flushed file by file in any case.
void flush_folder(const std::filesystem::path& path);

/// The name of a folder to make: `path` without a slash at its end. Throws BadInput if it is empty
/// or exists already.
std::filesystem::path name_of_new_folder(const std::filesystem::path& path);
/// Renames the folder `made` to `target`; its contents and both names are durable then. Throws
/// BadInput if `target` is a file or a folder with something in it.
void put_in_place(const std::filesystem::path& made, const std::filesystem::path& target);

/// A lock that one process at a time holds, until it ends, or several that share it; the file is
/// made if need be.
class FileLock {
public:
    enum class Others {
        refused,  ///< BadInput, naming the file, if another process holds the lock
        shared    ///< alone where nobody holds it; else it waits for who is alone, and shares it
    };
    explicit FileLock(const std::filesystem::path& path, Others others = Others::refused);
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;
    ~FileLock();

    bool is_alone() const { return alone_; }
    /// From now on others may share it.
    void share();

private:
    int descriptor_ = -1;
    bool alone_ = true;
};

/// Writes a new file with permissions `mode` from its first byte on (THREAT-2), flushed to disk.
/// On failure nothing stays and BadInput names the file and the reason.
void write_file(const std::filesystem::path& path, std::string_view contents, mode_t mode);

/// A folder under construction beside `target`: fill path(), then commit() renames it to
/// `target`. Destroyed without commit(), it removes everything, so nothing half-written stays. Only
/// the owner can enter the folder (0700).
class StagedFolder {
public:
    /// BadInput if `target` exists already or its parent cannot be written.
    explicit StagedFolder(const std::filesystem::path& target);
    StagedFolder(const StagedFolder&) = delete;
    StagedFolder& operator=(const StagedFolder&) = delete;
    ~StagedFolder();

    const std::filesystem::path& path() const { return staging_; }
    /// BadInput if something has taken the target's place in the meantime.
    void commit();

private:
    std::filesystem::path target_;
    std::filesystem::path staging_;
    bool committed_ = false;
};

}  // namespace slip::base

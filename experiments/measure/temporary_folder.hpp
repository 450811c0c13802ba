// A folder for the files of one measurement or test.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace slip::measure {

/// A new, empty folder; the destructor removes it with its contents.
class TemporaryFolder {
public:
    /// In memory where the system has /dev/shm: the product flushes its files, and a test need not
    /// wait for a disk.
    TemporaryFolder() : TemporaryFolder(in_memory()) {}
    explicit TemporaryFolder(const std::filesystem::path& parent) {
        std::string name = (parent / "slip-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error(name + ": cannot be made");
        path_ = name;
    }
    /// On a disk, where a measurement includes writing files or mapping them.
    static TemporaryFolder on_disk() {
        return TemporaryFolder(std::filesystem::temp_directory_path());
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    const std::filesystem::path& path() const { return path_; }
    std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

    /// Hidden entries count.
    bool empty() const { return std::filesystem::is_empty(path_); }

private:
    static std::filesystem::path in_memory() {
        const std::filesystem::path memory = "/dev/shm";
        return std::filesystem::is_directory(memory) ? memory
                                                     : std::filesystem::temp_directory_path();
    }

    std::filesystem::path path_;
};

}  // namespace slip::measure

// A folder for the files of one measurement.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "optimized/base/error.hpp"

namespace slip::bench {

/// A folder of its own in that of the system's temporary files, empty at first, for as long as
/// this lives.
class TemporaryFolder {
public:
    TemporaryFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "slip-bench-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) throw BadInput(name + ": cannot be made");
        path_ = name;
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

}  // namespace slip::bench

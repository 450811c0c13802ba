// A folder for the files of one test, and the permissions of files.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <stdexcept>

#include "experiments/measure/temporary_folder.hpp"

namespace slip::testing {

using measure::TemporaryFolder;

inline mode_t permissions_of(const std::filesystem::path& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) {
        throw std::runtime_error(path.string() + ": cannot be examined");
    }
    return status.st_mode & 0777;
}

}  // namespace slip::testing

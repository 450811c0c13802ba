#include "optimized/protocol/state_folder.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <span>
#include <string>

#include "optimized/base/error.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/protocol/hex_names.hpp"
#include "optimized/protocol/rejects_on_disk.hpp"

namespace slip::protocol {
namespace {

namespace fs = std::filesystem;
using base::Disk;
using base::OpenFile;
using base::parameters::secret_file_mode;
using base::parameters::secret_folder_mode;

/// `folder` and what is missing above it, durably.
void make_folders(Disk& disk, const fs::path& folder) {
    std::error_code unknown;
    if (folder.empty() || fs::is_directory(folder, unknown)) return;
    make_folders(disk, folder.parent_path());
    const bool made = disk.make_folder(folder, secret_folder_mode) == 0 || errno == EEXIST;
    if (!made || !base::sync_folder(disk, folder.parent_path())) {
        base::refuse_with_reason(folder, "cannot be made");
    }
}

/// A folder with a count of no rejects, under a name that nobody else uses.
bool make_staged(Disk& disk, const fs::path& staged) {
    if (disk.make_folder(staged, secret_folder_mode) != 0) return false;
    const OpenFile file(disk.open(staged / RejectsOnDisk::file_name, O_WRONLY | O_CREAT | O_EXCL,
                                  secret_file_mode));
    const std::string none = RejectsOnDisk::no_rejects();
    return file.is_open() && base::write_all(disk, file, std::as_bytes(std::span(none))) &&
           disk.sync(file.descriptor()) == 0 && base::sync_folder(disk, staged);
}

/// Makes the folder, whole or not at all: one that lacks its count has lost it (INTEG-7). It is no
/// failure if another process was faster.
void make_state_folder(Disk& disk, const fs::path& folder) {
    fs::path staged = folder;
    staged += ".new-" + random_name();
    const bool made = make_staged(disk, staged) && disk.rename(staged, folder) == 0;
    const int reason = errno;
    if (!made) {
        disk.unlink(staged / RejectsOnDisk::file_name);
        disk.remove_folder(staged);
    }
    std::error_code unknown;
    if (made ? !base::sync_folder(disk, folder.parent_path())
             : !fs::is_directory(folder, unknown)) {
        if (!made) errno = reason;
        base::refuse_with_reason(folder, "cannot be made");
    }
}

}  // namespace

fs::path state_folder_of(const fs::path& state, const Digest& digest) {
    return state / hex(std::span(digest).first<name_bytes>());
}

void require_private_folder(const fs::path& folder) {
    struct stat status {};
    if (::lstat(folder.c_str(), &status) != 0) {
        base::refuse_with_reason(folder, "cannot be examined");
    }
    const bool others = (status.st_mode & (S_IRWXG | S_IRWXO)) != 0;
    if (S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() && !others) return;
    throw BadInput(folder.string() +
                   ": holds secrets: expected a folder of this user's alone, mode 0700");
}

fs::path open_state_folder(const fs::path& state, const Digest& digest, Disk& disk) {
    make_folders(disk, fs::absolute(state).lexically_normal());
    const fs::path folder = state_folder_of(state, digest);
    std::error_code unknown;
    if (!fs::exists(fs::symlink_status(folder, unknown))) make_state_folder(disk, folder);
    require_private_folder(folder);
    return folder;
}

}  // namespace slip::protocol

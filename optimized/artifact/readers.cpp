#include "optimized/artifact/readers.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "optimized/artifact/layout.hpp"
#include "slip/error.hpp"

namespace slip::artifact {
namespace {

constexpr std::array secrets{layout::charlie_weights, layout::check_secret, layout::masks,
                             layout::audit};

bool readable(const struct stat& folder, const std::filesystem::path& path) {
    struct stat file {};
    if (::stat(path.c_str(), &file) != 0) return false;
    const bool by_anyone = (folder.st_mode & S_IXOTH) != 0 && (file.st_mode & S_IROTH) != 0;
    const bool by_a_group = (file.st_mode & (S_IRGRP | S_IROTH)) != 0 && file.st_uid != 0;
    return by_anyone || by_a_group;
}

}  // namespace

bool others_may_read(const std::filesystem::path& folder) {
    struct stat entered {};
    if (::stat(folder.c_str(), &entered) != 0) return false;
    if ((entered.st_mode & (S_IXGRP | S_IXOTH)) == 0) return false;
    return std::ranges::any_of(secrets,
                               [&](const char* name) { return readable(entered, folder / name); });
}

void require_owner_alone(const std::filesystem::path& folder) {
    if (!others_may_read(folder)) return;
    throw BadInput(folder.string() +
                   ": other users may read it, and it holds secrets: run 'chmod -R go= " +
                   folder.string() + "'");
}

}  // namespace slip::artifact

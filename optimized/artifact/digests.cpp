#include "optimized/artifact/digests.hpp"

#include <map>
#include <string>

#include "optimized/artifact/layout.hpp"
#include "optimized/base/error.hpp"
#include "optimized/base/files.hpp"

namespace slip::artifact {
namespace {

layout::Sha256 digest_of(const std::filesystem::path& path) {
    if (std::filesystem::is_empty(path)) return layout::sha256({});
    return layout::sha256(base::MappedFile(path).bytes());
}

/// "DIGEST  NAME" and a newline for every file but the list itself, in order of the names.
std::map<std::string, std::string> lines_of(const std::filesystem::path& folder) {
    std::map<std::string, std::string> lines;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (name == layout::digests) continue;
        lines[name] = layout::to_hex(digest_of(entry.path())) + "  " + name + "\n";
    }
    return lines;
}

}  // namespace

void write_digests(const std::filesystem::path& folder, mode_t mode) {
    std::string text;
    for (const auto& [name, line] : lines_of(folder)) text += line;
    base::write_file(folder / layout::digests, text, mode);
}

void require_digests(const std::filesystem::path& folder) {
    const std::filesystem::path list = folder / layout::digests;
    const std::string text = base::read_file(list);
    std::string expected;
    for (const auto& [name, line] : lines_of(folder)) {
        if (text.find(line) == std::string::npos) {
            throw BadInput((folder / name).string() + ": does not have the SHA-256 that " +
                           list.string() + " states");
        }
        expected += line;
    }
    if (text != expected) {
        throw BadInput(list.string() + ": does not list exactly the files beside it");
    }
}

}  // namespace slip::artifact

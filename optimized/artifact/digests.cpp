#include "optimized/artifact/digests.hpp"

#include <map>
#include <string>

#include "optimized/artifact/layout.hpp"
#include "optimized/artifact/sha256.hpp"
#include "optimized/base/error.hpp"
#include "optimized/base/files.hpp"

namespace slip::artifact {
namespace {

constexpr std::size_t digest_digits = 64;

std::string line_of(const std::string& digits, const std::string& name) {
    return digits + "  " + name + "\n";
}

/// "DIGEST  NAME" and a newline for every file but the list itself and `later`, in order of the
/// names.
std::map<std::string, std::string> lines_of(const std::filesystem::path& folder,
                                            std::string_view later = {}) {
    std::map<std::string, std::string> lines;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (name == layout::digests || name == later) continue;
        lines[name] = line_of(to_hex(sha256_of_file(entry.path())), name);
    }
    return lines;
}

/// The line that a list has of this file; if it has none, one that it cannot have.
std::string stated_line(const std::string& list, const std::string& name) {
    std::string none = line_of("no digest", name);
    const std::size_t at = list.find(line_of("", name));
    if (at == std::string::npos || at < digest_digits) return none;
    const std::string digits = list.substr(at - digest_digits, digest_digits);
    return from_hex(digits) ? line_of(digits, name) : none;
}

}  // namespace

void write_digests(const std::filesystem::path& folder, mode_t mode) {
    std::string text;
    for (const auto& [name, line] : lines_of(folder)) text += line;
    base::write_file(folder / layout::digests, text, mode);
}

void require_digests(const std::filesystem::path& folder, std::string_view later) {
    const std::filesystem::path list = folder / layout::digests;
    const std::string text = base::read_file(list);
    auto lines = lines_of(folder, later);
    if (!later.empty()) lines[std::string(later)] = stated_line(text, std::string(later));
    std::string expected;
    for (const auto& [name, line] : lines) {
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

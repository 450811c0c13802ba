#include "programs/slip/support/config_file.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "optimized/base/files.hpp"
#include "optimized/import/utf8.hpp"
#include "slip/error.hpp"

namespace slip::tool {
namespace {

constexpr std::size_t largest_file = std::size_t{1} << 20;
constexpr std::string_view blanks = " \t\r\v\f";

std::string_view trimmed(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
    return text.substr(0, text.find_last_not_of(blanks) + 1);
}

std::string_view without_comment(std::string_view line) {
    for (std::size_t i = 0; i < line.size(); ++i) {
        const bool begins = i == 0 || blanks.find(line[i - 1]) != std::string_view::npos;
        if (line[i] == '#' && begins) return line.substr(0, i);
    }
    return line;
}

void require_text(std::string_view line, const std::string& origin) {
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
    if (importing::utf8_prefix(line) != line.size()) throw BadInput(origin + ": is not UTF-8");
    if (line.find('\0') != std::string_view::npos) throw BadInput(origin + ": holds a NUL");
    if (line.starts_with(byte_order_mark)) {
        throw BadInput(origin + ": begins with a byte order mark");
    }
}

}  // namespace

std::vector<Setting> read_config_file(const std::filesystem::path& path) {
    const std::string text = base::read_file(path, largest_file);
    std::vector<Setting> settings;
    std::string_view rest = text;
    for (std::size_t number = 1; !rest.empty(); ++number) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        const std::string origin = path.string() + ":" + std::to_string(number);
        require_text(rest.substr(0, end), origin);
        const std::string_view line = trimmed(without_comment(rest.substr(0, end)));
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (line.empty()) continue;
        const std::size_t equals = line.find('=');
        if (equals == std::string_view::npos || equals == 0) {
            throw BadInput(origin + ": '" + std::string(line) + "': expected NAME = VALUE");
        }
        settings.push_back({std::string(trimmed(line.substr(0, equals))),
                            std::string(trimmed(line.substr(equals + 1))), origin});
    }
    return settings;
}

}  // namespace slip::tool

#include "text.hpp"

#include <charconv>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace training {

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream bytes;
    if (!file || !(bytes << file.rdbuf()))
        throw std::runtime_error(path + ": cannot read, or empty");
    return bytes.str();
}

void write_file_atomically(const std::string& path, const std::string& bytes) {
    const std::string temporary = path + ".tmp";
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file) throw std::runtime_error(temporary + ": cannot write");
    if (std::rename(temporary.c_str(), path.c_str()) != 0) {
        throw std::runtime_error(path + ": cannot replace with " + temporary);
    }
}

std::vector<std::vector<int64_t>> read_token_lines(const std::string& path, int64_t vocabulary) {
    std::vector<std::vector<int64_t>> lines(1);
    const std::string text = read_file(path);
    const char* const end = text.data() + text.size();
    for (const char* p = text.data(); p != end;) {
        if (*p == '\n') lines.emplace_back();
        if (*p == '\n' || *p == ' ') {
            ++p;
            continue;
        }
        int64_t id = 0;
        const auto parsed = std::from_chars(p, end, id);
        if (parsed.ec != std::errc{} || id < 0 || id >= vocabulary) {
            throw std::runtime_error(path + ": expected token ids from 0 to " +
                                     std::to_string(vocabulary - 1));
        }
        lines.back().push_back(id);
        p = parsed.ptr;
    }
    if (lines.back().empty()) lines.pop_back();
    return lines;
}

std::vector<int64_t> read_tokens(const std::string& path, int64_t vocabulary) {
    auto lines = read_token_lines(path, vocabulary);
    if (lines.size() != 1) throw std::runtime_error(path + ": expected one line of token ids");
    return std::move(lines.front());
}

}  // namespace training

// `slip NAME` runs the program slip-NAME that stands beside it, as git does.
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "programs/slip/command.hpp"
#include "slip/error.hpp"

namespace slip::tool {

namespace fs = std::filesystem;

std::optional<std::string> program_beside(const std::string& name) {
    std::error_code unknown;
    const fs::path self = fs::read_symlink("/proc/self/exe", unknown);
    if (unknown) return std::nullopt;
    const fs::path program = self.parent_path() / ("slip-" + name);
    if (!fs::is_regular_file(program, unknown) || access(program.c_str(), X_OK) != 0) {
        return std::nullopt;
    }
    return program.string();
}

int run_beside(const std::string& name, const Arguments& arguments) {
    const std::optional<std::string> found = program_beside(name);
    if (!found) {
        throw BadInput("the program slip-" + name +
                       " is not installed: expected it in the folder of slip itself");
    }
    const std::string& program = *found;
    std::vector<std::string> words{program};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    pointers.reserve(words.size() + 1);
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    execv(program.c_str(), pointers.data());
    throw BadInput("cannot run " + program);
}

}  // namespace slip::tool

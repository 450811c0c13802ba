// `slip NAME` runs the program slip-NAME that stands beside it, as git does.
#include <unistd.h>

#include <filesystem>

#include "optimized/base/error.hpp"
#include "tools/slip/command.hpp"

namespace slip::tool {

int run_beside(const std::string& name, const Arguments& arguments) {
    const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    const std::string program = (here / ("slip-" + name)).string();
    if (access(program.c_str(), X_OK) != 0) {
        throw BadInput("not built yet: there is no program slip-" + name + " in " + here.string());
    }
    std::vector<std::string> words{program};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    execv(program.c_str(), pointers.data());
    throw BadInput("cannot run " + program);
}

}  // namespace slip::tool

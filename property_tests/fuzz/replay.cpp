// replay TARGET FOLDER...: runs a target on its seeds, which it must accept, and on every file of
// the folders.
#include <algorithm>
#include <exception>
#include <filesystem>
#include <stdexcept>

#include "optimized/base/files.hpp"
#include "property_tests/fuzz/fuzz.hpp"

namespace {

const slip::fuzz::Target& target_called(std::string_view name) {
    const auto& all = slip::fuzz::targets();
    const auto found = std::ranges::find(all, name, &slip::fuzz::Target::name);
    if (found == all.end()) throw std::runtime_error("there is no such target");
    return **found;
}

std::size_t replay_folder(const slip::fuzz::Target& target, const std::filesystem::path& folder) {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        std::printf("%s\n", entry.path().c_str());
        std::fflush(stdout);  // the last line names the input that broke the target
        target.check(slip::fuzz::bytes_of(slip::base::read_file(entry.path())));
        ++count;
    }
    return count;
}

}  // namespace

int main(int count, char** arguments) try {
    slip::fuzz::expect(count > 1, "no target is named");
    const slip::fuzz::Target& target = target_called(arguments[1]);
    const auto seeds = target.seeds();
    slip::fuzz::expect(!seeds.empty(), "the target has no seed");
    for (const auto& seed : seeds) slip::fuzz::expect(target.check(seed), "a seed is refused");
    for (int i = 2; i < count; ++i) {
        slip::fuzz::expect(replay_folder(target, arguments[i]) > 0,
                           "a folder of the corpus is empty");
    }
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "broken: %s escapes\n", error.what());
    return 1;
}

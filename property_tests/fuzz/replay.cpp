// Runs a target on its seeds, which it must accept, and on every file of the folders that are
// named.
#include <exception>
#include <filesystem>

#include "optimized/base/files.hpp"
#include "property_tests/fuzz/fuzz.hpp"

namespace {

std::size_t replay_folder(const std::filesystem::path& folder) {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        std::printf("%s\n", entry.path().c_str());
        std::fflush(stdout);  // the last line names the input that broke the target
        slip::fuzz::check(slip::fuzz::bytes_of(slip::base::read_file(entry.path())));
        ++count;
    }
    return count;
}

}  // namespace

int main(int count, char** arguments) try {
    const auto seeds = slip::fuzz::seeds();
    slip::fuzz::expect(!seeds.empty(), "the target has no seed");
    for (const auto& seed : seeds) slip::fuzz::expect(slip::fuzz::check(seed), "a seed is refused");
    for (int i = 1; i < count; ++i) {
        slip::fuzz::expect(replay_folder(arguments[i]) > 0, "a folder of the corpus is empty");
    }
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "broken: %s escapes\n", error.what());
    return 1;
}

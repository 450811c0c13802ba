#include "experiments/bench/charlie_memory.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "experiments/bench/forked_server.hpp"
#include "experiments/bench/machine.hpp"
#include "optimized/base/error.hpp"
#include "property_tests/generators/temporary_directory.hpp"
#include "slip/charlie.hpp"
#include "slip/check_vectors.hpp"
#include "slip/david.hpp"

namespace slip::bench {
namespace {

namespace fs = std::filesystem;

/// MiB of this process: VmRSS, RssAnon and RssFile.
using Resident = std::array<double, 3>;

double mebibytes(const std::string& field) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with(field + ":")) return std::stod(line.substr(field.size() + 1)) / 1024;
    }
    throw BadInput("/proc/self/status: " + field + ": is missing");
}

/// A Charlie's, who has read a prompt and said a token.
Resident resident_of_charlie(const fs::path& folder, const fs::path& state,
                             const ForkedServer& first, const ForkedServer& second) {
    CharlieOptions options;
    options.state = state;
    options.offline = {[&] { return second.connect(); }};
    auto model = open_charlie<LanguageModel>(
        folder, [&] { return first.connect(); }, options);
    std::vector<TokenId> prompt(std::min(context_of_memory, model.max_positions()) - 1);
    for (std::size_t i = 0; i < prompt.size(); ++i) {
        prompt[i] = static_cast<TokenId>((3 + 7 * i) % model.vocabulary_size());
    }
    model.generate(prompt, {.max_tokens = 1});
    return {mebibytes("VmRSS"), mebibytes("RssAnon"), mebibytes("RssFile")};
}

/// A David of the role, who reads his half in his own process.
template <class Party>
std::unique_ptr<ForkedServer> fork_party(ServerRole role, const fs::path& folder,
                                         std::size_t processor) {
    return std::make_unique<ForkedServer>(role, processor, [&] {
        const auto party = std::make_shared<Party>(folder, DavidOptions{.threads = 1});
        return [party](Transport& charlie) { party->serve(charlie); };
    });
}

}  // namespace

Report measure_charlie_memory(const fs::path& artifact) {
    const auto room = testing::TemporaryDirectory::on_disk();
    const fs::path state = room.path() / "state";
    const fs::path alone = room.path() / "alone";  // OUT without David's half
    fs::create_directory(alone);
    fs::create_directory_symlink(fs::absolute(artifact) / "charlie", alone / "charlie");
    in_child([&] {
        prepare_check_vectors(artifact, {.state = state});
        return 0;
    });
    const std::size_t processor = this_processor();
    const auto first = fork_party<David>(ServerRole::david, artifact / "david", processor);
    const auto second =
        fork_party<OfflineDavid>(ServerRole::offline, artifact / "david", processor);
    const auto resident =
        in_child([&] { return resident_of_charlie(alone, state, *first, *second); });
    return {{{"charlie_memory", resident[0]},
             {"charlie_memory_own", resident[1]},
             {"charlie_memory_files", resident[2]}},
            {}};
}

}  // namespace slip::bench

// SLIP as a library: hides a checkpoint from David, serves David's half in a process of its own,
// and generates text as Charlie, over a pair of sockets.
//
//   embed MODEL PROMPT TOKENS
//
// Prints the new token ids, the text, and what it cost. Exit status 0 if the protocol gave what the
// same integer model gives without it, 1 if not or if something failed, 2 for bad input.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <slip/slip.hpp>
#include <string>

namespace {

/// A folder that goes away with all that is in it.
class TemporaryFolder {
public:
    TemporaryFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "embed-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) throw slip::BadInput("cannot make " + name);
        path = name;
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
    std::filesystem::path path;
};

/// `audit` gets the owner's own copy of the integer model, to compare with.
void split(const std::filesystem::path& model, const std::filesystem::path& out,
           const std::filesystem::path& audit) {
    slip::SplitOptions options;
    options.out = out;
    options.audit = audit;
    options.threads = 2;
    for (const std::string& note : slip::split_checkpoint(model, options)) {
        std::cerr << "note: " << note << '\n';
    }
}

/// David's process: his half of the model and his end of the connection, and nothing else.
int serve(const std::filesystem::path& artifact, slip::Transport& charlie) try {
    slip::David(artifact).serve(charlie);
    return 0;
} catch (const slip::Error& error) {
    std::cerr << "David: " << error.what() << '\n';
    return 1;
}

int generate(const std::filesystem::path& artifact, const std::filesystem::path& audit,
             std::unique_ptr<slip::Transport> david, const std::string& text, std::size_t tokens) {
    auto charlie = slip::open_charlie<slip::LanguageModel>(artifact, std::move(david));
    slip::SamplingOptions sampling;
    sampling.max_tokens = tokens;
    const auto prompt = charlie.encode_prompt(text);
    const auto ids = charlie.generate(prompt, sampling);

    std::cout << "ids";
    for (const slip::TokenId id : ids) std::cout << ' ' << id;
    const slip::RunStatistics cost = charlie.statistics();
    std::cout << "\ntext " << charlie.continuation(prompt, ids) << "\nrounds " << cost.rounds
              << ", replies checked " << cost.checks << ", bytes up " << cost.bytes_up
              << ", bytes down " << cost.bytes_down << '\n';

    auto unsplit = slip::open_unsplit<slip::LanguageModel>(artifact, audit);
    const bool equal = unsplit.generate(prompt, sampling) == ids;
    std::cout << (equal ? "equal to" : "DIFFERENT FROM") << " the unsplit model\n";
    return equal ? 0 : 1;
}

int run(const std::string& model, const std::string& prompt, std::size_t tokens) {
    const TemporaryFolder folder;
    const std::filesystem::path artifact = folder.path / "artifact";
    const std::filesystem::path audit = folder.path / "audit";
    split(model, artifact, audit);

    // Before any session: a key that is drawn before a fork is not used after it.
    auto [to_david, to_charlie] = slip::make_transport_pair();
    const pid_t child = ::fork();
    if (child < 0) throw slip::BadInput("cannot start David");
    if (child == 0) {
        to_david.reset();
        ::_exit(serve(artifact / "david", *to_charlie));
    }
    to_charlie.reset();
    const int status = generate(artifact, audit, std::move(to_david), prompt, tokens);
    int of_david = -1;
    ::waitpid(child, &of_david, 0);
    return of_david == 0 ? status : 1;
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc != 4) throw slip::BadInput("usage: embed MODEL PROMPT TOKENS");
    return run(argv[1], argv[2], std::stoul(argv[3]));
} catch (const slip::BadInput& error) {
    std::cerr << "embed: " << error.what() << '\n';
    return 2;
} catch (const std::exception& error) {
    std::cerr << "embed: " << error.what() << '\n';
    return 1;
}

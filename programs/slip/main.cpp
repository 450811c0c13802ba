// slip: splits a model between Charlie and David, serves David's half, and runs Charlie's.
#include <sys/prctl.h>
#include <sys/resource.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iomanip>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "programs/slip/command.hpp"
#include "programs/slip/support/nearest.hpp"
#include "programs/slip/support/options.hpp"
#include "programs/slip/support/printable.hpp"
#include "slip/error.hpp"
#include "slip/version.hpp"

namespace slip::tool {
namespace {

struct Command {
    const char* name;
    int (*run)(const Arguments&);
    const char* summary;
};

/// Commands in the order in which a newcomer needs them. With SLIP_DAVID_ONLY the others are not
/// built, and not listed.
struct Group {
    const char* heading;
    std::vector<Command> commands;
};

const std::vector<Group>& groups() {
    static const std::vector<Group> all{
#ifndef SLIP_DAVID_ONLY
        {"Prepare, on the trusted machine (Charlie):",
         {{"check", check, "look for what is wrong with a checkpoint, an artifact or TLS folders"},
          {"plan", plan, "choose which matrices to split, and at which rank"},
          {"split", split, "split a checkpoint into Charlie's and David's halves"},
          {"keys", keys, "make a deployment's TLS certificates"},
          {"inspect", inspect, "show what an artifact exposes and costs"}}},
#endif
        {"Run, on the untrusted machine (David):",
         {{"david", david, "serve David's half, which hides the weights from him"}}},
#ifndef SLIP_DAVID_ONLY
        {"Run, on the trusted machine (Charlie):",
         {{"generate", generate, "generate text"},
          {"chat", chat, "talk to a model at a terminal"},
          {"serve", serve, "answer clients of OpenAI's interface"},
          {"forward", forward, "compute the logits of a list of tokens"},
          {"eval", eval, "measure perplexity, or answer multiple-choice questions"}}},
#endif
    };
    return all;
}

/// A program of its own, slip-NAME, so that what only experiments need never enters the product.
struct ProgramBeside {
    const char* name;
    const char* summary;
};

constexpr std::array programs_beside{
    ProgramBeside{"conform", "test an implementation of the protocol, or inspect a recording"},
    ProgramBeside{"report", "write what was measured of safety and cost as a page"},
    ProgramBeside{"latency", "print the paper's latency and offload tables"},
    ProgramBeside{"bench", "measure speed"},
    ProgramBeside{"attack", "try attacks on insecure twins and on the product"},
};

#ifdef SLIP_DAVID_ONLY
constexpr const char* example =
    "\nThis program was built for David's machine alone: Charlie's commands are not in it.\n"
    "\nExample:\n"
    "  $ slip david --artifact split/david --tls tls/david --listen 0.0.0.0:7401\n";
#else
constexpr const char* example =
    "\nExample:\n"
    "  $ slip keys --out tls\n"
    "  $ slip split --model models/tinystories-llama --out split\n"
    "  $ slip david --artifact split/david --tls tls/david &\n"
    "  $ slip generate --artifact split --david 127.0.0.1:7401 --tls tls/charlie \\\n"
    "                  --prompt \"Once upon a time\" --max-tokens 100\n";
#endif

void print_summary(const char* name, const char* summary) {
    std::cout << "  " << std::left << std::setw(13) << name << ' ' << summary << '\n';
}

/// Lists what can be run: a program that does not stand beside this one is no command here.
void print_help() {
    std::cout << "usage: slip COMMAND [OPTIONS]\n\n"
                 "Runs a language model whose weights stay secret: Charlie, the trusted machine, "
                 "keeps the secrets;\nDavid, the untrusted one, multiplies.\n";
    for (const Group& group : groups()) {
        std::cout << '\n' << group.heading << '\n';
        for (const Command& command : group.commands) {
            print_summary(command.name, command.summary);
        }
    }
    const char* heading = "\nStudy:\n";
    for (const ProgramBeside& program : programs_beside) {
        if (!program_beside(program.name)) continue;
        std::cout << std::exchange(heading, "");
        print_summary(program.name, program.summary);
    }
    std::cout
        << example
        << "\n'slip help COMMAND' shows a command's options. 'slip --version' shows the version.\n"
           "Exit status: 0 success; 1 failed; 2 usage or bad input.\nNo core file is written, "
           "because it would hold secrets, unless SLIP_CORE_FILES=1 is set.\n";
}

void print_version() {
    std::cout << "slip " << library_version() << " (protocol " << SLIP_PROTOCOL_VERSION
              << ", artifact " << SLIP_ARTIFACT_VERSION << ")\n";
}

/// What can be run here, for who has mistyped it.
std::vector<std::string> known_names() {
    std::vector<std::string> names{"help"};
    for (const Group& group : groups()) {
        for (const Command& command : group.commands) names.emplace_back(command.name);
    }
    for (const ProgramBeside& program : programs_beside) {
        if (program_beside(program.name)) names.emplace_back(program.name);
    }
    return names;
}

int run(const std::string& name, const Arguments& arguments) {
    for (const Group& group : groups()) {
        for (const Command& command : group.commands) {
            if (name == command.name) return command.run(arguments);
        }
    }
    for (const ProgramBeside& program : programs_beside) {
        if (name == program.name) return run_beside(name, arguments);
    }
    throw BadInput("there is no command '" + name + "'" + did_you_mean(name, known_names()) +
                   "; 'slip --help' lists them");
}

/// THREAT-3: a core file would hold prompts, masks and private keys, and whoever runs as the same
/// user could read them from a process that he may trace. Whoever looks for a defect can ask for
/// both. Secrets are locked in memory as far as the user may (SecretBuffer).
void keep_memory_private() {
    rlimit locked{};
    getrlimit(RLIMIT_MEMLOCK, &locked);
    locked.rlim_cur = locked.rlim_max;
    setrlimit(RLIMIT_MEMLOCK, &locked);
    const char* asked = std::getenv("SLIP_CORE_FILES");
    if (asked != nullptr && std::string(asked) == "1") return;
    rlimit cores{};
    getrlimit(RLIMIT_CORE, &cores);
    cores.rlim_cur = 0;
    setrlimit(RLIMIT_CORE, &cores);
    prctl(PR_SET_DUMPABLE, 0);
}

/// CONV-4: what was thrown decides the exit status. Messages never contain secrets (THREAT-3).
int run_and_report(const std::string& name, const Arguments& arguments) {
    const auto report = [&](const std::string& message) {
        std::cerr << "slip " << name << ": error: " << printable(message) << std::endl;
    };
    try {
        const int status = run(name, arguments);
        if (std::cout.flush()) return status;
        report("standard output cannot be written");
    } catch (const BadInput& error) {
        report(located(error.what()));
        return 2;
    } catch (const IntegrityError& error) {
        report(std::string("an answer was rejected and nothing of it was used: ") + error.what());
    } catch (const ProtocolError& error) {
        report(std::string("the session with David failed: ") + error.what());
    } catch (const Error& error) {
        report(std::string("a defect of this program: ") + error.what());
    } catch (const std::exception& error) {
        report(error.what());
    }
    return 1;
}

/// `slip help` and `slip help COMMAND`.
int help(const Arguments& about) {
    if (about.empty()) {
        print_help();
        return 0;
    }
    if (about.size() == 1) return run_and_report(about.front(), {"--help"});
    std::cerr << "slip help: error: expected one command; 'slip --help' lists them\n";
    return 2;
}

}  // namespace
}  // namespace slip::tool

int main(int argc, char** argv) {
    using namespace slip::tool;
    // A file that grows beyond the user's limit is a write that fails: what was begun is removed.
    std::signal(SIGXFSZ, SIG_IGN);
    keep_memory_private();
    const Arguments all(argv + 1, argv + argc);
    const std::string first = all.empty() ? "" : all.front();
    if (first == "--version") {
        print_version();
        return 0;
    }
    if (first == "--help" || first == "-h") {
        print_help();
        return 0;
    }
    if (first.empty() || first.front() == '-') {
        std::cerr << "slip: error: expected a command; 'slip --help' lists them\n";
        return 2;
    }
    const Arguments rest(all.begin() + 1, all.end());
    return first == "help" ? help(rest) : run_and_report(first, rest);
}

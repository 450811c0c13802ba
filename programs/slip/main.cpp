// slip: splits a model between Charlie and David, serves David's half, and runs Charlie's.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <exception>
#include <iomanip>
#include <iostream>
#include <string>
#include <string_view>

#include "programs/slip/command.hpp"
#include "slip/error.hpp"
#include "slip/version.hpp"

namespace slip::tool {
namespace {

struct Command {
    const char* name;
    int (*run)(const Arguments&);
    const char* summary;
};

constexpr std::array commands{
    Command{"split", split, "split a checkpoint into Charlie's and David's halves"},
    Command{"keys", keys, "make a deployment's TLS certificates"},
    Command{"david", david, "serve David's half"},
    Command{"generate", generate, "generate text"},
    Command{"forward", forward, "compute the logits of a list of tokens"},
    Command{"eval", evaluate, "measure perplexity, or answer multiple-choice questions"},
    Command{"inspect", inspect, "show what an artifact exposes and costs"},
};

/// A program of its own, slip-NAME, so that what only experiments need never enters the product.
struct ProgramBeside {
    const char* name;
    const char* summary;
};

constexpr std::array programs_beside{
    ProgramBeside{"conform", "test an implementation of the protocol, or inspect a recording"},
    ProgramBeside{"latency", "print the paper's latency and offload tables"},
    ProgramBeside{"bench", "measure speed"},
};

void print_summary(const char* name, const char* summary) {
    std::cout << "  " << std::left << std::setw(9) << name << ' ' << summary << '\n';
}

/// Lists what can be run: a program that does not stand beside this one is no command here.
void print_help() {
    std::cout << "usage: slip COMMAND [OPTIONS]\n\nCommands:\n";
    for (const Command& command : commands) print_summary(command.name, command.summary);
    for (const ProgramBeside& program : programs_beside) {
        if (program_beside(program.name)) print_summary(program.name, program.summary);
    }
    std::cout << "\n'slip COMMAND --help' shows a command's options. 'slip --version' shows the "
                 "version.\nExit status: 0 success; 1 failed; 2 usage or bad input.\n";
}

void print_version() {
    std::cout << "slip " << library_version() << " (protocol " << SLIP_PROTOCOL_VERSION
              << ", artifact " << SLIP_ARTIFACT_VERSION << ")\n";
}

int run(const std::string& name, const Arguments& arguments) {
    for (const Command& command : commands) {
        if (name == command.name) return command.run(arguments);
    }
    for (const ProgramBeside& program : programs_beside) {
        if (name == program.name) return run_beside(name, arguments);
    }
    throw BadInput("there is no command '" + name + "'; 'slip --help' lists them");
}

/// The length of the UTF-8 sequence at the beginning of `text` that encodes one character other
/// than a control character; 0 if there is none. Overlong forms and surrogates begin no such
/// sequence.
std::size_t printable_sequence(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    if (byte(0) < 0x80) return byte(0) >= 0x20 && byte(0) != 0x7f ? 1 : 0;
    const std::size_t length = byte(0) < 0xe0 ? 2 : byte(0) < 0xf0 ? 3 : 4;
    if (byte(0) > 0xf4 || text.size() < length) return 0;
    std::uint32_t character = byte(0) & (0x7fU >> length);
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0U) != 0x80U) return 0;
        character = character << 6 | (byte(i) & 0x3fU);
    }
    constexpr std::uint32_t least[] = {0, 0, 0xa0, 0x800, 0x10000};
    const bool surrogate = character >= 0xd800 && character < 0xe000;
    return character >= least[length] && character <= 0x10ffff && !surrogate ? length : 0;
}

/// Messages quote files, so they may hold what a terminal would obey: every other byte becomes
/// \xNN.
std::string printable(std::string_view text) {
    constexpr const char* digits = "0123456789abcdef";
    std::string shown;
    while (!text.empty()) {
        const std::size_t length = printable_sequence(text);
        if (length == 0) {
            const auto byte = static_cast<unsigned char>(text[0]);
            shown.append("\\x").append(1, digits[byte >> 4]).append(1, digits[byte & 15U]);
        } else {
            shown.append(text.substr(0, length));
        }
        text.remove_prefix(std::max<std::size_t>(1, length));
    }
    return shown;
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
        report(error.what());
        return 2;
    } catch (const IntegrityError& error) {
        report(std::string("David's reply was rejected and nothing of it was used: ") +
               error.what());
    } catch (const ProtocolError& error) {
        report(std::string("the session with David failed: ") + error.what());
    } catch (const Error& error) {
        report(std::string("a defect of this program: ") + error.what());
    } catch (const std::exception& error) {
        report(error.what());
    }
    return 1;
}

}  // namespace
}  // namespace slip::tool

int main(int argc, char** argv) {
    using namespace slip::tool;
    // A file that grows beyond the user's limit is a write that fails: what was begun is removed.
    std::signal(SIGXFSZ, SIG_IGN);
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
    return run_and_report(first, Arguments(all.begin() + 1, all.end()));
}

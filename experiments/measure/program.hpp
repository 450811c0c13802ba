// What programs that measure share: their command lines, their errors, and the object they print.
#pragma once

#include <boost/program_options.hpp>
#include <charconv>
#include <cstdint>
#include <exception>
#include <functional>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "slip/error.hpp"

namespace slip::measure {

namespace po = boost::program_options;

/// A flag, as the help shows it.
struct Flag {
    const char* name;
    const char* value;  // null: it takes none
    const char* help;
    const char* otherwise = nullptr;  // its value where it is not given
};

/// What a command line says. Every failure is a BadInput that names the flag.
class Flags {
public:
    static constexpr std::uint64_t any = std::numeric_limits<std::uint64_t>::max();

    explicit Flags(po::variables_map values) : values_(std::move(values)) {}

    bool has(const std::string& name) const { return values_.contains(name); }
    std::string text(const std::string& name) const {
        if (!has(name)) throw BadInput("--" + name + " is missing; see --help");
        return values_[name].as<std::string>();
    }
    std::string text_or(const std::string& name, const std::string& otherwise) const {
        return has(name) ? text(name) : otherwise;
    }
    /// A whole number from `least` to `most`.
    std::uint64_t number(const std::string& name, std::uint64_t least,
                         std::uint64_t most = any) const {
        return whole(name, text(name), least, most);
    }
    std::uint64_t number_or(const std::string& name, std::uint64_t otherwise, std::uint64_t least,
                            std::uint64_t most = any) const {
        return has(name) ? number(name, least, most) : otherwise;
    }
    /// "1,16,64": at least one word, none of them empty.
    std::vector<std::string> words(const std::string& name) const {
        const std::string given = text(name);
        std::vector<std::string> found;
        for (std::size_t at = 0; at <= given.size(); at += found.back().size() + 1) {
            found.push_back(given.substr(at, given.find(',', at) - at));
            if (found.back().empty()) {
                throw BadInput("--" + name + " '" + given + "': expected words between commas");
            }
        }
        return found;
    }
    std::vector<std::size_t> numbers(const std::string& name, std::uint64_t least,
                                     std::uint64_t most = any) const {
        std::vector<std::size_t> found;
        for (const auto& word : words(name)) found.push_back(whole(name, word, least, most));
        return found;
    }

private:
    static std::uint64_t whole(const std::string& name, const std::string& word,
                               std::uint64_t least, std::uint64_t most) {
        std::uint64_t number = 0;
        const char* end = word.data() + word.size();
        const auto [stop, error] = std::from_chars(word.data(), end, number);
        if (error == std::errc() && stop == end && number >= least && number <= most) {
            return number;
        }
        throw BadInput("--" + name + " '" + word + "': expected a whole number, " +
                       (most == any ? "at least " + std::to_string(least)
                                    : std::to_string(least) + " to " + std::to_string(most)));
    }

    po::variables_map values_;
};

/// A program of the measurements.
struct Program {
    std::string name;
    std::string usage;  // what follows the name, and a sentence that says what is printed
    std::vector<Flag> flags;
    /// The object to print; null if all is printed. Throws BadInput for what the user has to mend.
    std::function<nlohmann::ordered_json(const Flags& flags)> measure;
    const char* word = nullptr;  // the flag that may be given as a word without its name
};

inline po::options_description described(const std::vector<Flag>& flags) {
    po::options_description description("Options", 100, 60);
    for (const Flag& flag : flags) {
        if (flag.value == nullptr) {
            description.add_options()(flag.name, flag.help);
            continue;
        }
        auto* const value = po::value<std::string>()->value_name(flag.value);
        if (flag.otherwise != nullptr) value->default_value(flag.otherwise);
        description.add_options()(flag.name, value, flag.help);
    }
    description.add_options()("help", "show this help");
    return description;
}

/// Runs the program and returns its exit status: 0, or after a message that begins with its name 1
/// for a defect and 2 for anything else. A flag is given in full.
inline int run(const Program& program, int argc, char** argv) {
    try {
        const int style =
            po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
        const po::options_description flags = described(program.flags);
        po::positional_options_description words;
        if (program.word != nullptr) words.add(program.word, 1);
        po::variables_map values;
        po::store(
            po::command_line_parser(argc, argv).options(flags).positional(words).style(style).run(),
            values);
        if (values.contains("help")) {
            std::cout << "usage: " << program.name << ' ' << program.usage << "\n\n" << flags;
        } else if (const auto found = program.measure(Flags(values)); !found.is_null()) {
            std::cout << found.dump() << '\n';
        }
        return std::cout.flush() ? 0 : 1;
    } catch (const std::exception& error) {
        std::cerr << program.name << ": error: " << error.what() << '\n';
        return dynamic_cast<const InternalError*>(&error) == nullptr ? 2 : 1;
    }
}

}  // namespace slip::measure

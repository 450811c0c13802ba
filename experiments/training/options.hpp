// `--name value` command lines, the only kind the programs here take.
#pragma once

#include <functional>
#include <map>
#include <stdexcept>
#include <string>

namespace training {

/// A command line that cannot be obeyed. Programs report it and exit with status 2.
class UsageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The largest number that options without a limit of their own take.
inline constexpr long kMany = 1'000'000'000;

class Options {
public:
    /// Reads argv[first..]; `defaults` names every option allowed. An empty default means
    /// "required".
    Options(int argc, char** argv, int first, std::map<std::string, std::string> defaults);

    [[nodiscard]] const std::string& text(const std::string& name) const;
    [[nodiscard]] long integer(const std::string& name, long lowest, long highest) const;
    [[nodiscard]] double real(const std::string& name, double lowest, double highest) const;
    /// What `parse` makes of the text, which it refuses with std::invalid_argument.
    template <class Parse>
    [[nodiscard]] auto parsed(const std::string& name, Parse parse) const {
        try {
            return parse(text(name));
        } catch (const std::invalid_argument& error) {
            throw UsageError("option " + name + ": " + error.what());
        }
    }

private:
    std::map<std::string, std::string> values_;
};

/// Runs a program's body: status 0, or 2 for bad input, with the reason on stderr, and the usage
/// where the command line was bad.
int run_program(const char* usage, const std::function<void()>& body);

}  // namespace training

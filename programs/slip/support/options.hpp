// Command lines: Boost.Program_options, with every failure a BadInput that names the flag.
#pragma once

#include <boost/program_options.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "optimized/base/model_shape.hpp"
#include "programs/slip/command.hpp"
#include "programs/slip/support/config_file.hpp"

namespace slip::tool {

/// A command's flags. Declare them, parse, then ask.
class Options {
public:
    /// `usage` is what follows "usage: slip "; `description` says what the command does,
    /// in one paragraph without line breaks.
    Options(std::string usage, std::string description);

    /// The flags that are added from now on stand under this heading in the help.
    void group(const char* heading);
    /// A command line that does something useful as it is, for the help.
    void example(std::string command) { example_ = std::move(command); }

    /// A flag with a value, shown as `value_name` in the help.
    void add(const char* name, const char* value_name, const char* help);
    /// A flag with a value that may be given several times.
    void add_list(const char* name, const char* value_name, const char* help);
    /// A flag without a value.
    void add_switch(const char* name, const char* help);
    /// The command takes words that are no flags, such as paths.
    void take_words() { takes_words_ = true; }

    /// Returns false after printing the help that --help asked for. Throws BadInput for a flag that
    /// does not exist, with the one that may have been meant; for one that stands twice or lacks
    /// its value, and for a word where none is taken. What comes from a file is named with its
    /// line.
    bool parse(const Arguments& arguments);

    /// In their order. Throws BadInput, naming `what` was expected, if there is none.
    std::vector<std::string> words(const char* what) const;

    bool has(const char* name) const { return values_.count(name) != 0; }
    /// The flag's value. Throws BadInput if it was not given.
    std::string required(const char* name) const;
    /// Every value of a flag of add_list(), in order; none if it was not given.
    std::vector<std::string> all(const char* name) const;
    std::string text_or(const char* name, const std::string& otherwise) const;
    /// The file that a flag names; empty if it was not given. Throws BadInput for an empty name,
    /// which a shell makes of a variable that is not set.
    std::string file_or_none(const char* name) const;
    /// A whole number from `least` to `most`, in decimal digits.
    std::uint64_t number(const char* name, std::uint64_t least,
                         std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) const;
    std::uint64_t number_or(const char* name, std::uint64_t otherwise, std::uint64_t least,
                            std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) const;
    /// A finite number that is not negative.
    double real_or(const char* name, double otherwise) const;
    /// "1,2,3".
    std::vector<TokenId> token_ids(const char* name) const;

    /// Throws BadInput if `name` was given: it has no meaning because of `reason`.
    void forbid(const char* name, const std::string& reason) const;

private:
    using Groups = boost::program_options::options_description;

    /// What neither the command line nor what was read before has said: from SLIP_NAME variables of
    /// the environment. Of those that are nearly such a name, there are warnings.
    void read_environment(const Groups& all);
    /// And from the file of --config, lines of NAME = VALUE.
    void read_config(const Groups& all);
    void add_unnamed(const Groups& all, const std::vector<Setting>& settings);
    void tell_warnings(bool in_log) const;
    void print_help() const;
    /// "; did you mean" for a flag that does not exist, as the user wrote it; `before` the name of
    /// the one that does.
    std::string meant_by(const std::string& flag, const char* before) const;

    std::string usage_;
    std::string description_;
    std::string example_;
    std::deque<boost::program_options::options_description> groups_;  // they cannot be moved
    boost::program_options::variables_map values_;
    bool takes_words_ = false;
    std::vector<std::string> warnings_;  // for the user
};

/// `message` behind the line of a file, or the variable, from which the flag that it begins with
/// came into this process; as it is where that was the command line.
std::string located(const std::string& message);

}  // namespace slip::tool

#include "programs/slip/support/options.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <iostream>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include "programs/slip/support/event_log.hpp"
#include "programs/slip/support/nearest.hpp"
#include "programs/slip/support/printable.hpp"
#include "slip/error.hpp"

namespace slip::tool {

namespace po = boost::program_options;

namespace {

/// All of `text` as a number of type T, or nothing.
template <class T>
std::optional<T> parse_number(std::string_view text) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

/// Under which the words stand among the values. No user can write it as a flag.
constexpr const char* words_name = "=";

/// The text in lines of at most `width` columns.
std::string in_lines(const std::string& text, std::size_t width) {
    std::string lines;
    std::size_t column = 0;
    std::istringstream words(text);
    for (std::string word; words >> word; column += word.size()) {
        if (column > 0) {
            const bool fits = column + 1 + word.size() <= width;
            lines += fits ? ' ' : '\n';
            column = fits ? column + 1 : 0;
        }
        lines += word;
    }
    return lines;
}

/// The width of a line of the help, and the least room for what explains a flag.
constexpr unsigned help_width = 100;
constexpr unsigned help_column = 60;

std::string flag(const char* name) { return std::string("--") + name; }

/// What this process has from elsewhere than its command line.
std::vector<Setting>& origins() {
    static std::vector<Setting> all;
    return all;
}

/// An option's name as the end of a variable's.
std::string in_capitals(std::string name) {
    for (char& letter : name) {
        if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
        if (letter == '-') letter = '_';
    }
    return name;
}

/// The variables of the environment that begin as those of options do.
std::vector<Setting> settings_of_environment() {
    constexpr std::string_view stem = "SLIP_";
    std::vector<Setting> settings;
    for (char** each = environ; *each != nullptr; ++each) {
        const std::string_view variable = *each;
        const std::size_t equals = variable.find('=');
        if (!variable.starts_with(stem) || equals == std::string_view::npos) continue;
        std::string name(variable.substr(stem.size(), equals - stem.size()));
        for (char& letter : name) {
            if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
            if (letter == '_') letter = '-';
        }
        settings.push_back({name, std::string(variable.substr(equals + 1)),
                            std::string(variable.substr(0, equals))});
    }
    return settings;
}

/// What follows SLIP_ in variables that are no options.
constexpr std::array variables{"KERNELS", "CORE_FILES"};
/// Options of other commands that are nearly an option of a command that does not have them: a test
/// finds those that are missing here.
constexpr std::array options_of_others{"OUT", "PROMPT_CACHE"};

}  // namespace

Options::Options(std::string usage, std::string description)
    : usage_(std::move(usage)), description_(std::move(description)) {
    group("Options");
}

void Options::group(const char* heading) { groups_.emplace_back(heading, help_width, help_column); }

void Options::add(const char* name, const char* value_name, const char* help) {
    groups_.back().add_options()(name, po::value<std::string>()->value_name(value_name), help);
}

void Options::add_list(const char* name, const char* value_name, const char* help) {
    groups_.back().add_options()(
        name, po::value<std::vector<std::string>>()->value_name(value_name)->composing(), help);
}

void Options::add_switch(const char* name, const char* help) {
    groups_.back().add_options()(name, help);
}

bool Options::parse(const Arguments& arguments) {
    if (groups_.size() > 1) group("Help");
    add("config", "FILE",
        "options of this command, lines of NAME = VALUE (a flag without a value: NAME = true; "
        "behind a blank, # begins a comment); "
        "variables of the environment, SLIP_NAME with _ for -, come before it, and flags before "
        "both");
    add_switch("help", "show this help");
    po::options_description named;
    for (const po::options_description& group : groups_) named.add(group);
    po::options_description all;
    all.add(named).add_options()(words_name, po::value<std::vector<std::string>>());
    po::positional_options_description positional;
    if (takes_words_) positional.add(words_name, -1);
    const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    try {
        po::store(po::command_line_parser(arguments)
                      .options(all)
                      .positional(positional)
                      .style(style)
                      .run(),
                  values_);
    } catch (const po::too_many_positional_options_error&) {
        throw BadInput("expected only flags, which begin with --; see --help");
    } catch (const po::unknown_option& error) {
        const std::string given = error.get_option_name();
        const std::string name = given.substr(0, given.find('='));
        throw BadInput("there is no flag " + name + meant_by(name, "--") + "; see --help");
    } catch (const po::error& error) {
        throw BadInput(std::string(error.what()) + "; see --help");
    }
    if (has("help")) {
        print_help();
        return false;
    }
    read_environment(named);
    read_config(named);
    tell_warnings(named.find_nothrow("log-format", false) != nullptr);
    return true;
}

/// What is said of options that no source before has named. A flag without a value stands as
/// NAME = true, or as false for a flag that is not given.
void Options::add_unnamed(const po::options_description& all,
                          const std::vector<Setting>& settings) {
    po::parsed_options parsed(&all);
    for (const Setting& each : settings) {
        if (values_.count(each.name) != 0) continue;
        if (all.find(each.name, false).semantic()->max_tokens() == 0) {
            if (each.value == "false") continue;
            if (each.value != "true") {
                throw BadInput(each.origin + ": " + each.name + " '" + each.value +
                               "': expected true or false");
            }
        }
        origins().push_back(each);
        parsed.options.emplace_back(each.name, std::vector{each.value});
    }
    po::store(parsed, values_);
}

void Options::read_environment(const po::options_description& all) {
    std::vector<std::string> known;
    for (const auto& option : all.options()) known.push_back(in_capitals(option->long_name()));
    known.insert(known.end(), variables.begin(), variables.end());
    std::vector<Setting> settings;
    for (const Setting& each : settings_of_environment()) {
        const bool is_option = all.find_nothrow(each.name, false) != nullptr;
        if (is_option && each.name != "help") settings.push_back(each);
        const std::string capitals = in_capitals(each.name);
        const auto is_one_of = [&](const auto& names) {
            return std::find(names.begin(), names.end(), capitals) != names.end();
        };
        if (is_one_of(known) || is_one_of(options_of_others)) continue;
        const std::string meant = did_you_mean(capitals, known, "SLIP_");
        if (!meant.empty()) warnings_.push_back(each.origin + " has no effect" + meant);
    }
    add_unnamed(all, settings);
}

void Options::read_config(const po::options_description& all) {
    const std::string file = file_or_none("config");
    if (file.empty()) return;
    const std::vector<Setting> settings = read_config_file(file);
    std::map<std::string, std::string> seen;
    for (const Setting& each : settings) {
        const auto* const option = all.find_nothrow(each.name, false);
        if (option == nullptr) {
            throw BadInput(each.origin + ": there is no option " + each.name +
                           meant_by(each.name, ""));
        }
        if (each.name == "config" || each.name == "help") {
            throw BadInput(each.origin + ": " + each.name + " has no meaning in a file");
        }
        const auto [first, is_first] = seen.emplace(each.name, each.origin);
        if (!is_first && !option->semantic()->is_composing()) {
            throw BadInput(each.origin + ": " + each.name + " stands in " + first->second +
                           " already");
        }
    }
    add_unnamed(all, settings);
}

/// A server's log is all that it writes to standard error.
void Options::tell_warnings(bool in_log) const {
    const std::string command = usage_.substr(0, usage_.find(' '));
    for (const std::string& text : warnings_) {
        if (in_log) {
            EventLog(command.c_str(), log_format(*this))
                .add({{"level", "warning"}, {"note", text}});
        } else {
            std::cerr << "slip " << command << ": warning: " << printable(text) << std::endl;
        }
    }
}

std::string located(const std::string& message) {
    const Setting* named = nullptr;
    for (const Setting& each : origins()) {
        const std::string flag = "--" + each.name;
        if (!message.starts_with(flag)) continue;
        const std::string_view rest = std::string_view(message).substr(flag.size());
        if (!rest.empty() && (rest.front() == '-' || std::isalnum(rest.front()) != 0)) continue;
        if (named == nullptr || rest.find(each.value) != std::string_view::npos) named = &each;
    }
    return named == nullptr ? message : named->origin + ": " + message;
}

void Options::print_help() const {
    po::options_description shown("", help_width, help_column);
    for (const po::options_description& group : groups_) {
        if (!group.options().empty()) shown.add(group);
    }
    std::cout << "usage: slip " << usage_ << "\n\n"
              << in_lines(description_, help_width) << "\n"
              << shown;
    if (!example_.empty()) std::cout << "\nExample:\n  " << example_ << '\n';
}

std::string Options::meant_by(const std::string& flag, const char* before) const {
    std::vector<std::string> known;
    for (const po::options_description& group : groups_) {
        for (const auto& option : group.options()) known.push_back(option->long_name());
    }
    return did_you_mean(flag.substr(std::min(flag.find_first_not_of('-'), flag.size())), known,
                        before);
}

std::vector<std::string> Options::words(const char* what) const {
    if (!has(words_name)) throw BadInput(std::string(what) + " is missing; see --help");
    return values_[words_name].as<std::vector<std::string>>();
}

std::string Options::required(const char* name) const {
    if (!has(name)) throw BadInput(flag(name) + " is missing; see --help");
    return values_[name].as<std::string>();
}

std::vector<std::string> Options::all(const char* name) const {
    return has(name) ? values_[name].as<std::vector<std::string>>() : std::vector<std::string>{};
}

std::string Options::text_or(const char* name, const std::string& otherwise) const {
    return has(name) ? required(name) : otherwise;
}

std::string Options::file_or_none(const char* name) const {
    if (has(name) && required(name).empty()) {
        throw BadInput("--" + std::string(name) + ": expected the name of a file");
    }
    return text_or(name, "");
}

std::uint64_t Options::number(const char* name, std::uint64_t least, std::uint64_t most) const {
    const std::string text = required(name);
    const auto value = parse_number<std::uint64_t>(text);
    if (value && *value >= least && *value <= most) return *value;
    const bool bounded = most != std::numeric_limits<std::uint64_t>::max();
    throw BadInput(flag(name) + " '" + text + "': expected a whole number, " +
                   (bounded ? "from " + std::to_string(least) + " to " + std::to_string(most)
                            : "at least " + std::to_string(least)));
}

std::uint64_t Options::number_or(const char* name, std::uint64_t otherwise, std::uint64_t least,
                                 std::uint64_t most) const {
    return has(name) ? number(name, least, most) : otherwise;
}

double Options::real_or(const char* name, double otherwise) const {
    if (!has(name)) return otherwise;
    const std::string text = required(name);
    const auto value = parse_number<double>(text);
    if (value && std::isfinite(*value) && *value >= 0) return *value;
    throw BadInput(flag(name) + " '" + text + "': expected a number that is not negative");
}

std::vector<TokenId> Options::token_ids(const char* name) const {
    const std::string text = required(name);
    std::vector<TokenId> ids;
    std::string_view rest = text;
    while (true) {
        const std::string_view word = rest.substr(0, rest.find(','));
        const auto id = parse_number<TokenId>(word);
        if (!id || *id < 0) {
            throw BadInput(flag(name) + " '" + text +
                           "': expected token ids separated by commas, such as 1,2,3");
        }
        ids.push_back(*id);
        if (word.size() == rest.size()) return ids;
        rest.remove_prefix(word.size() + 1);
    }
}

void Options::forbid(const char* name, const std::string& reason) const {
    if (has(name)) throw BadInput(flag(name) + " has no meaning " + reason);
}

}  // namespace slip::tool

#include "programs/slip/options.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iostream>
#include <sstream>
#include <string_view>
#include <utility>

#include "optimized/base/files.hpp"
#include "programs/slip/nearest.hpp"
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

/// Of the help: the width of a line, and the least room for what explains a flag.
constexpr unsigned help_width = 100;
constexpr unsigned help_column = 60;

std::string flag(const char* name) { return std::string("--") + name; }

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
        "options of this command, lines of NAME = VALUE (a flag without a value: NAME = true); "
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
        throw BadInput("there is no flag " + name + meant_by(name) + "; see --help");
    } catch (const po::error& error) {
        throw BadInput(std::string(error.what()) + "; see --help");
    }
    if (has("help")) {
        print_help();
        return false;
    }
    read_environment(named);
    read_config(named);
    return true;
}

/// What `source` says of options that no source before it has named. A flag without a value stands
/// as NAME = true, or as false for a flag that is not given.
void Options::add_unnamed(po::parsed_options parsed, const std::string& source) {
    std::erase_if(parsed.options, [&](const po::option& option) {
        if (values_.count(option.string_key) != 0) return true;
        if (parsed.description->find(option.string_key, false).semantic()->max_tokens() > 0) {
            return false;
        }
        const std::string& value = option.value.at(0);
        if (value == "true" || value == "false") return value == "false";
        throw BadInput(source + ": " + option.string_key + " '" + value +
                       "': expected true or false");
    });
    po::store(parsed, values_);
}

void Options::read_environment(const po::options_description& all) {
    const auto option_of = [&](std::string variable) -> std::string {
        constexpr std::string_view stem = "SLIP_";
        if (!variable.starts_with(stem)) return "";
        std::string name = variable.substr(stem.size());
        for (char& letter : name) {
            if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
            if (letter == '_') letter = '-';
        }
        return name != "help" && all.find_nothrow(name, false) != nullptr ? name : "";
    };
    try {
        add_unnamed(po::parse_environment(all, option_of), "the environment");
    } catch (const po::error& error) {
        throw BadInput(std::string("the environment: ") + error.what());
    }
}

void Options::read_config(const po::options_description& all) {
    const std::string file = file_or_none("config");
    if (file.empty()) return;
    std::istringstream lines(base::read_file(file, std::size_t{1} << 20));
    try {
        add_unnamed(po::parse_config_file(lines, all), file);
    } catch (const po::unknown_option& error) {
        const std::string name = error.get_option_name();
        throw BadInput(file + ": there is no option " + name + meant_by(name));
    } catch (const po::error& error) {
        throw BadInput(file + ": " + error.what());
    }
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

std::string Options::meant_by(const std::string& flag) const {
    std::vector<std::string> known;
    for (const po::options_description& group : groups_) {
        for (const auto& option : group.options()) known.push_back(option->long_name());
    }
    return did_you_mean(flag.substr(std::min(flag.find_first_not_of('-'), flag.size())), known,
                        "--");
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

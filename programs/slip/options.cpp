#include "programs/slip/options.hpp"

#include <charconv>
#include <cmath>
#include <iostream>
#include <string_view>
#include <utility>

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

std::string flag(const char* name) { return std::string("--") + name; }

}  // namespace

Options::Options(std::string usage, std::string description)
    : usage_(std::move(usage)), description_(std::move(description)), flags_("Options", 100, 60) {}

void Options::add(const char* name, const char* value_name, const char* help) {
    flags_.add_options()(name, po::value<std::string>()->value_name(value_name), help);
}

void Options::add_list(const char* name, const char* value_name, const char* help) {
    flags_.add_options()(
        name, po::value<std::vector<std::string>>()->value_name(value_name)->composing(), help);
}

void Options::add_switch(const char* name, const char* help) { flags_.add_options()(name, help); }

bool Options::parse(const Arguments& arguments) {
    add_switch("help", "show this help");
    po::options_description all;
    all.add(flags_).add_options()(words_name, po::value<std::vector<std::string>>());
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
    } catch (const po::error& error) {
        throw BadInput(std::string(error.what()) + "; see --help");
    }
    if (!has("help")) return true;
    std::cout << "usage: slip " << usage_ << "\n\n" << description_ << "\n\n" << flags_;
    return false;
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

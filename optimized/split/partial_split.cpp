#include "optimized/split/partial_split.hpp"
#include "optimized/artifact/sha256.hpp"

#include <errno.h>
#include <sys/stat.h>

#include <charconv>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/base/hidden_widths.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/import/json.hpp"

namespace slip::splitting {
namespace {

namespace parameters = base::parameters;
using base::flush_folder;
using nlohmann::json;

constexpr const char* state_name = "state.json";
constexpr const char* new_state_name = "state.json.new";
constexpr const char* groups_file = "groups.txt";
constexpr const char* out_folder = "out";

/// A line of groups.txt: the digits of activation_norm, zeros in front, and those of the digest.
constexpr std::size_t number_length = 5;
constexpr std::size_t digest_length = 64;
constexpr std::size_t line_length = number_length + 1 + digest_length + 1;
std::string line_of(const FinishedGroup& group) {
    const std::string digits = std::to_string(group.activation_norm);
    std::string line(number_length - digits.size(), '0');
    return line.append(digits).append(" ").append(artifact::to_hex(group.digest)).append("\n");
}

/// Nothing if `line` does not say that a group is finished.
std::optional<FinishedGroup> parse_line(std::string_view line) {
    FinishedGroup group;
    const std::string_view number = line.substr(0, number_length);
    const auto [stop, error] =
        std::from_chars(number.data(), number.data() + number.size(), group.activation_norm);
    const auto digest = artifact::from_hex(line.substr(number_length + 1, digest_length));
    if (error != std::errc() || stop != number.data() + number.size() || !digest ||
        line[number_length] != ' ' || line.back() != '\n' ||
        group.activation_norm < base::hidden_widths.back().norm ||
        group.activation_norm > parameters::largest_activation_norm) {
        return std::nullopt;
    }
    group.digest = *digest;
    return group;
}

/// What state.json holds: what was asked for, what was drawn, and the digest of both.
json state_of(const json& request, const json& choices) {
    json state({{"request", request}, {"choices", choices}});
    const std::string text = state.dump();
    state["sha256"] = artifact::to_hex(artifact::sha256(std::as_bytes(std::span(text))));
    return state;
}

/// A folder for its owner alone; it may exist. `out` is what the user has asked for.
void make_folder(const std::filesystem::path& path, const std::filesystem::path& out) {
    if (::mkdir(path.c_str(), parameters::secret_folder_mode) != 0 && errno != EEXIST) {
        const std::string reason = std::generic_category().message(errno);
        throw BadInput(out.string() + ": cannot be created: " + reason);
    }
}

std::filesystem::path partial_folder(const std::filesystem::path& out) {
    std::string name = ".";
    name.append(out.filename().string()).append(".slip-partial");
    return out.parent_path() / name;
}

}  // namespace

std::vector<std::optional<FinishedGroup>> parse_finished_groups(std::string_view text) {
    std::vector<std::optional<FinishedGroup>> groups;
    for (std::size_t i = 0; i + line_length <= text.size(); i += line_length) {
        groups.push_back(parse_line(text.substr(i, line_length)));
    }
    return groups;
}

PartialSplit::PartialSplit(const std::filesystem::path& out, std::size_t groups,
                           const json& request, json choices, const std::optional<SplitPart>& part)
    : out_(base::name_of_new_folder(out)), partial_(partial_folder(out_)), part_(part) {
    using Others = base::FileLock::Others;
    make_folder(partial_, out_);
    lock_.emplace(partial_ / "lock", part ? Others::shared : Others::refused);
    if (part) {
        choices["parts"] = part->count;
        lock_of_part_.emplace(partial_ / ("part-" + std::to_string(part->number) + ".lock"));
    }
    // A split that was killed right after its commit has left a state, and nothing to go on with.
    if (std::filesystem::exists(partial_ / state_name) && std::filesystem::exists(folder())) {
        go_on(groups, request);
    } else if (!lock_->is_alone()) {
        throw BadInput(out_.string() + ": the part that began this split has failed");
    } else {
        try {
            begin(groups, request, choices);
        } catch (...) {
            std::error_code ignored;
            std::filesystem::remove_all(partial_, ignored);
            throw;
        }
    }
}

PartialSplit::~PartialSplit() {
    if (part_) return;
    std::error_code ignored;
    std::filesystem::remove_all(partial_, ignored);
}

void PartialSplit::begin(std::size_t groups, const json& request, const json& choices) {
    // Whatever was here was not begun in earnest: the state is written last, and by renaming.
    for (const char* name : {state_name, groups_file, new_state_name, out_folder}) {
        std::filesystem::remove_all(partial_ / name);
    }
    choices_ = choices;
    make_folder(folder(), out_);
    base::write_file(partial_ / new_state_name, state_of(request, choices).dump(),
                     parameters::secret_file_mode);
    groups_.emplace(partial_ / groups_file, groups * line_length, parameters::secret_file_mode);
    finished_.resize(groups);
    std::filesystem::rename(partial_ / new_state_name, partial_ / state_name);
    flush_folder(partial_);
}

void PartialSplit::go_on(std::size_t groups, const json& request) {
    const std::filesystem::path path = state_file();
    const json value = importing::parse_json(base::read_file(path), path);
    importing::JsonObject state(value, path, "state");
    if (state.field("request") != request) {
        throw BadInput(partial_.string() +
                       ": holds an unfinished split of another checkpoint, plan or method; run its "
                       "command again to finish it, or remove the folder");
    }
    choices_ = state.field("choices");
    if (value != state_of(request, choices_)) {
        throw BadInput(path.string() + ": is damaged; remove its folder to split from the start");
    }
    if (part_ && parts() != part_->count) {
        throw BadInput(partial_.string() + ": holds an unfinished split that was begun " +
                       (choices_.contains("parts") ? "in " + std::to_string(parts()) + " parts"
                                                   : std::string("without --part")) +
                       ", not in " + std::to_string(part_->count));
    }
    groups_.emplace(partial_ / groups_file, groups * line_length, parameters::secret_file_mode);
    finished_ = parse_finished_groups(base::read_file(partial_ / groups_file));
}

std::filesystem::path PartialSplit::folder() const { return partial_ / out_folder; }

std::filesystem::path PartialSplit::state_file() const { return partial_ / state_name; }

void PartialSplit::let_others_in() { lock_->share(); }

void PartialSplit::record(std::size_t g, const FinishedGroup& group) {
    const std::string line = line_of(group);
    groups_->write_at(g * line_length, std::as_bytes(std::span(line)));
    groups_->flush();
    finished_[g] = group;
}

void PartialSplit::commit() { base::put_in_place(folder(), out_); }

}  // namespace slip::splitting

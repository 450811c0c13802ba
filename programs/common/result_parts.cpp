#include "programs/common/result_parts.hpp"

#include <charconv>
#include <set>
#include <span>
#include <utility>

#include "optimized/artifact/sha256.hpp"
#include "optimized/base/files.hpp"
#include "optimized/import/json.hpp"
#include "slip/error.hpp"

namespace slip::tool {
namespace {

using nlohmann::json;

/// Positive, in decimal digits that fill `text`; otherwise nothing.
std::optional<std::size_t> number_in(std::string_view text) {
    std::size_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || stop != end || number == 0) return std::nullopt;
    return number;
}

/// The numbers on both sides of `between`, the first not above the second.
std::optional<Part> part_in(std::string_view text, std::string_view between) {
    const std::size_t at = text.find(between);
    if (at == std::string_view::npos) return std::nullopt;
    const auto number = number_in(text.substr(0, at));
    const auto count = number_in(text.substr(at + between.size()));
    if (!number || !count || *number > *count) return std::nullopt;
    return Part{*number, *count};
}

constexpr std::string_view before_number = "part-", before_count = "-of-", behind = ".json";

std::string file_name(const Part& part) {
    return std::string(before_number) + std::to_string(part.number) + std::string(before_count) +
           std::to_string(part.count) + std::string(behind);
}

/// The part whose file has this name.
std::optional<Part> part_of_file(std::string_view name) {
    if (!name.starts_with(before_number) || !name.ends_with(behind)) return std::nullopt;
    name.remove_prefix(before_number.size());
    name.remove_suffix(behind.size());
    return part_in(name, before_count);
}

std::string digest_of(const json& value) {
    const std::string text = value.dump();
    return artifact::to_hex(artifact::sha256(std::as_bytes(std::span(text))));
}

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& why) {
    throw BadInput(path.string() + ": " + why);
}

/// In how many parts the files of a folder are. Throws BadInput if there is none, or if some are of
/// another number of parts.
std::size_t count_of_parts(const std::filesystem::path& folder) {
    std::set<std::string> names;  // in an order, so that messages are the same everywhere
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
        names.insert(entry.path().filename().string());
    }
    std::optional<std::size_t> count;
    for (const std::string& name : names) {
        const auto part = part_of_file(name);
        if (!part) continue;
        if (count && part->count != *count) {
            refuse(folder / name, "is one of " + std::to_string(part->count) +
                                      " parts beside those of " + std::to_string(*count) +
                                      "; remove the ones that do not belong here");
        }
        count = part->count;
    }
    if (!count) refuse(folder, "holds no part's result; run each part with --part I/N first");
    return *count;
}

}  // namespace

Part part_named(const std::string& text) {
    if (const auto part = part_in(text, "/")) return *part;
    throw BadInput("--part '" + text + "': expected I/N with I from 1 to N, e.g. 2/8");
}

ItemRange items_of(const std::optional<Part>& part, std::size_t total) {
    if (!part) return {0, total};
    if (part->count > total) {
        throw BadInput("--part " + std::to_string(part->number) + '/' +
                       std::to_string(part->count) + ": expected at most " + std::to_string(total) +
                       " parts, one for each thing that is measured");
    }
    const auto first_of = [&](std::size_t number) {
        return number * (total / part->count) + std::min(number, total % part->count);
    };
    return {first_of(part->number - 1), first_of(part->number)};
}

std::string digest_of_files(const std::filesystem::path& path) {
    if (!std::filesystem::is_directory(path))
        return artifact::to_hex(artifact::sha256_of_file(path));
    std::set<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
        if (entry.is_regular_file()) files.insert(entry.path());
    }
    std::string lines;
    for (const std::filesystem::path& file : files) {
        lines.append(artifact::to_hex(artifact::sha256_of_file(file)));
        lines.append(" ").append(file.filename().string()).append("\n");
    }
    return artifact::to_hex(artifact::sha256(std::as_bytes(std::span(lines))));
}

ResultParts::ResultParts(std::filesystem::path folder, json request)
    : folder_(std::move(folder)), request_(std::move(request)) {}

bool ResultParts::has(const Part& part) const {
    if (!std::filesystem::exists(folder_ / file_name(part))) return false;
    try {
        read_part(part);
        return true;
    } catch (const BadInput&) {
        return false;
    }
}

void ResultParts::make_folder() const {
    std::error_code error;
    std::filesystem::create_directories(folder_, error);  // another part may make it too
    if (!std::filesystem::is_directory(folder_)) {
        refuse(folder_, "cannot be made a folder: " + error.message());
    }
}

void ResultParts::write(const Part& part, const Measured& measured) const {
    json content{{"part", part.number},     {"parts", part.count},
                 {"request", request_},     {"common", measured.common},
                 {"total", measured.total}, {"values", measured.values}};
    content["sha256"] = digest_of(content);
    base::StagedFile file(folder_ / file_name(part), base::StagedFile::Existing::replace);
    const std::string text = content.dump() + "\n";
    file.append(std::as_bytes(std::span(text)));
    file.commit();
}

json ResultParts::read_part(const Part& part) const {
    const std::filesystem::path path = folder_ / file_name(part);
    const std::string again =
        "; run --part " + std::to_string(part.number) + '/' + std::to_string(part.count) + " again";
    if (!std::filesystem::exists(path)) refuse(path, "is missing" + again);
    json content;
    try {
        content = importing::parse_json(base::read_file(path), path);
    } catch (const BadInput& error) {
        throw BadInput(error.what() + again);
    }
    json unsigned_content = content;
    if (!content.is_object() || unsigned_content.erase("sha256") != 1 ||
        content.at("sha256") != digest_of(unsigned_content)) {
        refuse(path, "is damaged" + again);
    }
    if (content.at("part") != part.number || content.at("parts") != part.count) {
        refuse(path, "holds the result of part " + content.at("part").dump() + " of " +
                         content.at("parts").dump() + again);
    }
    for (const auto& [name, value] : request_.items()) {
        if (content.at("request").value(name, json()) == value) continue;
        refuse(path, "was measured with another " + name + ": " +
                         content.at("request").value(name, json()).dump() + ", not " +
                         value.dump() + again);
    }
    if (content.at("request") != request_) {
        refuse(path, "was measured in another way" + again);
    }
    return content;
}

Measured ResultParts::read() const {
    const std::size_t count = count_of_parts(folder_);
    Measured whole;
    for (std::size_t number = 1; number <= count; ++number) {
        const json content = read_part({number, count});
        const std::filesystem::path path = folder_ / file_name({number, count});
        if (number == 1) {
            whole.common = content.at("common");
            whole.total = content.at("total");
        }
        if (content.at("common") != whole.common || content.at("total") != whole.total) {
            refuse(path, "does not agree with " + file_name({1, count}) + " on what is measured");
        }
        const ItemRange range = items_of(Part{number, count}, whole.total);
        const json& values = content.at("values");
        if (values.size() != range.end - range.first) {
            refuse(path, "has " + std::to_string(values.size()) + " values instead of " +
                             std::to_string(range.end - range.first));
        }
        whole.values.insert(whole.values.end(), values.begin(), values.end());
    }
    return whole;
}

}  // namespace slip::tool

// Strict JSON for configurations, plans and artifacts: a field that is absent, doubled, of another
// type or out of range is an error that names the file and the field.
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>

namespace slip::importing {

/// Arrays and objects inside one another. Nothing that this project reads comes near it; what
/// copies and destroys a value calls itself once a level.
inline constexpr int largest_json_depth = 64;

/// Parses a whole text (MODEL-7). Throws BadInput, naming `origin`, if it is not JSON, begins with
/// a byte order mark, has anything but white space behind the value, is nested deeper than
/// `largest_json_depth`, or if an object has a name twice, which parsers resolve in different ways.
nlohmann::json parse_json(std::string_view text, const std::filesystem::path& origin);

/// Throws BadInput: "ORIGIN: WHERE: WHAT".
[[noreturn]] void refuse_json(const std::filesystem::path& origin, std::string_view where,
                              std::string_view what);

/// Reads the fields of one object. `where` describes it in messages, e.g. "groups[3]". The object
/// outlives the reader.
class JsonObject {
public:
    /// Throws BadInput if `value` is no object.
    JsonObject(const nlohmann::json& value, std::filesystem::path origin, std::string where);

    bool has(const std::string& name) const { return value_.contains(name); }
    /// The field, whatever its type; BadInput if it is absent.
    const nlohmann::json& field(const std::string& name);
    const nlohmann::json& array(const std::string& name);
    /// The fields of an object inside the object.
    JsonObject object(const std::string& name);
    std::string text(const std::string& name);
    bool boolean(const std::string& name);
    double number(const std::string& name);
    /// An integer in least .. most.
    std::size_t integer(const std::string& name, std::size_t least, std::size_t most);

    /// Throws BadInput if the object has a field that none of the calls above asked for.
    void refuse_unknown_fields() const;

    /// Throws BadInput about field `name`.
    [[noreturn]] void refuse(const std::string& name, const std::string& expected) const;

private:
    const nlohmann::json& value_;
    std::filesystem::path origin_;
    std::string where_;
    std::set<std::string> known_;
};

}  // namespace slip::importing

#include "optimized/import/json.hpp"

#include <utility>
#include <vector>

#include "optimized/base/error.hpp"

namespace slip::importing {
namespace {

using nlohmann::json;

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

/// Follows the parser and throws BadInput at the second field of one name in an object, and where
/// the nesting becomes too deep.
class StrictCheck {
public:
    explicit StrictCheck(const std::filesystem::path& origin) : origin_(origin) {}

    void event(int depth, json::parse_event_t event, const json& parsed) {
        if (depth > largest_json_depth) {
            throw BadInput(origin_.string() + ": is nested deeper than " +
                           std::to_string(largest_json_depth) + " arrays and objects");
        }
        if (event == json::parse_event_t::object_start) {
            open_objects_.emplace_back();
        } else if (event == json::parse_event_t::object_end) {
            open_objects_.pop_back();
        } else if (event == json::parse_event_t::key) {
            const auto name = parsed.get<std::string>();
            if (!open_objects_.back().insert(name).second) {
                throw BadInput(origin_.string() + ": the name \"" + name +
                               "\" stands twice in one object");
            }
        }
    }

private:
    const std::filesystem::path& origin_;
    std::vector<std::set<std::string>> open_objects_;
};

}  // namespace

json parse_json(std::string_view text, const std::filesystem::path& origin) {
    // The parser skips a byte order mark, and takes a NUL for the end of the text (MODEL-7).
    if (text.starts_with(byte_order_mark)) {
        throw BadInput(origin.string() + ": is not valid JSON (begins with a byte order mark)");
    }
    if (text.find('\0') != std::string_view::npos) {
        throw BadInput(origin.string() + ": is not valid JSON (contains a NUL byte)");
    }
    StrictCheck check(origin);
    const auto follow = [&](int depth, json::parse_event_t event, json& parsed) {
        check.event(depth, event, parsed);
        return true;  // keep the value
    };
    try {
        return json::parse(text.begin(), text.end(), follow);
    } catch (const json::exception& error) {
        throw BadInput(origin.string() + ": is not valid JSON (" + error.what() + ")");
    }
}

void refuse_json(const std::filesystem::path& origin, std::string_view where,
                 std::string_view what) {
    std::string message = origin.string();
    message.append(": ").append(where).append(": ").append(what);
    throw BadInput(message);
}

JsonObject::JsonObject(const json& value, std::filesystem::path origin, std::string where)
    : value_(value), origin_(std::move(origin)), where_(std::move(where)) {
    if (!value_.is_object()) refuse_json(origin_, where_, "expected an object");
}

void JsonObject::refuse(const std::string& name, const std::string& expected) const {
    refuse_json(origin_, where_, "field \"" + name + "\": expected " + expected);
}

const json& JsonObject::field(const std::string& name) {
    known_.insert(name);
    const auto found = value_.find(name);
    if (found == value_.end()) refuse_json(origin_, where_, "field \"" + name + "\" is missing");
    return *found;
}

const json& JsonObject::array(const std::string& name) {
    const json& value = field(name);
    if (!value.is_array()) refuse(name, "an array");
    return value;
}

JsonObject JsonObject::object(const std::string& name) {
    const json& value = field(name);
    if (!value.is_object()) refuse(name, "an object");
    return JsonObject(value, origin_, where_ + ", field \"" + name + "\"");
}

std::string JsonObject::text(const std::string& name) {
    const json& value = field(name);
    if (!value.is_string()) refuse(name, "a string");
    return value.get<std::string>();
}

bool JsonObject::boolean(const std::string& name) {
    const json& value = field(name);
    if (!value.is_boolean()) refuse(name, "true or false");
    return value.get<bool>();
}

double JsonObject::number(const std::string& name) {
    const json& value = field(name);
    if (!value.is_number()) refuse(name, "a number");
    return value.get<double>();
}

std::size_t JsonObject::integer(const std::string& name, std::size_t least, std::size_t most) {
    const json& value = field(name);
    // The parser stores every integer without a sign as unsigned; -0 and 1.0 are no integers here.
    const bool fits = value.is_number_unsigned() && value.get<std::size_t>() >= least &&
                      value.get<std::size_t>() <= most;
    if (!fits && least == most) refuse(name, std::to_string(least));
    if (!fits) {
        refuse(name, "an integer from " + std::to_string(least) + " to " + std::to_string(most));
    }
    return value.get<std::size_t>();
}

void JsonObject::refuse_unknown_fields() const {
    for (const auto& [name, value] : value_.items()) {
        if (known_.count(name) == 0) {
            refuse_json(origin_, where_, "field \"" + name + "\" is unknown");
        }
    }
}

}  // namespace slip::importing

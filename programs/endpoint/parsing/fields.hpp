// The fields of a request in JSON: what is not asked for is refused (SERVE-5).
#pragma once

#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <string>

#include "optimized/import/json.hpp"
#include "programs/endpoint/parsing/request.hpp"

namespace slip::endpoint {

/// Throws ApiError (400) about `field`.
[[noreturn]] inline void refuse_field(const std::string& field, const std::string& what,
                                      const char* code = "") {
    ApiError error(400, "'" + field + "': " + what);
    error.param = field;
    error.code = code;
    throw error;
}

/// A field that this server does not support, and the value with which it changes nothing.
struct Unsupported {
    const char* name;
    const char* neutral;  // JSON
};

/// Reads the fields of one object. A field that is null counts as absent, as it does for OpenAI.
class Fields {
public:
    /// `path` is where the object stands, as "messages[0]"; empty for the body itself.
    Fields(const nlohmann::json& value, std::string path) : value_(value), path_(std::move(path)) {
        if (value_.is_object()) return;
        if (path_.empty()) throw ApiError(400, "the body: expected a JSON object");
        refuse_field(path_, "expected an object");
    }

    std::string name(const std::string& field) const {
        return path_.empty() ? field : path_ + '.' + field;
    }
    const nlohmann::json* find(const std::string& field) {
        known_.insert(field);
        const auto found = value_.find(field);
        return found == value_.end() || found->is_null() ? nullptr : &*found;
    }
    const nlohmann::json& required(const std::string& field) {
        const nlohmann::json* const found = find(field);
        if (found == nullptr) refuse_field(name(field), "is missing");
        return *found;
    }
    std::string text(const std::string& field) {
        const nlohmann::json& found = required(field);
        if (!found.is_string()) refuse_field(name(field), "expected a string");
        return found.get<std::string>();
    }
    bool boolean(const std::string& field) {
        const nlohmann::json* const found = find(field);
        if (found == nullptr) return false;
        if (!found->is_boolean()) refuse_field(name(field), "expected true or false");
        return found->get<bool>();
    }
    double number(const std::string& field, double otherwise, double least, double most) {
        const nlohmann::json* const found = find(field);
        if (found == nullptr) return otherwise;
        const double value = found->is_number() ? found->get<double>() : std::nan("");
        if (value >= least && value <= most) return value;
        refuse_field(name(field), "expected a number from " + nlohmann::json(least).dump() +
                                      " to " + nlohmann::json(most).dump());
    }
    std::optional<std::size_t> integer(const std::string& field, std::size_t least,
                                       std::size_t most) {
        const nlohmann::json* const found = find(field);
        if (found == nullptr) return std::nullopt;
        const auto* const value = found->get_ptr<const nlohmann::json::number_unsigned_t*>();
        if (value != nullptr && *value >= least && *value <= most) return *value;
        refuse_field(name(field), "expected an integer from " + std::to_string(least) + " to " +
                                      std::to_string(most));
    }
    template <std::size_t count>
    void refuse_unsupported(const std::array<Unsupported, count>& fields) {
        for (const Unsupported& field : fields) {
            const nlohmann::json* const found = find(field.name);
            if (found == nullptr || *found == nlohmann::json::parse(field.neutral)) continue;
            refuse_field(name(field.name), "is not supported by this server",
                         "unsupported_parameter");
        }
    }
    /// What none of the calls above asked for.
    void refuse_others() const {
        for (const auto& [field, value] : value_.items()) {
            if (!known_.contains(field)) {
                refuse_field(name(field), "is not known to this server", "unknown_parameter");
            }
        }
    }

private:
    const nlohmann::json& value_;
    const std::string path_;
    std::set<std::string> known_;
};

}  // namespace slip::endpoint

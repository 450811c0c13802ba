// Who may ask (SERVE-6).
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace slip::endpoint {

/// SERVE-6: the keys of a file. Only their SHA-256 stays in memory.
class ApiKeys {
public:
    /// One key per line, or a name, white space and a key; what begins with # is a comment. A key
    /// without a name is called by its line. Several keys may have one name. Throws BadInput,
    /// naming the file and the line, for a line of another form, a key of less than 16 characters
    /// or that stands twice, a file that other users may read, and one without keys.
    explicit ApiKeys(const std::filesystem::path& file);

    /// The name of the key; nothing if there is no such key. Takes the same time for every key of
    /// one length.
    std::optional<std::string> name_of(std::string_view key) const;
    /// All names that keys have.
    std::set<std::string> names() const;

private:
    using Digest = std::array<std::uint8_t, 32>;
    struct Entry {
        std::string name;
        Digest digest;
    };
    static Digest digest_of(std::string_view key);

    std::vector<Entry> entries_;
};

/// The key of an Authorization field: "Bearer KEY", or, if `basic`, "Basic BASE64" whose password
/// it is. Empty if there is none.
std::string presented_key(std::string_view authorization, bool basic);

}  // namespace slip::endpoint

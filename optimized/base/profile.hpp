// PARAM-1: the name of a profile, for everything that has to know it only as a choice.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace slip {

/// The modulus and the width of a residue; the value is its code on the wire (WIRE-2).
enum class Profile : std::uint8_t { p31 = 1, p61 = 2 };

/// "P31" or "P61", as in artifacts and on the command line.
constexpr const char* name_of(Profile profile) { return profile == Profile::p61 ? "P61" : "P31"; }

/// The profile with this name, if there is one.
constexpr std::optional<Profile> profile_named(std::string_view name) {
    for (const Profile profile : {Profile::p31, Profile::p61}) {
        if (name == name_of(profile)) return profile;
    }
    return std::nullopt;
}

}  // namespace slip

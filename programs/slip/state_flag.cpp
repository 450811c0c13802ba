#include "programs/slip/state_flag.hpp"

#include <cstdlib>
#include <string>

#include "slip/error.hpp"

namespace slip::tool {
namespace {

/// Empty if it is not set.
std::filesystem::path in_environment(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

}  // namespace

void add_state_flag(Options& options) {
    options.add("state", "DIR",
                "Charlie's folder on this host, for prepared check vectors and the count of "
                "rejected replies (default: $SLIP_STATE, or slip in $XDG_STATE_HOME, or "
                "~/.local/state/slip); never a part of a backup or an image");
}

std::filesystem::path state_folder(const Options& options) {
    if (options.has("state")) {
        if (options.required("state").empty()) throw BadInput("--state '': expected a folder");
        return options.required("state");
    }
    if (const auto own = in_environment("SLIP_STATE"); !own.empty()) return own;
    if (const auto states = in_environment("XDG_STATE_HOME"); states.is_absolute()) {
        return states / "slip";
    }
    if (const auto home = in_environment("HOME"); !home.empty()) return home / ".local/state/slip";
    throw BadInput("--state is missing, and neither SLIP_STATE, XDG_STATE_HOME nor HOME is set");
}

}  // namespace slip::tool

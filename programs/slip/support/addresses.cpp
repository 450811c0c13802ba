#include "programs/slip/support/addresses.hpp"

#include <sys/un.h>

#include <string_view>

#include "slip/error.hpp"

namespace slip::tool {
namespace {

constexpr std::string_view prefix = "shm:";
constexpr std::size_t longest_name = sizeof(sockaddr_un::sun_path) - 1;

}  // namespace

Address parse_address(const std::string& text, const std::string& flag) {
    if (!text.starts_with(prefix)) return {parse_endpoint(text, flag), {}};
    const std::string name = text.substr(prefix.size());
    if (name.empty() || name.size() > longest_name) {
        throw BadInput(flag + ": \"" + text +
                       "\": expected the name of a socket after shm:, of 1 to " +
                       std::to_string(longest_name) + " bytes");
    }
    return {{}, name};
}

std::string describe(const Address& address) {
    return address.in_memory() ? std::string(prefix) + address.socket.string()
                               : describe(address.endpoint);
}

}  // namespace slip::tool

#include "programs/endpoint/random_id.hpp"

#include <sys/random.h>

#include <array>

#include "slip/error.hpp"

namespace slip::endpoint {

std::string random_id(const char* prefix) {
    std::array<unsigned char, 12> bytes{};
    if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
        throw InternalError("the system gives no random bytes");
    }
    std::string id = prefix;
    for (const unsigned char byte : bytes) {
        id.append(1, "0123456789abcdef"[byte >> 4]).append(1, "0123456789abcdef"[byte & 15U]);
    }
    return id;
}

}  // namespace slip::endpoint

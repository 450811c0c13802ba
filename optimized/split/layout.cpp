#include "optimized/split/layout.hpp"

#include <openssl/evp.h>

#include "optimized/base/error.hpp"

namespace slip::layout {

Sha256 sha256(std::span<const std::byte> bytes) {
    Sha256 digest{};
    const int ok =
        EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
    require(ok == 1, "SHA-256 is not available in this build of OpenSSL");
    return digest;
}

std::string to_hex(const Sha256& digest) {
    constexpr const char* digits = "0123456789abcdef";
    std::string text;
    for (const std::uint8_t byte : digest) {
        text.push_back(digits[byte >> 4]);
        text.push_back(digits[byte & 15]);
    }
    return text;
}

}  // namespace slip::layout

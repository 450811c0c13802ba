#include "optimized/artifact/sha256.hpp"

#include <openssl/evp.h>

#include <algorithm>

#include "optimized/base/error.hpp"
#include "optimized/base/files.hpp"

namespace slip::artifact {

using base::require;

Sha256 sha256(std::span<const std::byte> bytes) {
    Sha256 digest{};
    const int ok =
        EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
    require(ok == 1, "SHA-256 is not available in this build of OpenSSL");
    return digest;
}

Sha256Stream::Sha256Stream() : context_(EVP_MD_CTX_new()) {
    require(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1,
            "SHA-256 is not available in this build of OpenSSL");
}

void Sha256Stream::append(std::span<const std::byte> bytes) {
    require(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1, "SHA-256 failed");
}

Sha256 Sha256Stream::finish() {
    Sha256 digest{};
    require(EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr) == 1, "SHA-256 failed");
    return digest;
}

Sha256 sha256_of_file(const std::filesystem::path& path) {
    std::error_code no_regular_file;
    const bool empty = std::filesystem::file_size(path, no_regular_file) == 0;
    if (empty && !no_regular_file) return sha256({});  // cannot be mapped
    const base::MappedFile file(path);
    Sha256Stream stream;
    constexpr std::size_t piece = std::size_t{1} << 26;
    for (std::size_t begin = 0; begin < file.bytes().size(); begin += piece) {
        stream.append(file.bytes().subspan(begin, std::min(piece, file.bytes().size() - begin)));
        file.forget_pages();
    }
    return stream.finish();
}

void Sha256Stream::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

std::string to_hex(const Sha256& digest) {
    constexpr const char* digits = "0123456789abcdef";
    std::string text;
    for (const std::uint8_t byte : digest) {
        text.push_back(digits[byte >> 4]);
        text.push_back(digits[byte & 15]);
    }
    return text;
}

std::optional<Sha256> from_hex(std::string_view text) {
    Sha256 digest{};
    const auto value_of = [](char digit) {
        constexpr std::string_view digits = "0123456789abcdef";
        return digits.find(digit);
    };
    if (text.size() != 2 * digest.size()) return std::nullopt;
    for (std::size_t i = 0; i < digest.size(); ++i) {
        const std::size_t high = value_of(text[2 * i]);
        const std::size_t low = value_of(text[2 * i + 1]);
        if (high > 15 || low > 15) return std::nullopt;
        digest[i] = static_cast<std::uint8_t>(16 * high + low);
    }
    return digest;
}

}  // namespace slip::artifact

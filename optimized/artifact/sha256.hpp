// SHA-256 by OpenSSL, and digests as text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace slip::artifact {

using Sha256 = std::array<std::uint8_t, 32>;
Sha256 sha256(std::span<const std::byte> bytes);

/// Of a file of any length, which is read in pieces. Throws BadInput, naming it, if it cannot be.
Sha256 sha256_of_file(const std::filesystem::path& path);

/// Of bytes that come in pieces.
class Sha256Stream {
public:
    Sha256Stream();
    void append(std::span<const std::byte> bytes);
    Sha256 finish();

private:
    struct Free {
        void operator()(evp_md_ctx_st* context) const;
    };
    std::unique_ptr<evp_md_ctx_st, Free> context_;
};

/// 64 lower-case digits.
std::string to_hex(const Sha256& digest);
/// The reverse; nothing if `text` is not 64 lower-case digits.
std::optional<Sha256> from_hex(std::string_view text);

}  // namespace slip::artifact

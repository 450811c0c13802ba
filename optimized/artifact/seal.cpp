#include "optimized/artifact/seal.hpp"
#include "optimized/artifact/sha256.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "optimized/base/error.hpp"
#include "optimized/base/files.hpp"

namespace slip::artifact {
namespace {

using base::require;

struct FreeCipher {
    void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }  // wipes it
};
using Cipher = std::unique_ptr<EVP_CIPHER_CTX, FreeCipher>;

void append_number(std::vector<std::uint8_t>& bytes, std::size_t number) {
    for (int shift = 0; shift < 32; shift += 8) {
        bytes.push_back(static_cast<std::uint8_t>(number >> shift));
    }
}

void append_text(std::vector<std::uint8_t>& bytes, std::string_view text) {
    bytes.insert(bytes.end(), text.begin(), text.end());
}

void hmac_sha256(std::span<const std::uint8_t> key, std::span<const std::uint8_t> message,
                 std::span<std::uint8_t, 32> result) {
    unsigned size = 0;
    require(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), message.data(),
                 message.size(), result.data(), &size) != nullptr &&
                size == result.size(),
            "HMAC-SHA-256 is not available in this build of OpenSSL");
}

/// AES-256-GCM with the number, least significant byte first, and zeros as its nonce.
Cipher start_cipher(std::span<const std::uint8_t> key, std::size_t number, bool encrypts) {
    constexpr std::size_t nonce_bytes = 12;  // GCM's own
    std::vector<std::uint8_t> nonce;
    append_number(nonce, number);
    nonce.resize(nonce_bytes);
    Cipher cipher(EVP_CIPHER_CTX_new());
    require(cipher && EVP_CipherInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key.data(),
                                        nonce.data(), encrypts ? 1 : 0) == 1,
            "AES-256-GCM is not available in this build of OpenSSL");
    return cipher;
}

void run_cipher(const Cipher& cipher, std::span<const std::uint8_t> from,
                std::span<std::uint8_t> to) {
    int written = 0;
    require(from.size() == to.size() &&
                EVP_CipherUpdate(cipher.get(), to.data(), &written, from.data(),
                                 static_cast<int>(from.size())) == 1 &&
                static_cast<std::size_t>(written) == from.size(),
            "AES-256-GCM failed");
}

/// Whether GCM accepts the tag, or has made it.
bool finish_cipher(const Cipher& cipher) {
    std::array<std::uint8_t, 16> nothing{};  // GCM has no last block
    int written = 0;
    return EVP_CipherFinal_ex(cipher.get(), nothing.data(), &written) == 1;
}

}  // namespace

SealKey::SealKey(std::filesystem::path file)
    : file_(std::move(file)), bytes_(layout::seal_key_bytes) {
    std::error_code trouble;
    if (!std::filesystem::exists(file_, trouble) && !trouble) {
        throw BadInput(file_.string() +
                       ": does not exist: expected a key of 32 random bytes; to make one: (umask "
                       "077; head -c 32 /dev/urandom > FILE)");
    }
    base::read_secret_file(file_, bytes_.span());
}

std::string SealKey::id() const {
    std::vector<std::uint8_t> message;
    append_text(message, "SLIP-2 seal id");
    Sha256 id{};
    hmac_sha256(bytes(), message, id);
    return to_hex(id);
}

GroupSeal::GroupSeal(const SealKey& key, const SealedGroup& group) : key_(layout::seal_key_bytes) {
    require(group.salt.size() == layout::salt_bytes, "GroupSeal: the size of a salt");
    std::vector<std::uint8_t> message;
    append_text(message, "SLIP-2 seal");
    message.push_back(group.set->code);
    for (const std::size_t number : {group.group, group.rows, group.columns}) {
        append_number(message, number);
    }
    message.insert(message.end(), group.seed.begin(), group.seed.end());
    message.insert(message.end(), group.salt.begin(), group.salt.end());
    hmac_sha256(key.bytes(), message, key_.span().first<layout::seal_key_bytes>());
}

void GroupSeal::seal(std::size_t number, std::span<const std::uint8_t> plain,
                     std::span<std::uint8_t> sealed, Tag tag) const {
    const Cipher cipher = start_cipher(key_.span(), number, true);
    run_cipher(cipher, plain, sealed);
    require(
        finish_cipher(cipher) && EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_AEAD_GET_TAG,
                                                     static_cast<int>(tag.size()), tag.data()) == 1,
        "AES-256-GCM failed");
}

bool GroupSeal::open(std::size_t number, std::span<const std::uint8_t> sealed, GivenTag tag,
                     std::span<std::uint8_t> plain) const {
    const Cipher cipher = start_cipher(key_.span(), number, false);
    run_cipher(cipher, sealed, plain);
    std::array<std::uint8_t, layout::tag_bytes> expected{};
    std::ranges::copy(tag, expected.begin());
    require(EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_AEAD_SET_TAG,
                                static_cast<int>(expected.size()), expected.data()) == 1,
            "AES-256-GCM failed");
    if (finish_cipher(cipher)) return true;
    base::wipe(plain.data(), plain.size());
    return false;
}

}  // namespace slip::artifact

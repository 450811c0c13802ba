#include "programs/endpoint/api_keys.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/stat.h>

#include <algorithm>
#include <sstream>

#include "optimized/base/error.hpp"
#include "optimized/base/files.hpp"

namespace slip::endpoint {
namespace {

constexpr std::size_t least_key_bytes = 16;
constexpr std::size_t most_file_bytes = std::size_t{1} << 20;

void require_private(const std::filesystem::path& file) {
    struct stat status {};
    if (::stat(file.c_str(), &status) != 0) return;  // reading it says why
    if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        throw BadInput(file.string() + ": other users may use these keys: expected mode 0600");
    }
}

/// Whether the words begin as "SCHEME ", in any case; then they are what follows.
bool take_scheme(std::string_view& words, std::string_view scheme) {
    if (words.size() <= scheme.size() || words[scheme.size()] != ' ') return false;
    const auto same = [](char own, char expected) { return (own | 0x20) == expected; };
    if (!std::equal(scheme.begin(), scheme.end(), words.begin(),
                    [&](char expected, char own) { return same(own, expected); })) {
        return false;
    }
    words.remove_prefix(scheme.size() + 1);
    return true;
}

std::string decoded_base64(std::string_view text) {
    std::string decoded(text.size() / 4 * 3 + 3, '\0');
    const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(decoded.data()),
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()));
    if (size < 0) return {};
    decoded.resize(static_cast<std::size_t>(size));
    while (text.ends_with('=') && !decoded.empty()) {  // padding counts as zeros
        text.remove_suffix(1);
        decoded.pop_back();
    }
    return decoded;
}

}  // namespace

ApiKeys::ApiKeys(const std::filesystem::path& file) {
    require_private(file);
    std::istringstream lines(base::read_file(file, most_file_bytes));
    std::size_t number = 0;
    for (std::string line; std::getline(lines, line);) {
        const std::string where = file.string() + ", line " + std::to_string(++number) + ": ";
        std::istringstream words(line);
        std::string first;
        std::string second;
        std::string rest;
        words >> first >> second >> rest;
        if (first.empty() || first.front() == '#') continue;
        if (!rest.empty()) throw BadInput(where + "expected a key, or a name and a key");
        const std::string key = second.empty() ? first : second;
        if (key.size() < least_key_bytes) {
            throw BadInput(where + "expected a key of at least 16 characters");
        }
        if (name_of(key)) throw BadInput(where + "this key stands twice");
        entries_.push_back(
            {second.empty() ? "line " + std::to_string(number) : first, digest_of(key)});
    }
    if (entries_.empty()) throw BadInput(file.string() + ": holds no key");
}

ApiKeys::Digest ApiKeys::digest_of(std::string_view key) {
    Digest digest{};
    const bool done =
        EVP_Digest(key.data(), key.size(), digest.data(), nullptr, EVP_sha256(), nullptr) == 1;
    base::require(done, "OpenSSL has no SHA-256");
    return digest;
}

// SERVE-6: digests are compared, all of them, whole.
std::optional<std::string> ApiKeys::name_of(std::string_view key) const {
    const Digest digest = digest_of(key);
    const Entry* found = nullptr;
    for (const Entry& entry : entries_) {
        if (CRYPTO_memcmp(entry.digest.data(), digest.data(), digest.size()) == 0) found = &entry;
    }
    if (found == nullptr) return std::nullopt;
    return found->name;
}

std::set<std::string> ApiKeys::names() const {
    std::set<std::string> names;
    for (const Entry& entry : entries_) names.insert(entry.name);
    return names;
}

std::string presented_key(std::string_view authorization, bool basic) {
    if (take_scheme(authorization, "bearer")) return std::string(authorization);
    if (!basic || !take_scheme(authorization, "basic")) return {};
    const std::string both = decoded_base64(authorization);
    const std::size_t colon = both.find(':');
    return colon == std::string::npos ? std::string{} : both.substr(colon + 1);
}

}  // namespace slip::endpoint

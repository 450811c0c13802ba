#include "programs/endpoint/client_seeds.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <array>
#include <cstring>
#include <string>

#include "optimized/base/error.hpp"

namespace slip::endpoint {
namespace {

constexpr std::size_t key_bytes = 32;

template <class Number>
void append(std::string& message, const Number& number) {
    message.append(reinterpret_cast<const char*>(&number), sizeof number);
}

}  // namespace

ClientSeeds::ClientSeeds() : key_(key_bytes) {
    if (::getrandom(key_.data(), key_bytes, 0) != static_cast<ssize_t>(key_bytes)) {
        throw InternalError("the system gives no random bytes");
    }
}

std::uint64_t ClientSeeds::seed_for(const SamplingOptions& options, std::span<const TokenId> prompt,
                                    const std::string& texts) const {
    std::string message;
    append(message, options.seed);
    append(message, options.top_k);
    for (const double number :
         {options.temperature, options.top_p, options.min_p, options.repetition_penalty,
          options.presence_penalty, options.frequency_penalty}) {
        append(message, number);
    }
    append(message, options.logit_bias.size());
    for (const auto& [id, bias] : options.logit_bias) {
        append(message, id);
        append(message, bias);
    }
    append(message, texts.size());
    message += texts;
    for (const TokenId id : prompt) append(message, id);
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    unsigned size = 0;
    base::require(HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_bytes),
                       reinterpret_cast<const unsigned char*>(message.data()), message.size(),
                       digest.data(), &size) != nullptr,
                  "HMAC-SHA-256 is not available in this build of OpenSSL");
    std::uint64_t seed = 0;
    std::memcpy(&seed, digest.data(), sizeof seed);
    return seed;
}

}  // namespace slip::endpoint

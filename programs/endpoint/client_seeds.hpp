// What the seeds of clients become (SERVE-10).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "optimized/base/secret_buffer.hpp"
#include "slip/sampling.hpp"

namespace slip::endpoint {

/// Seeds under a key that is drawn anew for each object. Any number of threads may ask.
class ClientSeeds {
public:
    ClientSeeds();

    /// For one seed, prompt and options always the same; for any others, apart from max_tokens,
    /// one that tells nothing of it. `texts`: what the answer may be.
    std::uint64_t seed_for(const SamplingOptions& options, std::span<const TokenId> prompt,
                           const std::string& texts = {}) const;

private:
    base::SecretBuffer<std::uint8_t> key_;
};

}  // namespace slip::endpoint

// Keys and values of past generations, for prompts that begin as they did: SERVE-4.
#pragma once

#include <cstddef>
#include <list>
#include <span>
#include <string>
#include <vector>

#include "optimized/graph/kv_cache.hpp"
#include "slip/types.hpp"

namespace slip::serving {

/// The first positions of a cache that a prompt can begin with; of no cache if there are none.
struct Beginning {
    const graph::KvCache* cache = nullptr;
    std::size_t length = 0;
};

/// What `cache`, whose tokens are the first of `tokens`, has for `prompt`: the longest common
/// beginning but for the last token of the prompt, whose logits are wanted. `longer`: which keys
/// the prompt needs (MODEL-14).
Beginning common_beginning(std::span<const TokenId> prompt, std::span<const TokenId> tokens,
                           const graph::KvCache& cache, bool longer);

/// The caches of generations that have ended, as many as fit; the least recently used go first.
class KeptPrompts {
public:
    /// `bytes`: the most that is kept; 0: nothing.
    explicit KeptPrompts(std::size_t bytes) : limit_(bytes) {}

    bool keeps_any() const { return limit_ > 0; }
    /// The longest beginning that is kept for the tenant, which counts as used now. It stays valid
    /// until keep() is called.
    Beginning find(const std::string& tenant, std::span<const TokenId> prompt, bool longer);
    /// Keeps the cache of the first tokens of `tokens`, unless the tenant is empty, nobody could
    /// use it, or it does not fit. It replaces those of the same tenant that it continues.
    void keep(const std::string& tenant, std::vector<TokenId> tokens, graph::KvCache&& cache);

    std::size_t bytes() const { return bytes_; }

private:
    struct Kept {
        std::string tenant;
        std::vector<TokenId> tokens;  // as many as the cache has
        graph::KvCache cache;
    };
    void drop_continued_by(const Kept& kept);

    const std::size_t limit_;
    std::size_t bytes_ = 0;
    std::list<Kept> kept_;  // the most recently used first
};

}  // namespace slip::serving

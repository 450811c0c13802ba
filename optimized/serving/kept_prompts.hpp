// Keys and values of past generations, for prompts that begin as they did: SERVE-4.
#pragma once

#include <cstddef>
#include <list>
#include <map>
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

/// The caches of generations that have ended. Each tenant has a share of the memory, of the same
/// size, so that what is kept of one does not depend on what others ask.
class KeptPrompts {
public:
    /// `bytes`: the most that is kept; 0: nothing. `tenants`: how many have a share, the first ones
    /// of whom something is kept; at least one.
    KeptPrompts(std::size_t bytes, std::size_t tenants);

    bool keeps_any() const { return share_ > 0; }
    /// Bytes of one tenant's share.
    std::size_t share() const { return share_; }
    /// Whether the tenant has a share or one is left for him. The empty name has none.
    bool has_share_for(const std::string& tenant) const;
    /// The longest beginning that is kept for the tenant, which counts as used now. It stays valid
    /// until keep() is called.
    Beginning find(const std::string& tenant, std::span<const TokenId> prompt, bool longer);
    /// Keeps the cache of the first tokens of `tokens`, unless there is no share for the tenant,
    /// nobody could use it, or it is larger than a share. It replaces those of the same tenant that
    /// it continues; then his least recently used ones go until it fits.
    void keep(const std::string& tenant, std::vector<TokenId> tokens, graph::KvCache&& cache);

    /// Bytes of all tenants together.
    std::size_t bytes() const;

private:
    struct Kept {
        std::vector<TokenId> tokens;  // as many as the cache has
        graph::KvCache cache;
    };
    /// What is kept of one tenant.
    struct Share {
        std::size_t bytes = 0;
        std::list<Kept> kept;  // the most recently used first

        void drop_continued_by(const Kept& newest);
        void drop_last();
    };

    const std::size_t share_;
    const std::size_t tenants_;
    std::map<std::string, Share> shares_;
};

}  // namespace slip::serving

#include "optimized/serving/kept_prompts.hpp"

#include <algorithm>
#include <utility>

namespace slip::serving {

Beginning common_beginning(std::span<const TokenId> prompt, std::span<const TokenId> tokens,
                           const graph::KvCache& cache, bool longer) {
    const auto known = tokens.first(std::min(tokens.size(), cache.length()));
    const auto wanted = prompt.first(prompt.size() - 1);
    const auto end = std::mismatch(known.begin(), known.end(), wanted.begin(), wanted.end());
    const auto length = static_cast<std::size_t>(end.first - known.begin());
    if (length == 0 || !cache.has_keys_for(longer) || !cache.keeps(length)) return {};
    return {&cache, length};
}

KeptPrompts::KeptPrompts(std::size_t bytes, std::size_t tenants)
    : share_(bytes / tenants), tenants_(tenants) {}

bool KeptPrompts::has_share_for(const std::string& tenant) const {
    return !tenant.empty() && (shares_.contains(tenant) || shares_.size() < tenants_);
}

Beginning KeptPrompts::find(const std::string& tenant, std::span<const TokenId> prompt,
                            bool longer) {
    const auto share = shares_.find(tenant);
    if (share == shares_.end()) return {};
    std::list<Kept>& kept = share->second.kept;
    Beginning longest;
    auto used = kept.end();
    for (auto one = kept.begin(); one != kept.end(); ++one) {
        const Beginning found = common_beginning(prompt, one->tokens, one->cache, longer);
        if (found.length <= longest.length) continue;
        longest = found;
        used = one;
    }
    if (used != kept.end()) kept.splice(kept.begin(), kept, used);
    return longest;
}

void KeptPrompts::keep(const std::string& tenant, std::vector<TokenId> tokens,
                       graph::KvCache&& cache) {
    const std::size_t bytes = cache.bytes();
    if (!has_share_for(tenant) || bytes > share_) return;
    if (cache.length() == 0 || !cache.keeps(cache.length())) return;
    tokens.resize(cache.length());
    Kept kept{std::move(tokens), std::move(cache)};
    Share& share = shares_[tenant];
    share.drop_continued_by(kept);
    while (share.bytes + bytes > share_) share.drop_last();
    share.kept.push_front(std::move(kept));
    share.bytes += bytes;
}

std::size_t KeptPrompts::bytes() const {
    std::size_t sum = 0;
    for (const auto& [tenant, share] : shares_) sum += share.bytes;
    return sum;
}

/// Of what the new one continues, all is found in it, unless windows have dropped it.
void KeptPrompts::Share::drop_continued_by(const Kept& newest) {
    for (auto other = kept.begin(); other != kept.end();) {
        const bool continued =
            other->cache.longer() == newest.cache.longer() &&
            other->tokens.size() <= newest.tokens.size() &&
            std::equal(other->tokens.begin(), other->tokens.end(), newest.tokens.begin()) &&
            newest.cache.keeps(other->tokens.size());
        if (continued) bytes -= other->cache.bytes();
        other = continued ? kept.erase(other) : std::next(other);
    }
}

void KeptPrompts::Share::drop_last() {
    bytes -= kept.back().cache.bytes();
    kept.pop_back();
}

}  // namespace slip::serving

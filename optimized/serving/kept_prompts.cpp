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

Beginning KeptPrompts::find(const std::string& tenant, std::span<const TokenId> prompt,
                            bool longer) {
    Beginning longest;
    auto used = kept_.end();
    for (auto kept = kept_.begin(); kept != kept_.end(); ++kept) {
        if (kept->tenant != tenant) continue;
        const Beginning found = common_beginning(prompt, kept->tokens, kept->cache, longer);
        if (found.length <= longest.length) continue;
        longest = found;
        used = kept;
    }
    if (used != kept_.end()) kept_.splice(kept_.begin(), kept_, used);
    return longest;
}

/// Of what the new one continues, all is found in it, unless windows have dropped it.
void KeptPrompts::drop_continued_by(const Kept& kept) {
    for (auto other = kept_.begin(); other != kept_.end();) {
        const bool continued =
            other->tenant == kept.tenant && other->cache.longer() == kept.cache.longer() &&
            other->tokens.size() <= kept.tokens.size() &&
            std::equal(other->tokens.begin(), other->tokens.end(), kept.tokens.begin()) &&
            kept.cache.keeps(other->tokens.size());
        if (continued) bytes_ -= other->cache.bytes();
        other = continued ? kept_.erase(other) : std::next(other);
    }
}

void KeptPrompts::keep(const std::string& tenant, std::vector<TokenId> tokens,
                       graph::KvCache&& cache) {
    const std::size_t bytes = cache.bytes();
    if (tenant.empty() || bytes > limit_ || cache.length() == 0 || !cache.keeps(cache.length())) {
        return;
    }
    tokens.resize(cache.length());
    Kept kept{tenant, std::move(tokens), std::move(cache)};
    drop_continued_by(kept);
    for (; bytes_ + bytes > limit_; kept_.pop_back()) bytes_ -= kept_.back().cache.bytes();
    kept_.push_front(std::move(kept));
    bytes_ += bytes;
}

}  // namespace slip::serving

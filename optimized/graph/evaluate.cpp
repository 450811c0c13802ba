// MODEL-12: perplexity and multiple choice.
#include "optimized/graph/evaluate.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "optimized/base/parallel.hpp"

namespace slip::graph {
namespace {

using base::require;

/// Tokens that go through the engine at once.
constexpr std::size_t batch = 64;

/// -log softmax(logits)[id], in nats.
double negative_log_likelihood(std::span<const float> logits, TokenId id) {
    const double largest = *std::max_element(logits.begin(), logits.end());
    double total = 0;
    for (const float logit : logits) total += std::exp(static_cast<double>(logit) - largest);
    return std::log(total) + largest - static_cast<double>(logits[static_cast<std::size_t>(id)]);
}

/// One text after the other through a model, the memory kept.
class Reader {
public:
    Reader(const Transformer& model, base::Engine& engine)
        : model_(model), engine_(engine), cache_(model.config()) {}

    /// Forgets all but the first `length` tokens.
    void rewind(std::size_t length) { cache_.truncate(length); }

    /// Reads tokens[cached .. end).
    void read(std::span<const TokenId> tokens, std::size_t end) {
        while (cache_.length() < end) {
            const std::size_t count = std::min(batch, end - cache_.length());
            forward(tokens.subspan(cache_.length(), count), Logits::none);
        }
    }

    /// The negative log-likelihood of the last `scored` tokens. The last one is not read: nothing
    /// follows it, but its logit is looked up.
    double score(std::span<const TokenId> tokens, std::size_t scored) {
        require_in_vocabulary(tokens.last(scored), model_.config());
        read(tokens, tokens.size() - 1 - scored);
        double sum = 0;
        while (cache_.length() + 1 < tokens.size()) {
            const std::size_t first = cache_.length();
            const std::size_t count = std::min(batch, tokens.size() - 1 - first);
            forward(tokens.subspan(first, count), Logits::every_position);
            for (std::size_t t = 0; t < count; ++t) {
                const std::size_t width = model_.config().vocab_size;
                const auto row = std::span(logits_).subspan(t * width, width);
                sum += negative_log_likelihood(row, tokens[first + t + 1]);
            }
        }
        return sum;
    }

private:
    void forward(std::span<const TokenId> ids, Logits wanted) {
        model_.forward(engine_, workspace_, {cache_, ids, wanted}, logits_);
    }

    const Transformer& model_;
    base::Engine& engine_;
    KvCache cache_;
    Workspace workspace_{base::available_threads()};
    std::vector<float> logits_;
};

/// Keeps the end of a text that does not fit `context` positions and one more token.
void cut_to(std::size_t context, Continuation& continuation) {
    if (continuation.scored > context) {
        throw BadInput("a continuation of " + std::to_string(continuation.scored) +
                       " tokens does not fit the model's context of " + std::to_string(context));
    }
    auto& tokens = continuation.tokens;
    if (tokens.size() <= context + 1) return;
    tokens.erase(tokens.begin(), tokens.end() - static_cast<std::ptrdiff_t>(context + 1));
}

/// How many tokens all continuations begin with and none scores or predicts from.
std::size_t common_start(const std::vector<Continuation>& continuations) {
    const std::vector<TokenId>& model = continuations.front().tokens;
    std::size_t common = model.size();
    for (const Continuation& each : continuations) {
        const auto end =
            std::mismatch(model.begin(), model.end(), each.tokens.begin(), each.tokens.end());
        common = std::min({common, static_cast<std::size_t>(end.first - model.begin()),
                           each.tokens.size() - 1 - each.scored});
    }
    return common;
}

}  // namespace

}  // namespace slip::graph

namespace slip {

double PerplexityResult::perplexity() const { return std::exp(nll / static_cast<double>(tokens)); }

std::size_t window_count(std::size_t tokens, const Windows& windows) {
    if (windows.stride < 1 || windows.stride > windows.length) {
        throw BadInput("windows of " + std::to_string(windows.length) + " tokens, stride " +
                       std::to_string(windows.stride) + ": expected 1 <= stride <= length");
    }
    if (tokens <= windows.length) return tokens == 0 ? 0 : 1;
    return 1 + (tokens - windows.length + windows.stride - 1) / windows.stride;
}

}  // namespace slip

namespace slip::graph {
namespace {

/// How many of `tokens` tokens the windows before this one score.
std::size_t scored_before(std::size_t window, std::size_t tokens, const Windows& windows) {
    if (window == 0) return 0;
    return std::min(tokens, windows.length + (window - 1) * windows.stride);
}

void require_windows(const Transformer& model, const Windows& windows) {
    require(windows.stride >= 1 && windows.stride <= windows.length &&
                windows.length <= model.config().max_position_embeddings,
            "perplexity: the stride must be within the window, and the window within the context");
}

}  // namespace

std::vector<double> window_losses(const Transformer& model, base::Engine& engine,
                                  std::span<const TokenId> ids, TokenId before, Windows windows,
                                  WindowRange range,
                                  const std::function<void(std::size_t)>& progress) {
    require_windows(model, windows);
    require(range.first <= range.end && range.end <= window_count(ids.size(), windows),
            "perplexity: there are fewer windows");
    std::vector<TokenId> tokens{before};
    tokens.insert(tokens.end(), ids.begin(), ids.end());
    Reader reader(model, engine);
    std::vector<double> losses;
    for (std::size_t window = range.first; window < range.end; ++window) {
        const std::size_t done = scored_before(window + 1, ids.size(), windows);
        const std::size_t scored = done - scored_before(window, ids.size(), windows);
        // tokens[done] is the last that is scored; the window is what stands before it.
        const std::size_t length = std::min(done, windows.length);
        reader.rewind(0);
        losses.push_back(
            reader.score(std::span(tokens).subspan(done - length, length + 1), scored));
        if (progress) progress(window + 1 - range.first);
    }
    return losses;
}

PerplexityResult perplexity(const Transformer& model, base::Engine& engine,
                            std::span<const TokenId> ids, TokenId before, Windows windows,
                            const std::function<void(std::uint64_t)>& progress) {
    PerplexityResult result;
    require_windows(model, windows);
    const WindowRange all{0, window_count(ids.size(), windows)};
    const auto tokens_done = [&](std::size_t window) {
        if (progress) progress(scored_before(window, ids.size(), windows));
    };
    for (const double loss : window_losses(model, engine, ids, before, windows, all, tokens_done)) {
        result.nll += loss;
    }
    result.tokens = ids.size();
    return result;
}

std::vector<double> log_likelihoods(const Transformer& model, base::Engine& engine,
                                    std::vector<Continuation> continuations) {
    require(!continuations.empty(), "log_likelihoods: no continuation");
    for (Continuation& each : continuations) {
        require(each.scored >= 1 && each.scored < each.tokens.size(),
                "log_likelihoods: score at least one token, and not the first");
        cut_to(model.config().max_position_embeddings, each);
    }
    Reader reader(model, engine);
    const std::size_t common = common_start(continuations);
    reader.read(continuations.front().tokens, common);
    std::vector<double> found;
    for (const Continuation& each : continuations) {
        reader.rewind(common);
        found.push_back(-reader.score(each.tokens, each.scored));
    }
    return found;
}

}  // namespace slip::graph

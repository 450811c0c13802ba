#include "slip/evaluate.hpp"

#include <string>
#include <utility>

#include "optimized/api/access.hpp"
#include "optimized/base/error.hpp"
#include "optimized/graph/evaluate.hpp"

namespace slip {
namespace {

/// The ids of `text`, after what stands before texts where the family or an empty context needs it.
std::vector<TokenId> encode_after(std::string_view context, const std::string& text,
                                  const Access::LanguageState& state) {
    const base::ModelConfig& config = state.graph->config();
    const importing::Tokenizer& tokenizer = state.required_tokenizer();
    std::vector<TokenId> ids = tokenizer.before_texts().value_or(std::vector<TokenId>());
    const bool family_begins = !tokenizer.before_texts() && config.starts_with_bos();
    if (ids.empty() && (family_begins || context.empty())) ids.push_back(api::before_texts(config));
    const std::vector<TokenId> text_ids = tokenizer.encode(text);
    ids.insert(ids.end(), text_ids.begin(), text_ids.end());
    return ids;
}

std::vector<graph::Continuation> continuations_of(std::string_view context,
                                                  std::span<const std::string> endings,
                                                  const Access::LanguageState& state) {
    const std::size_t given = encode_after(context, std::string(context), state).size();
    std::vector<graph::Continuation> continuations;
    for (const std::string& ending : endings) {
        auto ids = encode_after(context, std::string(context) + " " + ending, state);
        if (given == 0 || ids.size() <= given) {
            throw BadInput("an ending adds no token to \"" + std::string(context) + "\"");
        }
        const std::size_t scored = ids.size() - given;
        continuations.push_back({std::move(ids), scored});
    }
    return continuations;
}

void require_windows(const LanguageModel& model, std::span<const TokenId> ids,
                     const Windows& windows) {
    if (ids.empty()) throw BadInput("the text has no token");
    if (windows.stride < 1 || windows.stride > windows.length ||
        windows.length > model.max_positions()) {
        throw BadInput("windows of " + std::to_string(windows.length) + " tokens, stride " +
                       std::to_string(windows.stride) +
                       ": expected 1 <= stride <= length <= the model's context of " +
                       std::to_string(model.max_positions()));
    }
}

}  // namespace

PerplexityResult perplexity(LanguageModel& model, std::span<const TokenId> ids,
                            const Windows& windows,
                            const std::function<void(std::uint64_t)>& progress) {
    require_windows(model, ids, windows);
    const Access::LanguageState& state = Access::of(model);
    return graph::perplexity(*state.graph, state.runtime->engine(), ids,
                             api::before_texts(state.graph->config()), windows, progress);
}

std::vector<double> window_losses(LanguageModel& model, std::span<const TokenId> ids,
                                  const Windows& windows, WindowRange range,
                                  const std::function<void(std::size_t)>& progress) {
    require_windows(model, ids, windows);
    const std::size_t count = window_count(ids.size(), windows);
    if (range.first > range.end || range.end > count) {
        throw BadInput("windows " + std::to_string(range.first) + " to " +
                       std::to_string(range.end) + ": the text has " + std::to_string(count));
    }
    const Access::LanguageState& state = Access::of(model);
    return graph::window_losses(*state.graph, state.runtime->engine(), ids,
                                api::before_texts(state.graph->config()), windows, range, progress);
}

std::vector<double> log_likelihoods(LanguageModel& model, std::string_view context,
                                    std::span<const std::string> endings) {
    const Access::LanguageState& state = Access::of(model);
    if (endings.empty()) throw BadInput("there is no ending: expected at least one");
    return graph::log_likelihoods(*state.graph, state.runtime->engine(),
                                  continuations_of(context, endings, state));
}

}  // namespace slip

// How good a language model is: perplexity and multiple choice (MODEL-12).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "slip/export.hpp"
#include "slip/language_model.hpp"

namespace SLIP_API slip {

/// How a text that is longer than the model's context is read.
struct Windows {
    std::size_t length = 0;  ///< tokens that the model sees at once, 1 to max_positions()
    std::size_t stride = 0;  ///< tokens that a window scores, but for the first: 1 to length
};

/// How many windows a text of so many tokens is read in. Throws BadInput for a stride of 0, or one
/// longer than the windows.
std::size_t window_count(std::size_t tokens, const Windows& windows);

/// Windows of a text from `first` on, up to `end`.
struct WindowRange {
    std::size_t first = 0;  ///< the first window
    std::size_t end = 0;    ///< one past the last; at most window_count()
};

/// How well a model predicts a text.
struct PerplexityResult {
    std::uint64_t tokens = 0;  ///< that were scored
    double nll = 0;            ///< the negative log-likelihood of all tokens, in nats
    /// e to the power of nll per token.
    double perplexity() const;
};

/// Adds up the negative log-likelihoods of all `ids`, which stand after BOS, or after EOS where
/// there is no BOS. The first window scores as many as it is long; every later one scores the next
/// `stride` ids, the last of its `length` successors. `progress` sees the tokens done. Throws
/// BadInput, naming the windows, unless they are as above; if there are no ids; if the model has
/// neither BOS nor EOS; and what LanguageModel::forward() throws.
[[nodiscard]] PerplexityResult perplexity(
    LanguageModel& model, std::span<const TokenId> ids, const Windows& windows,
    const std::function<void(std::uint64_t done)>& progress = {});

/// The negative log-likelihood, in nats, of what each window of the range scores. Added up from the
/// first to the last, those of all windows are perplexity()'s `nll`, bit for bit, so several
/// processes may each take a range. `progress` sees the windows done. Throws BadInput as
/// perplexity() does, and for a range beyond the text.
std::vector<double> window_losses(LanguageModel& model, std::span<const TokenId> ids,
                                  const Windows& windows, WindowRange range,
                                  const std::function<void(std::size_t done)>& progress = {});

/// The log-likelihood, in nats, of each ending after `context`. Context and ending are tokenised
/// together, with a blank between them; what goes beyond as many tokens as the context alone has is
/// scored. Of a text that does not fit the model's context the end counts. Throws BadInput if there
/// is no ending, if one adds no token to the context, if more is scored than fits, and as
/// perplexity() and LanguageModel::encode().
[[nodiscard]] std::vector<double> log_likelihoods(LanguageModel& model, std::string_view context,
                                                  std::span<const std::string> endings);

}  // namespace slip

// How tokens are chosen from logits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "slip/export.hpp"
#include "slip/types.hpp"

namespace SLIP_API slip {

/// How the next token is chosen, and how many (MODEL-17). Bias and penalties change the logits
/// first; then the temperature; of what remains, `top_k`, `top_p` and `min_p` each leave some
/// tokens out, in this order.
struct SamplingOptions {
    /// New tokens at most. 0: the prompt is validated; nothing is generated.
    std::size_t max_tokens = 0;
    double temperature = 0;  ///< 0 is greedy: the largest logit, the lowest id among equals
    std::uint64_t seed = 0;  ///< of the random choices at a temperature above 0
    std::size_t top_k = 0;   ///< how many of the likeliest stay; 0: all
    double top_p = 1;        ///< only the fewest likeliest that have this probability together
    double min_p = 0;        ///< only those with this share of the likeliest one's probability
    double repetition_penalty = 1;  ///< divides positive logits of tokens that stand there already
    double presence_penalty = 0;    ///< subtracted from logits of tokens that were generated
    double frequency_penalty = 0;   ///< the same, for each time
    /// Added to the logits of these tokens before anything else.
    std::vector<std::pair<TokenId, double>> logit_bias = {};
    /// Tokens that are guessed from the text so far, and verified in one message; 0 to 15. They
    /// change no token and no logit, only how many messages there are, with how many columns; and
    /// these tell David where the text repeats itself (MODEL-21). LanguageModel and Sequence alone;
    /// see SchedulerOptions::guesses.
    std::size_t guesses = 0;
};

/// Sees each new token and the logits, one per id of the vocabulary, that it was chosen from;
/// returns whether to go on.
using OnToken = std::function<bool(TokenId id, std::span<const float> logits)>;

}  // namespace slip

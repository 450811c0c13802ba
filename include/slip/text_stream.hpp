// The text of a generation, while it is generated.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "slip/export.hpp"
#include "slip/language_model.hpp"
#include "slip/types.hpp"

namespace SLIP_API slip {

/// Turns the ids of one generation into text as they come, in whole UTF-8 characters (MODEL-15): a
/// character that several tokens make up comes with the last of them. A token costs a few others'
/// decoding, however long the text is.
class TextStream {
public:
    /// `prompt` is what the generation continues. The text ends before the first of `stops`, which
    /// are UTF-8 and not empty. The model, which outlives this, has a tokenizer.
    TextStream(const LanguageModel& model, std::span<const TokenId> prompt,
               std::vector<std::string> stops = {});
    /// What `id` completes; often nothing. What may be the beginning of a stop is held back. Throws
    /// BadInput, naming the id, for one outside the vocabulary.
    [[nodiscard]] std::string push(TokenId id);
    /// What is left: U+FFFD for a character that was not completed.
    [[nodiscard]] std::string finish();
    /// Whether a stop has come: the generation may end.
    bool stopped() const { return stopped_; }

private:
    std::string take(bool all);
    std::string up_to_stop(bool all);

    const LanguageModel* model_;
    std::vector<TokenId> ids_;  // the latest ones
    std::size_t shown_ = 0;     // bytes of their text
    std::vector<std::string> stops_;
    std::string held_;  // text that may be the beginning of a stop
    bool stopped_ = false;
};

}  // namespace slip

// A language model that runs: text and token ids in; text, token ids and logits out.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "slip/export.hpp"
#include "slip/run_statistics.hpp"
#include "slip/sampling.hpp"
#include "slip/types.hpp"

namespace SLIP_API slip {

class SLIP_HIDDEN Access;

/// A token by itself.
struct Token {
    /// The bytes that it adds to a text that has begun, perhaps a part of a character. Of a special
    /// token, which adds none, how it is written.
    std::string text;
    bool special = false;  ///< it adds nothing to a text
};

/// A language model and what multiplies for it. open_checkpoint(), open_unsplit() and
/// open_charlie() make one. The functions that are not const are called by one thread at a time;
/// the others by any number of threads, also meanwhile.
///
/// If it runs over the protocol, it holds one session, which its destructor ends in order. Then
/// every function that computes also throws IntegrityError for a wrong reply and ProtocolError if
/// the connection fails; after either the session is dead (SESS-4), and an inference is repeated
/// with a model that is opened anew.
class LanguageModel {
public:
    /// One that was moved from can only be assigned to or destroyed.
    LanguageModel(LanguageModel&&) noexcept;
    /// As the constructor.
    LanguageModel& operator=(LanguageModel&&) noexcept;
    ~LanguageModel();

    /// Ids are 0 to vocabulary_size() - 1.
    [[nodiscard]] std::size_t vocabulary_size() const;
    /// The longest sequence, in tokens.
    [[nodiscard]] std::size_t max_positions() const;

    /// Whether the model came with a tokenizer. Without one it takes and gives token ids only, and
    /// the next five functions throw BadInput, naming the folder that lacks it.
    [[nodiscard]] bool has_tokenizer() const;
    /// The ids of `text`, without BOS and EOS.
    [[nodiscard]] std::vector<TokenId> encode(std::string_view text) const;
    /// The ids that a generation which continues `text` begins with: after BOS where the family
    /// has one before texts, or where there is nothing else to begin with.
    [[nodiscard]] std::vector<TokenId> encode_prompt(std::string_view text) const;
    /// Throws BadInput, naming the id, for one outside the vocabulary.
    [[nodiscard]] std::string decode(std::span<const TokenId> ids) const;
    /// One token by itself; special and without text if the tokenizer does not know it. Throws as
    /// decode().
    [[nodiscard]] Token token(TokenId id) const;
    /// What `ids` add to the text of `prompt`: the two decoded together, so that no space is lost.
    [[nodiscard]] std::string continuation(std::span<const TokenId> prompt,
                                           std::span<const TokenId> ids) const;

    /// Extends `prompt` until max_tokens or EOS, or until `on_token` returns false, and returns the
    /// new ids: EOS is not among them, the token that `on_token` stopped at is. A generation that
    /// was stopped, by false or by an exception of `on_token`, leaves the model, and its session,
    /// ready for the next call. Throws BadInput if the prompt is empty, holds an id outside the
    /// vocabulary, or does not fit max_positions() together with max_tokens, and for options
    /// out of their ranges.
    std::vector<TokenId> generate(std::span<const TokenId> prompt, const SamplingOptions& options,
                                  const OnToken& on_token = {});
    /// The logits of every position: ids.size() rows of vocabulary_size(). Throws BadInput for ids
    /// that generate() would refuse as a prompt.
    [[nodiscard]] std::vector<float> forward(std::span<const TokenId> ids);

    /// Blocks until this many masks per group are ready, at most as many as are kept. Returns at
    /// once without a protocol.
    void wait_for_masks(std::size_t masks_per_group);

    /// Since it was opened. Not while another function computes.
    [[nodiscard]] RunStatistics statistics() const;

private:
    friend class Access;
    struct SLIP_HIDDEN State;
    explicit LanguageModel(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace slip

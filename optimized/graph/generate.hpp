// Generation, the same for every engine.
#pragma once

#include <span>
#include <vector>

#include "optimized/graph/transformer.hpp"
#include "slip/sampling.hpp"

namespace slip::graph {

/// The positions that prompt and new tokens take. Throws BadInput for what
/// LanguageModel::generate() refuses.
std::size_t positions_for(const Transformer& model, std::span<const TokenId> prompt,
                          const SamplingOptions& options);

/// How many guesses (MODEL-21) a step may verify of a sequence of `length` tokens, the last of them
/// an input of the step, when up to `further` tokens, at least one, are wanted. The last new token
/// is never an input. Keys of a longer sequence, with longrope, are not those of the tokens before
/// them (MODEL-14).
std::size_t room_for_guesses(const base::ModelConfig& config, std::size_t length,
                             std::size_t further);

/// What one generation leaves for the next: its tokens, and their keys and values (MODEL-3).
class KeptSequence {
public:
    explicit KeptSequence(const base::ModelConfig& config) : cache_(config) {}

    /// Keeps the longest beginning that the sequence shares with `prompt`, which is not empty, but
    /// not all of the prompt: its last token's logits are wanted. Returns what is to be computed.
    std::span<const TokenId> begin(std::span<const TokenId> prompt);
    /// Appends `ids` and writes the logits that are wanted. Throws what Transformer::forward()
    /// throws; then the sequence is as before.
    void extend(const Transformer& model, base::Engine& engine, Workspace& workspace,
                std::span<const TokenId> ids, Logits wanted, std::vector<float>& logits);
    /// Forgets all tokens but the first `length`, which it has.
    void truncate(std::size_t length);
    void reserve(std::size_t positions) { cache_.reserve(positions); }

private:
    KvCache cache_;
    std::vector<TokenId> ids_;  // of the positions that the cache holds
};

/// LanguageModel::generate(), for any graph and engine; BOS is included by the caller. Begins with
/// what `sequence` and the prompt share, and leaves the sequence as far as it was computed, guesses
/// of the last step (MODEL-21) included. The sequence is one of this graph alone.
std::vector<TokenId> generate(const Transformer& model, base::Engine& engine,
                              KeptSequence& sequence, std::span<const TokenId> prompt,
                              const SamplingOptions& options, const OnToken& on_token);
/// The same with a sequence of its own.
std::vector<TokenId> generate(const Transformer& model, base::Engine& engine,
                              std::span<const TokenId> prompt, const SamplingOptions& options,
                              const OnToken& on_token);

}  // namespace slip::graph

// Generations of which each goes on where the one before it ended.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "slip/export.hpp"
#include "slip/language_model.hpp"
#include "slip/sampling.hpp"
#include "slip/types.hpp"

namespace SLIP_API slip {

/// Keeps the keys and values of one generation for the next one, as the turns of a conversation
/// need it (MODEL-3): only what its prompt adds is computed. Takes the memory of the longest
/// generation, as LanguageModel::generate() does meanwhile.
class Sequence {
public:
    /// Empty. The model outlives this, and is not assigned to meanwhile.
    explicit Sequence(LanguageModel& model);
    /// One that was moved from can only be assigned to or destroyed.
    Sequence(Sequence&&) noexcept;
    /// As the constructor.
    Sequence& operator=(Sequence&&) noexcept;
    ~Sequence();

    /// What LanguageModel::generate() of the model gives, throws and sees, bit for bit. Of
    /// `prompt`, the longest beginning that it shares with the prompt and the new ids of the call
    /// before is not computed again, except its last token; where windows have dropped what that
    /// beginning needs, and where longrope changes it (MODEL-14, MODEL-16), all of it is. A call
    /// that was stopped or has thrown leaves what it computed.
    std::vector<TokenId> generate(std::span<const TokenId> prompt, const SamplingOptions& options,
                                  const OnToken& on_token = {});

private:
    struct SLIP_HIDDEN State;
    std::unique_ptr<State> state_;
};

}  // namespace slip

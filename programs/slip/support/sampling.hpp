// How tokens are chosen, on the command line (MODEL-17).
#pragma once

#include "programs/slip/support/options.hpp"
#include "slip/sampling.hpp"

namespace slip::tool {

/// Without --max-tokens: a model that never ends its text is stopped here.
inline constexpr std::size_t most_tokens = 4096;

/// --top-k and its like.
void add_choice_flags(Options& options);

/// Sets what they say. Throws BadInput, naming the flag, for a value out of its range, and for one
/// that has no meaning at temperature 0.
void set_choice(const Options& options, SamplingOptions& sampling);

}  // namespace slip::tool

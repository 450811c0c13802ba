// What guesses from the text itself (MODEL-21) save where it repeats itself, and cost where not.
#pragma once

#include "experiments/bench/medians.hpp"
#include "experiments/bench/whole_model.hpp"

namespace slip::bench {

/// The hybrid engine over loopback TLS generates texts that are given: after every forward, the
/// logits are those of the text's next token. Guesses of 7 and none take turns, all masks ready.
/// One text quotes its prompt, 24 tokens at a time with two others between. The other never repeats
/// itself but for four tokens in 64, which the one guess that this brings about gets wrong; in
/// stories of the bundled model at temperature 0.7, one guess in 200 tokens is wrong. Figures:
/// guesses_quoting and guesses_free, tokens per second over those without guesses;
/// rounds_per_token_quoting and columns_per_token_quoting, of the tokens after the first.
Report measure_guessing(WholeModel& whole);

}  // namespace slip::bench

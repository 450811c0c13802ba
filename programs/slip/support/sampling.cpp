#include "programs/slip/support/sampling.hpp"

#include <string>

#include "slip/error.hpp"

namespace slip::tool {
namespace {

double in_range(const Options& options, const char* name, double otherwise, double least,
                double most) {
    const double value = options.real_or(name, otherwise);
    if (value >= least && value <= most) return value;
    throw BadInput(std::string("--") + name + ": expected a number from " + std::to_string(least) +
                   " to " + std::to_string(most));
}

constexpr const char* of_chance[] = {"top-k", "top-p", "min-p"};

}  // namespace

void add_choice_flags(Options& options) {
    options.add("top-k", "N", "choose among the N likeliest tokens only");
    options.add("top-p", "P", "choose among the fewest likeliest that have probability P together");
    options.add("min-p", "P", "leave out tokens less likely than P times the likeliest");
    options.add("repetition-penalty", "R",
                "divide positive logits of tokens that stand there already by R, and multiply "
                "negative ones (default 1)");
    options.add("presence-penalty", "X", "subtract X from logits of tokens that were generated");
    options.add("frequency-penalty", "X", "subtract X for each time that they were generated");
    options.add("guesses", "N",
                "where the text repeats itself, guess N tokens (up to 15) and verify them in one "
                "message: the same answer in fewer rounds, which show David where (default 0)");
}

void set_choice(const Options& options, SamplingOptions& sampling) {
    if (sampling.temperature == 0) {
        for (const char* name : of_chance) options.forbid(name, "without a --temperature above 0");
    }
    sampling.top_k = options.number_or("top-k", 0, 1, 1U << 20);
    sampling.top_p = in_range(options, "top-p", 1, 1e-6, 1);
    sampling.min_p = in_range(options, "min-p", 0, 0, 1);
    sampling.repetition_penalty = in_range(options, "repetition-penalty", 1, 0.01, 100);
    sampling.presence_penalty = in_range(options, "presence-penalty", 0, 0, 100);
    sampling.frequency_penalty = in_range(options, "frequency-penalty", 0, 0, 100);
    sampling.guesses = options.number_or("guesses", 0, 0, 15);
}

}  // namespace slip::tool

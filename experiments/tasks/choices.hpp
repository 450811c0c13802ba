// Multiple choice: the likeliest ending of a context (MODEL-12).
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "experiments/tasks/accuracy.hpp"
#include "programs/common/choices.hpp"
#include "slip/language_model.hpp"

namespace slip::tasks {

using tool::Question;

/// The two usual scores of an ending, from its log-likelihood in nats.
enum class Score {
    per_byte,  // divided by the bytes of the ending, without the blank before it
    sum,
};

/// The number of the ending with the highest score, the first among equals. Requires as many
/// log-likelihoods as endings, at least one, none of which is empty.
std::size_t choice_of(std::span<const double> log_likelihoods, std::span<const std::string> endings,
                      Score score);

/// What a model makes of a list of questions.
struct ChoicesResult {
    Accuracy per_byte;
    Accuracy sum;
    std::vector<std::size_t> choices;  // by the score per byte
    double chance = 0;                 // the expected accuracy of a guess: the mean of 1 / endings
};

/// `progress` sees the questions done. Throws what slip::log_likelihoods() throws.
ChoicesResult answer(LanguageModel& model, std::span<const Question> questions,
                     const std::function<void(std::size_t done)>& progress = {});

}  // namespace slip::tasks

// Sorting six letters of three, the task that gpt-nano-sort was trained for.
#pragma once

#include <cstddef>
#include <vector>

#include "experiments/tasks/accuracy.hpp"
#include "slip/language_model.hpp"

namespace slip::tasks {

/// The inputs of the task: six letters of three.
inline constexpr std::size_t sorting_inputs = 3 * 3 * 3 * 3 * 3 * 3;

/// Input number `number` < sorting_inputs: its six digits to base 3.
std::vector<TokenId> letters_of(std::size_t number);

/// What the model adds to `letters`, as many greedy tokens as there are letters: the largest logit,
/// the lowest id among equals. The last token is predicted and not read, so 2 letters.size() - 1
/// positions suffice.
std::vector<TokenId> continue_greedily(LanguageModel& model, const std::vector<TokenId>& letters);

/// All 729 (= 3^6) inputs; one is right if all six tokens that follow it are its letters in order.
/// Throws BadInput unless the model's vocabulary is 3 tokens and its context at least 11 positions.
Accuracy sort_all(LanguageModel& model);

}  // namespace slip::tasks

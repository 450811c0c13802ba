#include "experiments/tasks/sorting.hpp"

#include <algorithm>
#include <string>

#include "slip/error.hpp"

namespace slip::tasks {
namespace {

constexpr std::size_t letters_per_input = 6;
constexpr std::size_t alphabet = 3;

}  // namespace

std::vector<TokenId> letters_of(std::size_t number) {
    std::vector<TokenId> letters(letters_per_input);
    for (TokenId& letter : letters) {
        letter = static_cast<TokenId>(number % alphabet);
        number /= alphabet;
    }
    return letters;
}

std::vector<TokenId> continue_greedily(LanguageModel& model, const std::vector<TokenId>& letters) {
    std::vector<TokenId> ids = letters;
    while (ids.size() < 2 * letters.size()) {
        const std::vector<float> logits = model.forward(ids);
        const auto last = logits.end() - static_cast<std::ptrdiff_t>(model.vocabulary_size());
        ids.push_back(static_cast<TokenId>(std::max_element(last, logits.end()) - last));
    }
    return {ids.begin() + static_cast<std::ptrdiff_t>(letters.size()), ids.end()};
}

Accuracy sort_all(LanguageModel& model) {
    if (model.vocabulary_size() != alphabet || model.max_positions() < 2 * letters_per_input - 1) {
        throw BadInput("sorting: the model has " + std::to_string(model.vocabulary_size()) +
                       " tokens and " + std::to_string(model.max_positions()) +
                       " positions: expected 3 tokens and at least 11 positions");
    }
    Accuracy accuracy;
    for (std::size_t number = 0; number < sorting_inputs; ++number) {
        std::vector<TokenId> letters = letters_of(number);
        const std::vector<TokenId> found = continue_greedily(model, letters);
        std::sort(letters.begin(), letters.end());
        accuracy.count(found == letters);
    }
    return accuracy;
}

}  // namespace slip::tasks

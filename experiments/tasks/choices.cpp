#include "experiments/tasks/choices.hpp"

#include <algorithm>

#include "optimized/base/error.hpp"
#include "slip/evaluate.hpp"

namespace slip::tasks {

std::size_t choice_of(std::span<const double> log_likelihoods, std::span<const std::string> endings,
                      Score score) {
    base::require(!endings.empty() && log_likelihoods.size() == endings.size(),
                  "choice_of: expected one log-likelihood per ending");
    std::vector<double> scores(log_likelihoods.begin(), log_likelihoods.end());
    if (score == Score::per_byte) {
        for (std::size_t i = 0; i < scores.size(); ++i) {
            base::require(!endings[i].empty(), "choice_of: an ending is empty");
            scores[i] /= static_cast<double>(endings[i].size());
        }
    }
    return static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) -
                                    scores.begin());
}

ChoicesResult answer(LanguageModel& model, std::span<const Question> questions,
                     const std::function<void(std::size_t done)>& progress) {
    ChoicesResult result;
    double guessed = 0;
    for (const Question& question : questions) {
        const auto scores = log_likelihoods(model, question.context, question.endings);
        result.choices.push_back(choice_of(scores, question.endings, Score::per_byte));
        result.per_byte.count(result.choices.back() == question.answer);
        result.sum.count(choice_of(scores, question.endings, Score::sum) == question.answer);
        guessed += 1 / static_cast<double>(question.endings.size());
        if (progress) progress(result.choices.size());
    }
    if (!questions.empty()) result.chance = guessed / static_cast<double>(questions.size());
    return result;
}

}  // namespace slip::tasks

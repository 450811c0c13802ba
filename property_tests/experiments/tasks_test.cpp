// The tasks of experiments/tasks: scoring against an oracle that adds up logits, the cloze, and
// intervals.
// test: alone
// links: slip_tasks
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "experiments/tasks/accuracy.hpp"
#include "experiments/tasks/choices.hpp"
#include "experiments/tasks/cloze.hpp"
#include "experiments/tasks/share.hpp"
#include "experiments/tasks/sorting.hpp"
#include "property_tests/generators/temporary_folder.hpp"
#include "slip/error.hpp"
#include "slip/evaluate.hpp"
#include "slip/model.hpp"
#include "slip/split.hpp"

namespace slip::testing {
namespace {

using namespace slip::tasks;

const std::filesystem::path bundled = SLIP_SOURCE_DIR "/models/tinystories-llama";

// --- scoring
// ----------------------------------------------------------------------------------------

/// Questions whose endings differ in length, so that every step of the scoring shows.
std::vector<Question> questions() {
    return {
        {"Once upon a time, there was a little girl named Lily. She loved to play with her",
         {"toys.", "toys in the big green park near her house every day.", "xylophone and quartz."},
         0},
        {"Tom had a red ball. He threw the ball to his dog. The dog ran and",
         {"ran.", "brought the ball back to Tom, and they were very happy.", "mathematics."},
         0},
        {"The sun was hot. Mia wanted to drink some cold",
         {"water.", "water, so she went to the kitchen with her mom.", "no"},
         0},
        {"Ben was sad. His mom gave him a big",
         {"hug.", "hug and said, \"Do not be sad, Ben. I love you.\"", "qqq"},
         0},
        {"One day, a cat saw a bird in a",
         {"tree.", "tree. The cat wanted to play with the bird.", "jurisdiction", "it"},
         0},
        {"Lily looked up at the", {"sky.", "skyscraper", "un", "able ground", "sun"}, 0},
        {"Max said, \"I am sorry.\" Then he", {"ed", "went home.", "ing", "s"}, 0},
        {"She was so happy and smil", {"ed", "ing at him", "y", "es"}, 0},
        {"They all lived happily", {"ever after.", "with the king and the queen.", "by", "."}, 0}};
}

/// ln p of the ids from number `first` on, each given all before it, from logits of the whole text.
double sum_of_logits(LanguageModel& model, const std::vector<TokenId>& ids, std::size_t first) {
    const std::vector<float> logits = model.forward(ids);
    const std::size_t width = model.vocabulary_size();
    double sum = 0;
    for (std::size_t t = first; t < ids.size(); ++t) {
        const float* row = logits.data() + (t - 1) * width;
        double total = 0;
        for (std::size_t i = 0; i < width; ++i) total += std::exp(double{row[i]});
        sum += row[ids[t]] - std::log(total);
    }
    return sum;
}

/// The definition of MODEL-12: context and ending are tokenised together.
std::vector<double> oracle(LanguageModel& model, const Question& question) {
    std::vector<double> scores;
    for (const std::string& ending : question.endings) {
        const std::size_t given = model.encode_prompt(question.context).size();
        scores.push_back(
            sum_of_logits(model, model.encode_prompt(question.context + " " + ending), given));
    }
    return scores;
}

/// A wrong scoring: the blank before the ending is forgotten.
std::vector<double> without_blank(LanguageModel& model, const Question& question) {
    std::vector<double> scores;
    for (const std::string& ending : question.endings) {
        const std::size_t given = model.encode_prompt(question.context).size();
        scores.push_back(
            sum_of_logits(model, model.encode_prompt(question.context + ending), given));
    }
    return scores;
}

std::size_t best_per_byte(std::vector<double> scores, const Question& question) {
    for (std::size_t i = 0; i < scores.size(); ++i) {
        scores[i] /= static_cast<double>(question.endings[i].size());
    }
    return static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) -
                                    scores.begin());
}

TEST(Choices, MODEL_12_the_choice_is_the_oracles_per_byte) {
    auto model = open_checkpoint<LanguageModel>(bundled);
    std::vector<Question> given = questions();
    std::size_t told_apart_by_sum = 0;
    std::size_t told_apart_by_blank = 0;
    for (Question& question : given) {
        const std::vector<double> scores = oracle(model, question);
        const auto sum = static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) -
                                                  scores.begin());
        question.answer = best_per_byte(scores, question);
        told_apart_by_sum += sum != question.answer ? 1U : 0U;
        const std::size_t glued = best_per_byte(without_blank(model, question), question);
        told_apart_by_blank += glued != question.answer ? 1U : 0U;
    }
    // The questions refuse a score that is not normalised, and an ending without its blank.
    EXPECT_GT(told_apart_by_sum, 0U);
    EXPECT_GT(told_apart_by_blank, 0U);

    const ChoicesResult found = answer(model, given);
    EXPECT_EQ(found.per_byte.correct, given.size());
    EXPECT_EQ(found.sum.correct, given.size() - told_apart_by_sum);
    EXPECT_NEAR(found.chance, (4 / 3.0 + 4 / 4.0 + 1 / 5.0) / 9, 1e-12);

    for (Question& question : given) question.answer = (question.answer + 1) % 3;
    EXPECT_EQ(answer(model, given).per_byte.correct, 0U);
}

TEST(Choices, MODEL_12_the_first_of_equal_scores_is_chosen) {
    const std::vector<std::string> endings{"abcd", "ab", "abcdefgh"};
    const std::vector<double> equal_per_byte{-8, -4, -16};
    EXPECT_EQ(choice_of(equal_per_byte, endings, Score::per_byte), 0U);
    EXPECT_EQ(choice_of(equal_per_byte, endings, Score::sum), 1U);
    EXPECT_THROW(choice_of({}, endings, Score::sum), InternalError);
}

// --- intervals
// --------------------------------------------------------------------------------------

RC_GTEST_PROP(Wilson, an_end_is_where_the_found_share_is_z_deviations_away, ()) {
    const auto items = *rc::gen::inRange<std::size_t>(1, 2000).as("items");
    const auto correct = *rc::gen::inRange<std::size_t>(0, items + 1).as("correct");
    const Accuracy accuracy{items, correct};
    const Interval found = wilson_interval(accuracy);
    RC_ASSERT(found.low <= accuracy.value() + 1e-12 && accuracy.value() <= found.high + 1e-12);
    for (const double end : {found.low, found.high}) {
        // |p_found - p| = z sqrt(p (1 - p) / n): the definition, solved for p by the code.
        const double deviation = std::sqrt(end * (1 - end) / static_cast<double>(items));
        RC_ASSERT(std::abs(std::abs(accuracy.value() - end) - 1.959964 * deviation) < 1e-9);
    }
}

TEST(Wilson, half_of_a_hundred_is_between_40_and_60_percent) {
    const Interval found = wilson_interval({100, 50});
    EXPECT_NEAR(found.low, 0.40383, 5e-6);
    EXPECT_NEAR(found.high, 0.59617, 5e-6);
    EXPECT_THROW(wilson_interval({0, 0}), InternalError);
}

// --- the cloze
// --------------------------------------------------------------------------------------

TEST(Cloze, a_story_ends_with_its_last_sentence) {
    const std::vector<EndedStory> found = stories_of(
        "Tom ran. He fell.\nHis mom said, \"Are you fine?\" Tom said \"Yes, I am fine.\"\n\n"
        "Too short. Only two sentences here.\n\n\n"
        "A 3.5 inch worm sat. It was red! So it said: \"I like being red.\"\n\n"
        "One. Two. Three.\n");
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].beginning, "Tom ran. He fell.\nHis mom said, \"Are you fine?\"");
    EXPECT_EQ(found[0].ending, "Tom said \"Yes, I am fine.\"");
    EXPECT_EQ(found[1].beginning, "A 3.5 inch worm sat. It was red!");
    EXPECT_EQ(found[1].ending, "So it said: \"I like being red.\"");
}

std::string numbered_stories(std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
        const std::string number = std::to_string(i);
        text += "This is story " + number + ". It goes on. And here ends story " + number + ".\n\n";
    }
    return text;
}

TEST(Cloze, the_answer_is_the_storys_own_ending_and_the_others_are_not) {
    const std::vector<Question> found = story_cloze(numbered_stories(40), 40, 7);
    ASSERT_EQ(found.size(), 40U);
    std::set<std::string> contexts;
    std::set<std::size_t> places;
    for (const Question& question : found) {
        contexts.insert(question.context);
        places.insert(question.answer);
        ASSERT_EQ(question.endings.size(), 4U);
        const std::set<std::string> different(question.endings.begin(), question.endings.end());
        EXPECT_EQ(different.size(), 4U);
        const std::string number = question.context.substr(14, question.context.find('.') - 14);
        for (std::size_t i = 0; i < 4; ++i) {
            const bool own = question.endings[i] == "And here ends story " + number + ".";
            EXPECT_EQ(own, i == question.answer) << question.context;
        }
    }
    EXPECT_EQ(contexts.size(), 40U);  // no story begins two questions
    EXPECT_EQ(places.size(), 4U);     // the right ending has no fixed place
}

TEST(Cloze, questions_are_the_seeds) {
    const auto contexts = [](std::uint64_t seed) {
        std::string all;
        for (const Question& question : story_cloze(numbered_stories(40), 10, seed)) {
            all += question.context + std::to_string(question.answer) + question.endings[0];
        }
        return all;
    };
    EXPECT_EQ(contexts(1), contexts(1));
    EXPECT_NE(contexts(1), contexts(2));
    EXPECT_THROW(story_cloze(numbered_stories(9), 10, 1), BadInput);
    EXPECT_THROW(story_cloze(numbered_stories(3), 3, 1), BadInput);
}

// --- sorting
// ----------------------------------------------------------------------------------------

TEST(Sorting, another_model_is_refused) {
    auto model = open_checkpoint<LanguageModel>(bundled);
    EXPECT_THROW(sort_all(model), BadInput);
}

TEST(Sorting, the_trained_model_sorts_every_input) {
    const std::filesystem::path sorter = SLIP_SHARED_DIR "/data/models/gpt-nano-sort";
    if (!std::filesystem::exists(sorter)) GTEST_SKIP() << sorter << " is not there";
    auto model = open_checkpoint<LanguageModel>(sorter);
    EXPECT_EQ(continue_greedily(model, {2, 0, 1, 0, 2, 1}),
              (std::vector<TokenId>{0, 0, 1, 1, 2, 2}));
    const Accuracy found = sort_all(model);
    EXPECT_EQ(found.items, 729U);
    EXPECT_EQ(found.correct, 729U);
}

// --- David's share
// ----------------------------------------------------------------------------------

/// The bundled model's split at this rank in every layer of the blocks, as David alone has it.
LanguageModel share_of_bundled(const std::filesystem::path& folder, std::size_t rank,
                               Strategy strategy) {
    SplitOptions options;
    options.plan = uniform_plan(bundled, rank);
    options.strategy = strategy;
    options.out = folder / (std::string(name_of(strategy)) + std::to_string(rank));
    split_checkpoint(bundled, options);
    return open_share<LanguageModel>(options.out);
}

double perplexity_of(LanguageModel& model) {
    const std::vector<TokenId> ids = model.encode(
        "Once upon a time, there was a little girl named Lily. She loved to play with her toys in "
        "the park. One day, she saw a big dog. The dog was very friendly and wanted to play.");
    return perplexity(model, ids, {ids.size(), ids.size()}).perplexity();
}

TEST(Share, DECO_1_it_is_the_model_without_charlies_part) {
    const TemporaryFolder folder;
    auto whole = open_checkpoint<LanguageModel>(bundled);
    const double expected = perplexity_of(whole);
    // With rank 0 David has all of it, but for the rounding to 8 bits.
    auto everything = share_of_bundled(folder.path(), 0, Strategy::lsc);
    EXPECT_NEAR(perplexity_of(everything) / expected, 1, 0.02);
    // The top components make the model; columns at random do less.
    auto without_top = share_of_bundled(folder.path(), 16, Strategy::lsc);
    EXPECT_GT(perplexity_of(without_top), 5 * expected);
    // Charlie keeps every matrix: David's are zeros, and all positions have the same block outputs.
    auto nothing = share_of_bundled(folder.path(), 1, Strategy::fms);
    EXPECT_GT(perplexity_of(nothing), 5 * expected);
}

}  // namespace
}  // namespace slip::testing

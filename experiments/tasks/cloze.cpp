#include "experiments/tasks/cloze.hpp"

#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "slip/error.hpp"

namespace slip::tasks {
namespace {

constexpr std::string_view white_space = " \t\r\n";
constexpr std::size_t endings_per_question = 4;
constexpr std::size_t least_sentences = 3;
constexpr std::size_t least_ending = 16;  // bytes

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(white_space);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(white_space) - first + 1);
}

/// Where each sentence but the first begins.
std::vector<std::size_t> sentence_starts(std::string_view story) {
    std::vector<std::size_t> starts;
    for (std::size_t at = story.find_first_of(".!?"); at != std::string_view::npos;
         at = story.find_first_of(".!?", at + 1)) {
        const std::size_t end = story.find_first_not_of("\"'", at + 1);
        if (end == std::string_view::npos || white_space.find(story[end]) == std::string_view::npos)
            continue;
        starts.push_back(story.find_first_not_of(white_space, end));
    }
    return starts;
}

std::optional<EndedStory> ended_story(std::string_view story) {
    const std::vector<std::size_t> starts = sentence_starts(story);
    if (starts.size() + 1 < least_sentences) return std::nullopt;
    const std::string_view ending = story.substr(starts.back());
    if (ending.size() < least_ending) return std::nullopt;
    return EndedStory{std::string(trimmed(story.substr(0, starts.back()))), std::string(ending)};
}

/// std::uniform_int_distribution differs between libraries; the remainder's bias is below 2^-50.
std::size_t draw(std::mt19937_64& random, std::size_t count) {
    return static_cast<std::size_t>(random() % count);
}

void shuffle(std::vector<std::size_t>& numbers, std::mt19937_64& random) {
    for (std::size_t i = numbers.size(); i > 1; --i) {
        std::swap(numbers[i - 1], numbers[draw(random, i)]);
    }
}

tool::Question question_of(const std::vector<EndedStory>& stories, std::size_t number,
                           std::mt19937_64& random) {
    const EndedStory& story = stories[number];
    std::vector<std::string> endings;
    while (endings.size() + 1 < endings_per_question) {
        const std::string& other = stories[draw(random, stories.size())].ending;
        const bool is_new = std::find(endings.begin(), endings.end(), other) == endings.end();
        if (is_new && other != story.ending) endings.push_back(other);
    }
    const std::size_t answer = draw(random, endings_per_question);
    endings.insert(endings.begin() + static_cast<std::ptrdiff_t>(answer), story.ending);
    return {story.beginning, std::move(endings), answer};
}

}  // namespace

std::vector<EndedStory> stories_of(std::string_view text) {
    std::vector<EndedStory> stories;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find("\n\n"), text.size());
        if (auto story = ended_story(trimmed(text.substr(0, end)))) {
            stories.push_back(*std::move(story));
        }
        text.remove_prefix(end);
        text.remove_prefix(std::min(text.find_first_not_of('\n'), text.size()));
    }
    return stories;
}

std::vector<tool::Question> story_cloze(std::string_view text, std::size_t count,
                                        std::uint64_t seed) {
    const std::vector<EndedStory> stories = stories_of(text);
    std::set<std::string_view> endings;
    for (const EndedStory& story : stories) endings.insert(story.ending);
    if (stories.size() < count || endings.size() < endings_per_question) {
        throw BadInput("the text has " + std::to_string(stories.size()) + " stories with " +
                       std::to_string(endings.size()) + " different endings: expected at least " +
                       std::to_string(count) + " stories and " +
                       std::to_string(endings_per_question) + " endings");
    }
    std::vector<std::size_t> order(stories.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::mt19937_64 random(seed);
    shuffle(order, random);
    std::vector<tool::Question> questions;
    for (std::size_t i = 0; i < count; ++i) {
        questions.push_back(question_of(stories, order[i], random));
    }
    return questions;
}

}  // namespace slip::tasks

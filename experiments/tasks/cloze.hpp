// A story cloze: which of four last sentences belongs to a story.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "programs/common/choices.hpp"

namespace slip::tasks {

/// A story without its last sentence, and that sentence.
struct EndedStory {
    std::string beginning;
    std::string ending;
};

/// The stories of a text, which empty lines separate. A sentence ends with '.', '!' or '?' and the
/// quotation marks after it, before white space. Stories of fewer than three sentences, or with a
/// last sentence of fewer than 16 bytes, are left out: they say too little.
std::vector<EndedStory> stories_of(std::string_view text);

/// `count` questions of four endings: a story's own and those of three other stories, drawn
/// uniformly, with the right one in a random place. No story begins two questions. The same for the
/// same seed on every machine. Throws BadInput if the text has fewer than `count` stories, or too
/// few different endings.
std::vector<tool::Question> story_cloze(std::string_view text, std::size_t count,
                                        std::uint64_t seed);

}  // namespace slip::tasks

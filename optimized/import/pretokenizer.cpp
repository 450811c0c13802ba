// MODEL-11: pieces of texts.
#include "optimized/import/pretokenizer.hpp"

#include <utility>

#include "optimized/import/utf8.hpp"

namespace slip::importing {

const char* const gpt2_expression =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

namespace {

struct Segment {
    std::size_t begin;
    std::size_t end;
    bool match;
};

/// Matches and what lies between them, none empty: together the whole text.
std::vector<Segment> segments_of(const Pattern& pattern, std::string_view text) {
    std::vector<Segment> segments;
    std::size_t at = 0;
    pattern.find_all(text, [&](std::size_t begin, std::size_t end) {
        if (begin > at) segments.push_back({at, begin, false});
        segments.push_back({begin, end, true});
        at = end;
    });
    if (at < text.size()) segments.push_back({at, text.size(), false});
    return segments;
}

/// Whether `right` is a match that ends the piece `left`, or `left` one that begins `right`.
bool belong_together(SplitBehaviour behaviour, const Segment& left, const Segment& right) {
    const bool previous = behaviour == SplitBehaviour::merged_with_previous;
    const bool next = behaviour == SplitBehaviour::merged_with_next;
    return (previous && !left.match && right.match) || (next && left.match && !right.match);
}

void take_pieces(const Split& split, std::string_view text, const PreTokenizer::Take& take) {
    const std::vector<Segment> segments = segments_of(split.pattern, text);
    for (std::size_t i = 0; i < segments.size(); ++i) {
        const Segment& segment = segments[i];
        if (split.behaviour == SplitBehaviour::removed && segment.match) continue;
        if (split.behaviour == SplitBehaviour::kept && !segment.match) continue;
        std::size_t end = segment.end;
        if (i + 1 < segments.size() && belong_together(split.behaviour, segment, segments[i + 1])) {
            end = segments[++i].end;
        }
        take(text.substr(segment.begin, end - segment.begin));
    }
}

std::vector<Split> gpt2_splits() {
    std::vector<Split> splits;
    splits.push_back({Pattern(gpt2_expression), SplitBehaviour::isolated});
    return splits;
}

}  // namespace

PreTokenizer::PreTokenizer() : PreTokenizer(gpt2_splits()) {}

void PreTokenizer::divide(std::string_view text, const Take& take) const {
    if (splits_.empty()) {
        if (!text.empty()) take(text);
        return;
    }
    while (!text.empty()) {
        const std::size_t valid = utf8_prefix(text);
        divide_from(0, text.substr(0, valid), take);
        text.remove_prefix(valid);
        std::size_t invalid = 0;
        while (invalid < text.size() && utf8_character(text.substr(invalid)) == 0) ++invalid;
        if (invalid > 0) take(text.substr(0, invalid));
        text.remove_prefix(invalid);
    }
}

/// `text` is UTF-8.
void PreTokenizer::divide_from(std::size_t split, std::string_view text, const Take& take) const {
    if (split == splits_.size()) {
        if (!text.empty()) take(text);
        return;
    }
    take_pieces(splits_[split], text,
                [&](std::string_view piece) { divide_from(split + 1, piece, take); });
}

}  // namespace slip::importing

// What a tokenizer does to a text before it looks at it (MODEL-15).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slip::importing {

/// One step, by its name in tokenizer.json.
struct NormalizerStep {
    enum class Kind { nfc, nfd, nfkc, nfkd, prepend, replace };
    Kind kind;
    std::string pattern = {};  // of replace; not empty
    std::string content = {};  // of prepend and replace
};

class Normalizer {
public:
    Normalizer() = default;
    explicit Normalizer(std::vector<NormalizerStep> steps) : steps_(std::move(steps)) {}

    /// The steps in order; an empty text stays empty. Unicode's forms change what is UTF-8 only, up
    /// to the next byte that is not. Throws BadInput if the result is not `largest_growth` times as
    /// long and a few bytes at most.
    std::string apply(std::string_view text) const;
    bool empty() const { return steps_.empty(); }

    static constexpr std::size_t largest_growth = 16;

private:
    std::vector<NormalizerStep> steps_;
};

}  // namespace slip::importing

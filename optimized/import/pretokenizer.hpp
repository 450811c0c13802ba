// GPT-2's division of a text into the pieces inside which tokens are merged (MODEL-11).
#pragma once

#include <functional>
#include <memory>
#include <string_view>

namespace slip::importing {

class PreTokenizer {
public:
    PreTokenizer();
    ~PreTokenizer();

    /// Calls `take` with the pieces of `text`, which make up the whole text in order. Bytes that
    /// are not UTF-8 form pieces of their own.
    void divide(std::string_view text, const std::function<void(std::string_view)>& take) const;

private:
    void divide_utf8(std::string_view text,
                     const std::function<void(std::string_view)>& take) const;

    struct Pattern;
    std::unique_ptr<Pattern> pattern_;
};

}  // namespace slip::importing

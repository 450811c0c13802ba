// Texts and their ids as llama.cpp stores those of published tokenizers.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "optimized/base/files.hpp"
#include "optimized/import/tokenizer.hpp"

namespace slip::testing {

/// Expects that each text of cases.inp becomes the ids of its line in cases.out, and these the text
/// again. Returns how many there are.
inline std::size_t expect_cases(const importing::Tokenizer& tokenizer,
                                const std::filesystem::path& folder) {
    const std::string separator = "\n__ggml_vocab_test__\n";
    std::string texts = base::read_file(folder / "cases.inp");
    std::istringstream expected(base::read_file(folder / "cases.out"));
    std::size_t cases = 0;
    for (std::string line; std::getline(expected, line); ++cases) {
        const std::size_t end = std::min(texts.find(separator), texts.size());
        const std::string text = texts.substr(0, end);
        texts.erase(0, end + separator.size());
        std::istringstream numbers(line);
        const std::vector<TokenId> ids{std::istream_iterator<TokenId>(numbers), {}};
        EXPECT_EQ(tokenizer.encode(text), ids) << text;
        EXPECT_EQ(tokenizer.decode(ids), text);
    }
    EXPECT_TRUE(texts.empty());
    return cases;
}

}  // namespace slip::testing

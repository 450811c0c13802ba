// A tokenizer for tests that look at marks.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "optimized/import/tokenizer_json.hpp"

namespace slip::testing {

/// A tokenizer with a token per printable character and newline, and these marks.
struct Characters {
    using json = nlohmann::json;

    /// `plain`: marks that come from texts too.
    explicit Characters(const std::vector<std::string>& marks, bool strips_right = false,
                        const std::set<std::string>& plain = {}) {
        json vocabulary = json::object();
        for (char letter = ' '; letter < 127; ++letter) add(vocabulary, std::string(1, letter));
        add(vocabulary, "\n");
        json added = json::array();
        for (const std::string& mark : marks) {
            names.push_back("{" + mark + "}");
            added.push_back({{"id", names.size() - 1},
                             {"content", mark},
                             {"special", !plain.contains(mark)},
                             {"rstrip", strips_right}});
        }
        const json file = {
            {"version", "1.0"},
            {"added_tokens", added},
            {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", json::array()}}}};
        tokenizer.emplace(importing::parse_tokenizer_json(file.dump(), "tokenizer.json"));
    }
    void add(json& vocabulary, const std::string& token) {
        vocabulary[token] = names.size();
        names.push_back(token);
    }
    /// With marks in braces.
    std::string shown(const std::vector<TokenId>& ids) const {
        std::string text;
        for (const TokenId id : ids) text += names.at(static_cast<std::size_t>(id));
        return text;
    }
    std::vector<std::string> names;
    std::optional<importing::Bpe> tokenizer;
};

}  // namespace slip::testing

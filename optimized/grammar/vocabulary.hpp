// Which tokens a grammar allows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "optimized/base/model_shape.hpp"
#include "optimized/grammar/matcher.hpp"

namespace slip::grammar {

/// The bytes of a model's tokens, as a tree in which those with a common beginning share a branch.
class Vocabulary {
public:
    /// `bytes`: of each token, by id; those of a token that adds none are empty.
    explicit Vocabulary(std::vector<std::string> bytes);

    std::size_t size() const { return bytes_.size(); }
    const std::string& bytes(TokenId id) const { return bytes_[static_cast<std::size_t>(id)]; }
    /// Words of the bits that say which tokens may come in `state`: bit `id % 64` of word `id /
    /// 64`. `without_space`: a space at the beginning of the token does not count. Throws as
    /// Matcher::after().
    std::vector<std::uint64_t> allowed(Matcher& matcher, Matcher::State state,
                                       bool without_space) const;

private:
    /// In the order of their bytes, so that a branch is a range of nodes.
    struct Node {
        std::uint8_t byte;
        std::uint32_t depth;        // bytes up to here, this one too
        std::uint32_t end;          // of the nodes that go on from here
        std::uint32_t first, last;  // of the tokens that end here, in order_
    };

    std::vector<std::string> bytes_;
    std::vector<TokenId> order_;  // ids of tokens with bytes, by these
    std::vector<Node> nodes_;
    std::size_t deepest_ = 0;
};

/// What a grammar allows one generation, token by token.
class Constraint {
public:
    /// `ends`: tokens that may come where the text may end. `without_space`: of the first token, a
    /// space at the beginning is no part of the text.
    Constraint(std::shared_ptr<const Program> program, std::shared_ptr<const Vocabulary> vocabulary,
               std::vector<TokenId> ends, bool without_space);

    /// Whether the text may end and nothing may follow.
    bool complete() const;
    /// As Vocabulary::allowed(), with the tokens that end the text; until the next call. Throws
    /// BadInput if no token may come.
    std::span<const std::uint64_t> allowed();
    /// Takes a token that was allowed.
    void take(TokenId id);

private:
    Matcher matcher_;
    const std::shared_ptr<const Vocabulary> vocabulary_;
    const std::vector<TokenId> ends_;
    bool without_space_;  // of the next token
    Matcher::State state_;
    std::map<Matcher::State, std::vector<std::uint64_t>> masks_;
};

}  // namespace slip::grammar

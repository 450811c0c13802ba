// What an attacker learns from: windows of a public text, and what he takes to follow each token.
#pragma once

#include "experiments/training/model.hpp"

#include <cstdint>
#include <vector>

namespace safety {

/// What stands before the first token of a window.
enum class Begin { bos, nothing };

/// What the attacker is told of the protected model's next token.
enum class Answer { most_likely, distribution };

/// Row r: a window of the text, and after each of its tokens the label of the next: a token, or a
/// probability for each token of the vocabulary.
struct Lessons {
    torch::Tensor inputs;   // [windows, length]
    torch::Tensor targets;  // [windows, length] or [windows, length, vocabulary]

    /// The windows of a public text, `length` tokens each, one after the other, labelled by the
    /// text itself. Rows are as long as windows where a BOS stands before each, and otherwise one
    /// token shorter: then nothing foretells a window's first token. Throws std::runtime_error for
    /// a text shorter than one window.
    static Lessons from_text(const std::vector<int64_t>& ids, int64_t length, Begin begin);
    /// The first `queries` windows, each sent to the protected model once; the labels are its
    /// answers. Throws std::runtime_error if there are fewer windows.
    [[nodiscard]] Lessons answered_by(const training::Model& model, int64_t queries,
                                      Answer answer) const;
    /// `rows` windows at random, which depend on the seed and the step alone.
    [[nodiscard]] Lessons batch(int64_t rows, uint64_t seed, int64_t step) const;
    /// Mean cross-entropy of a model's logits [windows, length, vocabulary] to the labels.
    [[nodiscard]] torch::Tensor loss(const torch::Tensor& logits) const;
};

}  // namespace safety

// What grammars of generations need of the model: the bytes of its tokens (SERVE-16).
#pragma once

#include <memory>
#include <mutex>

#include "optimized/api/access.hpp"
#include "optimized/grammar/vocabulary.hpp"
#include "optimized/serving/generation.hpp"

namespace slip::serving {

class Constraints {
public:
    /// The model outlives it.
    explicit Constraints(const Access::LanguageState& model) : model_(model) {}

    /// Reads the bytes of all tokens, if that was not done before. For any thread: it is done by
    /// who brings the first grammar. Throws BadInput if the model has no tokenizer.
    void prepare();
    /// Gives the generation the constraint of its grammar. After prepare().
    void constrain(Generation& generation) const;

private:
    void read_vocabulary();

    const Access::LanguageState& model_;
    std::once_flag read_;
    std::shared_ptr<const grammar::Vocabulary> vocabulary_;
    bool strips_first_space_ = false;  // the tokenizer does
};

}  // namespace slip::serving

// What is behind the public classes, for those who make or measure them.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "optimized/api/model_files.hpp"
#include "optimized/api/runtime.hpp"
#include "optimized/import/tokenizer.hpp"
#include "optimized/protocol/david.hpp"
#include "slip/david.hpp"
#include "slip/image_classifier.hpp"
#include "slip/language_model.hpp"

namespace slip {

struct LanguageModel::State {
    std::unique_ptr<api::ModelFiles> files;
    std::unique_ptr<graph::Transformer> graph;
    std::unique_ptr<importing::Tokenizer> tokenizer;  // null if the model has none
    std::unique_ptr<api::Runtime> runtime;            // refers to the files
    /// Makes another runtime, with a session of its own, once this one is gone. Empty where there
    /// is no protocol, or where the caller gave one connection and no way to make another.
    std::function<std::unique_ptr<api::Runtime>()> reopen;

    /// The tokenizer, or BadInput.
    const importing::Tokenizer& required_tokenizer() const;
};

struct ImageClassifier::State {
    std::unique_ptr<api::ModelFiles> files;
    graph::Cnn graph;
    std::unique_ptr<api::Runtime> runtime;  // refers to the files
};

/// Makes public models, and leads back to what is behind the public classes.
class Access {
public:
    /// Makes what multiplies; called when the files are known to be right.
    using Start = std::function<std::unique_ptr<api::Runtime>()>;
    /// `reopen` is kept with the files, which it may refer to.
    static LanguageModel language_model(std::unique_ptr<api::ModelFiles> files, const Start& start,
                                        Start reopen = {});
    static ImageClassifier image_classifier(std::unique_ptr<api::ModelFiles> files,
                                            const Start& start);

    using LanguageState = LanguageModel::State;
    static const LanguageState& of(const LanguageModel& model) { return *model.state_; }
    static LanguageState& of(LanguageModel& model) { return *model.state_; }
    /// What David's sessions are made from, his threads started.
    static const protocol::DavidModel& model_of_sessions(const David& david);
};

}  // namespace slip

namespace slip::api {

/// What stands before a text's first token: BOS, or EOS where there is none. Throws BadInput if
/// there is neither.
TokenId before_texts(const base::ModelConfig& config);

}  // namespace slip::api

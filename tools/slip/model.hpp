// MODEL on the command line: a checkpoint or an artifact, and the engine that multiplies.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "optimized/base/model_shape.hpp"
#include "optimized/graph/language_model.hpp"
#include "optimized/import/tokenizer.hpp"
#include "tools/slip/options.hpp"

namespace slip::tool {

/// What a run has cost so far. What an engine does not have is 0.
struct RunStatistics {
    std::uint64_t rounds = 0;
    std::uint64_t bytes_up = 0;
    std::uint64_t bytes_down = 0;
    std::uint64_t checks = 0;
    double charlie_seconds = 0;
    double david_seconds = 0;  // in process: David's products; remote: Charlie's waiting
    double offline_seconds = 0;
    double setup_seconds = 0;
    std::uint64_t charlie_multiplications = 0;
    std::uint64_t david_multiplications = 0;
    std::uint64_t setup_multiplications = 0;  // kappa n M a group, for the check vectors
};

/// A model, ready to run.
class Model {
public:
    virtual ~Model() = default;
    virtual const LanguageModel& graph() const = 0;
    virtual Engine& engine() = 0;
    /// Blocks until so many masks a group are ready; nothing to do without a protocol.
    virtual void wait_until_ready(std::size_t /*masks_a_group*/) {}
    virtual RunStatistics statistics() const { return {}; }

    /// "float", "unsplit" or "hybrid".
    const std::string& engine_name() const { return engine_name_; }
    /// Null if the model has no tokenizer: then it takes and gives token ids only.
    const Tokenizer* tokenizer() const { return tokenizer_.get(); }
    /// The tokenizer, or BadInput saying that `flag` needs one.
    const Tokenizer& tokenizer_for(const char* flag) const;

protected:
    std::string engine_name_;
    std::unique_ptr<Tokenizer> tokenizer_;
};

/// The usage line's part and the flags of MODEL.
inline constexpr const char* model_usage =
    "(--model DIR --engine float | --artifact OUT --engine unsplit|hybrid\n"
    "            [--david HOST:PORT --tls TLS/charlie])";
void add_model_flags(Options& options);

/// What stands before a text's first token.
TokenId before_texts(const ModelConfig& config);

/// Opens what the flags name. `masks_ready`: masks a group that wait_until_ready() will be asked
/// for. Throws BadInput for flags that do not fit together and for bad files.
std::unique_ptr<Model> open_model(const Options& options, std::size_t masks_ready = 0);

}  // namespace slip::tool

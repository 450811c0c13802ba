// A model that runs: text and token ids, or images, in; text, token ids and logits out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "slip/export.hpp"
#include "slip/types.hpp"

namespace SLIP_API slip {

/// How the next token is chosen, and how many.
struct SamplingOptions {
    std::size_t max_tokens = 0;
    double temperature = 0;  // 0 is greedy: the largest logit, the lowest id among equals
    std::uint64_t seed = 0;
};

/// What a model's runs have cost so far. What does not apply, such as rounds where there is no
/// protocol, is 0.
struct RunStatistics {
    std::uint64_t rounds = 0;
    std::uint64_t bytes_up = 0;
    std::uint64_t bytes_down = 0;
    std::uint64_t checks = 0;  // replies that passed the integrity check (INTEG-3)
    double charlie_seconds = 0;
    double david_seconds = 0;  // in process: David's products; remote: Charlie's waiting
    double offline_seconds = 0;
    double setup_seconds = 0;
    std::uint64_t charlie_multiplications = 0;
    std::uint64_t david_multiplications = 0;
    std::uint64_t setup_multiplications = 0;  // kappa n M a group, for the check vectors
};

class SLIP_HIDDEN OpenedModel;

/// A model and what multiplies for it. Used by one thread at a time. A convolutional network has
/// image_size() and classify(); every other function but statistics() is a language model's, and
/// throws BadInput for the wrong kind.
class Model {
public:
    Model(Model&&) noexcept;
    Model& operator=(Model&&) noexcept;
    ~Model();

    /// Ids are 0 to vocabulary_size() - 1.
    std::size_t vocabulary_size() const;
    /// The longest sequence, in tokens.
    std::size_t max_positions() const;

    /// Whether the model came with a tokenizer. Without one it takes and gives token ids only, and
    /// the next four functions throw BadInput.
    bool has_tokenizer() const;
    /// The ids of `text`, without BOS and EOS.
    std::vector<TokenId> encode(std::string_view text) const;
    /// The ids that a generation which continues `text` begins with: after BOS where the family
    /// has one before texts, or where there is nothing else to begin with.
    std::vector<TokenId> encode_prompt(std::string_view text) const;
    /// Throws BadInput, naming the id, for one outside the vocabulary.
    std::string decode(std::span<const TokenId> ids) const;
    /// What `ids` add to the text of `prompt`: the two decoded together, so that no space is lost.
    std::string continuation(std::span<const TokenId> prompt, std::span<const TokenId> ids) const;

    /// Sees each new id and the logits (vocabulary_size() of them) that it was chosen from.
    using OnToken = std::function<void(TokenId, std::span<const float>)>;
    /// Extends `prompt` until max_tokens or EOS and returns the new ids (EOS not included). Throws
    /// BadInput if the prompt is empty, holds an id outside the vocabulary, or does not fit
    /// max_positions() together with max_tokens, and for a temperature that is negative or not
    /// finite; with a protocol also ProtocolError and IntegrityError, after which the session is
    /// dead (SESS-4).
    std::vector<TokenId> generate(std::span<const TokenId> prompt, const SamplingOptions& options,
                                  const OnToken& on_token = {});
    /// The logits of every position: ids.size() rows of vocabulary_size(). Throws as generate().
    std::vector<float> forward(std::span<const TokenId> ids);

    /// Whether the model is a convolutional network.
    bool takes_images() const;
    /// Elements of an image: height x width x channels, the channel fastest.
    std::size_t image_size() const;
    /// The logits of `images`, which stand one after the other: as many rows, of one logit a class.
    /// All go through the network as one batch. Throws BadInput unless the images are whole; with a
    /// protocol also as generate().
    std::vector<float> classify(std::span<const float> images);

    RunStatistics statistics() const;

protected:
    explicit Model(std::unique_ptr<OpenedModel> opened);
    OpenedModel& opened() const { return *opened_; }

private:
    friend Model open_checkpoint(const std::filesystem::path& model);
    friend Model open_unsplit(const std::filesystem::path& artifact);
    std::unique_ptr<OpenedModel> opened_;
};

/// The checkpoint `model`, a Hugging Face folder or an ONNX file, in float32. Throws BadInput.
Model open_checkpoint(const std::filesystem::path& model);

/// The integer model of the split `artifact` (OUT), without a protocol: an oracle for whoever
/// carries sessions over something of their own. Charlie's output equals it, bit for bit (LIN-4).
/// Throws BadInput.
Model open_unsplit(const std::filesystem::path& artifact);

}  // namespace slip

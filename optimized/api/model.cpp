// The public classes of slip/model.hpp and slip/charlie.hpp, over what opened_model.hpp opens.
#include "slip/model.hpp"

#include <string>
#include <utility>

#include "optimized/api/opened_model.hpp"
#include "optimized/base/error.hpp"
#include "optimized/graph/generate.hpp"
#include "slip/charlie.hpp"

namespace slip {

Model::Model(std::unique_ptr<OpenedModel> opened) : opened_(std::move(opened)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

std::size_t Model::vocabulary_size() const { return opened_->graph().config().vocab_size; }

std::size_t Model::max_positions() const {
    return opened_->graph().config().max_position_embeddings;
}

bool Model::has_tokenizer() const { return opened_->tokenizer() != nullptr; }

std::vector<TokenId> Model::encode(std::string_view text) const {
    return opened_->tokenizer_for("Model::encode").encode(text);
}

std::vector<TokenId> Model::encode_prompt(std::string_view text) const {
    return opened_->encode_prompt(text, "Model::encode_prompt");
}

std::string Model::decode(std::span<const TokenId> ids) const {
    return opened_->tokenizer_for("Model::decode").decode(ids);
}

std::string Model::continuation(std::span<const TokenId> prompt,
                                std::span<const TokenId> ids) const {
    return slip::continuation(opened_->tokenizer_for("Model::continuation"), prompt, ids);
}

std::vector<TokenId> Model::generate(std::span<const TokenId> prompt,
                                     const SamplingOptions& options, const OnToken& on_token) {
    return slip::generate(opened_->graph(), opened_->engine(), prompt, options, on_token);
}

std::vector<float> Model::forward(std::span<const TokenId> ids) {
    KvCache cache(opened_->graph().config());
    Workspace workspace;
    std::vector<float> logits;
    opened_->graph().forward(opened_->engine(), workspace, {cache, ids, Logits::every_position},
                             logits);
    return logits;
}

bool Model::takes_images() const { return opened_->takes_images(); }

std::size_t Model::image_size() const { return opened_->network().config().inputs(); }

std::vector<float> Model::classify(std::span<const float> images) {
    const std::size_t width = image_size();
    if (images.empty() || images.size() % width != 0) {
        throw BadInput("images of " + std::to_string(images.size()) +
                       " elements: the network takes " + std::to_string(width) + " an image");
    }
    return opened_->network().forward(opened_->engine(),
                                      {images.data(), images.size() / width, width});
}

RunStatistics Model::statistics() const { return opened_->statistics(); }

Model open_checkpoint(const std::filesystem::path& model) { return Model(open_float_model(model)); }

Model open_unsplit(const std::filesystem::path& artifact) {
    return Model(open_unsplit_model(artifact));
}

Charlie::Charlie(const std::filesystem::path& artifact, std::unique_ptr<Transport> david,
                 const CharlieOptions& options)
    : Model(open_hybrid_model(
          artifact,
          [&] {
              require(david != nullptr, "Charlie: no transport was given");
              return std::move(david);
          },
          options)) {}

Charlie::Charlie(const std::filesystem::path& artifact, const CharlieOptions& options)
    : Model(open_hybrid_model(artifact, {}, options)) {}

void Charlie::wait_for_masks(std::size_t masks_per_group) {
    opened().wait_until_ready(masks_per_group);
}

}  // namespace slip

// What runs a language model or a convolutional network: its graph, the engine that multiplies, and
// its tokenizer, with all that they need to live. Behind slip/model.hpp, and of the commands.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "optimized/graph/cnn.hpp"
#include "optimized/graph/transformer.hpp"
#include "optimized/import/tokenizer.hpp"
#include "slip/charlie.hpp"

namespace slip {

/// The offloaded matrices of what a Checkpoint or a CharlieArtifact holds.
template <class Source>
std::vector<GroupShape> groups_in(const Source& source) {
    return source.network() ? cnn_groups(*source.network()) : groups_of(source.config());
}

class OpenedModel {
public:
    virtual ~OpenedModel() = default;
    /// The one that it is; BadInput for the other.
    const Transformer& graph() const;
    const Cnn& network() const;
    bool takes_images() const { return network_.has_value(); }
    virtual Engine& engine() = 0;
    /// Blocks until so many masks per group are ready; nothing to do without a protocol.
    virtual void wait_until_ready(std::size_t /*masks_per_group*/) {}
    virtual RunStatistics statistics() const { return {}; }

    /// "float", "unsplit" or "hybrid".
    const std::string& engine_name() const { return engine_name_; }
    /// Null if the model has no tokenizer: then it takes and gives token ids only.
    const Tokenizer* tokenizer() const { return tokenizer_.get(); }
    /// The tokenizer, or BadInput saying that `what` needs one.
    const Tokenizer& tokenizer_for(const std::string& what) const;
    /// Model::encode_prompt().
    std::vector<TokenId> encode_prompt(std::string_view text, const std::string& what) const;

protected:
    /// Makes the graph of what a Checkpoint or a CharlieArtifact holds.
    template <class Source>
    void make_graph_of(const Source& source, const ParameterLookup& parameters) {
        if (source.network()) {
            network_.emplace(*source.network(), parameters);
        } else {
            graph_ = make_graph(source.config(), parameters);
        }
    }

    std::string engine_name_;
    std::unique_ptr<Tokenizer> tokenizer_;

private:
    std::unique_ptr<Transformer> graph_;
    std::optional<Cnn> network_;
};

/// Model::continuation().
std::string continuation(const Tokenizer& tokenizer, std::span<const TokenId> prompt,
                         std::span<const TokenId> ids);

/// The checkpoint in float32. These three throw BadInput for bad files.
std::unique_ptr<OpenedModel> open_float_model(const std::filesystem::path& checkpoint);
/// The integer model of the split in `artifact`, without a protocol.
std::unique_ptr<OpenedModel> open_unsplit_model(const std::filesystem::path& artifact);
/// The protocol, with the David to whom `connect` leads, or one in this process if it is empty. It
/// is called once, when the artifact has been read. Throws also what it and a CharlieSession throw.
using Connect = std::function<std::unique_ptr<Transport>()>;
std::unique_ptr<OpenedModel> open_hybrid_model(const std::filesystem::path& artifact,
                                               const Connect& connect,
                                               const CharlieOptions& options);

}  // namespace slip

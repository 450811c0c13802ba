// Language models of every family behind one interface (MODEL-4): what a family has to say is its
// groups of matrices, its embedding, one block and its head.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "optimized/base/engine.hpp"
#include "optimized/base/model_shape.hpp"
#include "optimized/graph/embedding.hpp"
#include "optimized/graph/operations.hpp"
#include "optimized/graph/pass.hpp"

namespace slip::graph {

/// The offloaded matrices of a model in GroupId order: the groups of block 0, of block 1, ..., and
/// last {lm_head}, a group of its own. A tied head's member names the embedding's tensor; its
/// layer_type is "lm_head".
std::vector<base::GroupShape> groups_of(const base::ModelConfig& config);

class Transformer {
public:
    static constexpr std::size_t tokens_of_a_prompt_at_once = 512;

    virtual ~Transformer() = default;

    /// Appends every entry's ids to its sequence and writes the wanted logits: rows of vocab_size,
    /// one entry after the other, BatchEntry::logits_rows() of each. All tokens of one call go
    /// through the engine as one batch (MODEL-3). Neither how a sequence is cut into calls nor what
    /// else is in the batch changes a bit of its logits; with longrope they are those of the
    /// sequence as long as it is after the call (MODEL-14). Throws what check() throws,
    /// InternalError for a batch that is empty or holds one sequence twice, and what the engine
    /// throws; then every sequence is as long as before, and `logits` is unspecified. Memory: what
    /// Workspace says, the caches' growth, `logits`, and what the engine keeps for its messages.
    void forward(base::Engine& engine, Workspace& workspace, std::span<const BatchEntry> batch,
                 std::vector<float>& logits) const;
    /// One sequence, cut into steps of tokens_of_a_prompt_at_once at most, so that the workspace
    /// does not grow with the prompt.
    void forward(base::Engine& engine, Workspace& workspace, const BatchEntry& entry,
                 std::vector<float>& logits) const;

    /// What a batch would be refused for because of this entry: BadInput if an id is outside the
    /// vocabulary or the sequence would outgrow max_position_embeddings; InternalError if the entry
    /// has no token, or the cache of a model with other dimensions.
    void check(const BatchEntry& entry) const;
    /// Whether forward() has to compute the keys of all tokens of the sequence again before these
    /// (MODEL-14, MODEL-16). It does so in steps of this sequence alone.
    bool computes_keys_again(const BatchEntry& entry) const;

    const base::ModelConfig& config() const { return config_; }

protected:
    explicit Transformer(const base::ModelConfig& config);

private:
    /// Fills pass.stream.
    virtual void embed(Pass& pass) const = 0;
    /// Takes pass.stream through one block.
    virtual void apply_block(std::size_t block, Pass& pass) const = 0;
    /// From rows of the stream to their logits.
    virtual void head(base::MatrixView<const float> stream, Pass& pass,
                      base::MatrixView<float> logits) const = 0;

    void run(base::Engine& engine, Workspace& workspace, std::span<const BatchEntry> batch,
             std::vector<float>& logits) const;
    void run_in_steps(base::Engine& engine, Workspace& workspace, const BatchEntry& entry,
                      std::vector<float>& logits) const;
    bool longer_with(const BatchEntry& entry) const;
    void compute_keys_for(const BatchEntry& entry, base::Engine& engine,
                          Workspace& workspace) const;

    base::ModelConfig config_;
};

/// The graph of a model with the float parameters that `parameters` finds. With `rows`, the token
/// embedding is not kept in memory; its rows are read when they are needed.
std::unique_ptr<Transformer> make_graph(const base::ModelConfig& config,
                                        const ParameterLookup& parameters,
                                        const RowLookup& rows = {});

/// Throws BadInput, naming the id, for one outside the vocabulary.
void require_in_vocabulary(std::span<const TokenId> ids, const base::ModelConfig& config);

/// The gain NAME.weight and the bias NAME.bias.
LayerNorm read_layer_norm(const ParameterLookup& parameters, const std::string& name,
                          std::size_t width);

}  // namespace slip::graph

// LLaMA and its relatives, whose differences are data: spec/model.md, MODEL-2 and MODEL-13.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "optimized/graph/rotary.hpp"
#include "optimized/graph/transformer.hpp"

namespace slip::graph {

/// For every block {q, k, v}, {o}, {gate, up}, {down}, and last {lm_head}.
std::vector<base::GroupShape> decoder_groups(const base::ModelConfig& config);

class Decoder : public Transformer {
public:
    Decoder(const base::ModelConfig& config, const ParameterLookup& parameters,
            const RowLookup& rows);

private:
    /// What a family does not have is empty.
    struct Block {
        std::vector<float> attention_norm;
        std::vector<float> attention_branch_norm;  // of what attention adds to the stream
        std::vector<float> mlp_norm;
        std::vector<float> mlp_branch_norm;
        std::vector<float> query_bias, key_bias, value_bias;
        std::vector<float> query_norm, key_norm;  // head_dim: of every head
    };
    void embed(Pass& pass) const override;
    void apply_block(std::size_t block, Pass& pass) const override;
    void head(base::MatrixView<const float> stream, Pass& pass,
              base::MatrixView<float> logits) const override;

    Block read_block(std::size_t block, const ParameterLookup& parameters) const;
    std::vector<float> read_norm(const std::string& name, std::size_t width,
                                 const ParameterLookup& parameters) const;
    void apply_attention(std::size_t block, Pass& pass) const;
    void apply_mlp(std::size_t block, Pass& pass) const;
    void position_heads(std::size_t block, Pass& pass) const;
    void add_branch(const std::vector<float>& norm, Pass& pass) const;

    RotaryEmbedding rotary_;
    std::optional<RotaryEmbedding> window_rotary_;
    Embedding embedding_;
    std::vector<Block> blocks_;
    std::vector<float> final_norm_;
};

}  // namespace slip::graph

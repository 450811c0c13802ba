// The GPT-2 family: spec/model.md, MODEL-8.
#pragma once

#include <vector>

#include "optimized/graph/operations.hpp"
#include "optimized/graph/transformer.hpp"

namespace slip::graph {

/// For every block {c_attn}, {attn.c_proj}, {c_fc}, {mlp.c_proj}, and last {lm_head}. c_attn is
/// one matrix: query, key and value stacked.
std::vector<base::GroupShape> gpt2_groups(const base::ModelConfig& config);

class Gpt2 : public Transformer {
public:
    Gpt2(const base::ModelConfig& config, const ParameterLookup& parameters, const RowLookup& rows);

private:
    struct Block {
        LayerNorm attention_norm;
        LayerNorm mlp_norm;
        std::vector<float> attention_bias;         // of c_attn, 3 hidden_size
        std::vector<float> attention_output_bias;  // of attn.c_proj
        std::vector<float> inner_bias;             // of c_fc
        std::vector<float> mlp_output_bias;        // of mlp.c_proj
    };
    void embed(Pass& pass) const override;
    void apply_block(std::size_t block, Pass& pass) const override;
    void head(base::MatrixView<const float> stream, Pass& pass,
              base::MatrixView<float> logits) const override;

    Embedding token_embedding_;
    std::vector<float> position_embedding_;
    std::vector<Block> blocks_;
    LayerNorm final_norm_;
};

}  // namespace slip::graph

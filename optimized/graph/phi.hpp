// The Phi-2 family: spec/model.md, MODEL-9.
#pragma once

#include <vector>

#include "optimized/graph/operations.hpp"
#include "optimized/graph/rotary.hpp"
#include "optimized/graph/transformer.hpp"

namespace slip::graph {

/// For every block {q, k, v, fc1}, {dense}, {fc2}, and last {lm_head}.
std::vector<base::GroupShape> phi_groups(const base::ModelConfig& config);

class Phi : public Transformer {
public:
    Phi(const base::ModelConfig& config, const ParameterLookup& parameters, const RowLookup& rows);

private:
    struct Block {
        LayerNorm norm;
        std::vector<float> query_bias;
        std::vector<float> key_bias;
        std::vector<float> value_bias;
        std::vector<float> dense_bias;
        std::vector<float> inner_bias;   // of fc1
        std::vector<float> output_bias;  // of fc2
    };
    void embed(Pass& pass) const override;
    void apply_block(std::size_t block, Pass& pass) const override;
    void head(base::MatrixView<const float> stream, Pass& pass,
              base::MatrixView<float> logits) const override;

    RotaryEmbedding rotary_;
    Embedding embedding_;
    std::vector<Block> blocks_;
    LayerNorm final_norm_;
    std::vector<float> head_bias_;
};

}  // namespace slip::graph

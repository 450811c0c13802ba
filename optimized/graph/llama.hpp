// The LLaMA-2 family: spec/model.md, MODEL-2.
#pragma once

#include <vector>

#include "optimized/graph/rotary.hpp"
#include "optimized/graph/transformer.hpp"

namespace slip::graph {

/// For every block {q, k, v}, {o}, {gate, up}, {down}, and last {lm_head}.
std::vector<base::GroupShape> llama_groups(const base::ModelConfig& config);

class Llama : public Transformer {
public:
    Llama(const base::ModelConfig& config, const ParameterLookup& parameters,
          const RowLookup& rows);

private:
    struct Block {
        std::vector<float> attention_norm;
        std::vector<float> mlp_norm;
    };
    void embed(Pass& pass) const override;
    void apply_block(std::size_t block, Pass& pass) const override;
    void head(base::MatrixView<const float> stream, Pass& pass,
              base::MatrixView<float> logits) const override;

    RotaryEmbedding rotary_;
    Embedding embedding_;
    std::vector<Block> blocks_;
    std::vector<float> final_norm_;
};

}  // namespace slip::graph

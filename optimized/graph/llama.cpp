// MODEL-2: the LLaMA-2 family as Hugging Face computes it: RMSNorm in float32, half-rotation RoPE,
// grouped-query causal attention, SwiGLU, an own or a tied head. MODEL-4: no line of this file
// knows which engine multiplies.
#include "optimized/graph/llama.hpp"

#include <string>

#include "optimized/graph/operations.hpp"

namespace slip::graph {
namespace {

using base::GroupShape;
using base::MatrixView;
using base::ModelConfig;

/// The groups of a block after those of attention.
enum AfterAttention : std::size_t { gate_up, down, after_attention };

BlockGroups groups_of_block(const ModelConfig& config, std::size_t block) {
    return {config, block, after_attention};
}

base::GroupId head_group(const ModelConfig& config) {
    return groups_of_block(config, config.num_hidden_layers).query_key_value();
}

std::string block_prefix(std::size_t block) {
    return "model.layers." + std::to_string(block) + ".";
}

void append_block_groups(const ModelConfig& config, std::size_t block,
                         std::vector<GroupShape>& groups) {
    const std::string prefix = block_prefix(block);
    const auto member = [&](const char* module, const char* type, std::size_t m) {
        return base::MemberShape{prefix + module + "." + type, type, block, m};
    };
    const std::size_t hidden = config.hidden_size;
    const std::size_t inner = config.intermediate_size;
    if (config.attention == Attention::paper) {
        const std::string attention = prefix + "self_attn.";
        append_two_round_groups(config, block,
                                {attention + "q_proj", attention + "k_proj", attention + "v_proj",
                                 "q_proj", "k_proj", "v_proj"},
                                groups);
    } else {
        groups.push_back({hidden,
                          {member("self_attn", "q_proj", config.query_width()),
                           member("self_attn", "k_proj", config.key_value_width()),
                           member("self_attn", "v_proj", config.key_value_width())}});
    }
    groups.push_back({config.query_width(), {member("self_attn", "o_proj", hidden)}});
    groups.push_back(
        {hidden, {member("mlp", "gate_proj", inner), member("mlp", "up_proj", inner)}});
    groups.push_back({inner, {member("mlp", "down_proj", hidden)}});
}

}  // namespace

// LIN-3: matrices that share an input share a group.
std::vector<GroupShape> llama_groups(const ModelConfig& config) {
    std::vector<GroupShape> groups;
    for (std::size_t block = 0; block < config.num_hidden_layers; ++block) {
        append_block_groups(config, block, groups);
    }
    const char* head = config.tie_word_embeddings ? "model.embed_tokens" : "lm_head";
    groups.push_back({config.hidden_size, {{head, "lm_head", std::nullopt, config.vocab_size}}});
    return groups;
}

Llama::Llama(const ModelConfig& config, const ParameterLookup& parameters, const RowLookup& rows)
    : Transformer(config),
      rotary_(config),
      embedding_("model.embed_tokens.weight", config.vocab_size, config.hidden_size, parameters,
                 rows) {
    const std::size_t hidden = config.hidden_size;
    for (std::size_t block = 0; block < config.num_hidden_layers; ++block) {
        const std::string prefix = block_prefix(block);
        blocks_.push_back({parameters(prefix + "input_layernorm.weight", hidden),
                           parameters(prefix + "post_attention_layernorm.weight", hidden)});
    }
    final_norm_ = parameters("model.norm.weight", hidden);
}

void Llama::embed(Pass& pass) const { embedding_.look_up(pass.ids(), pass.stream); }

void Llama::apply_block(std::size_t block, Pass& pass) const {
    const float epsilon = config().norm_eps;
    const BlockGroups groups = groups_of_block(config(), block);
    const bool two_rounds = config().attention == Attention::paper;
    rms_norm(pass.stream, blocks_[block].attention_norm, epsilon, pass.normed);
    if (two_rounds) {
        pass.apply(groups.query(), pass.normed, {pass.query});
        pass.apply(groups.key(), pass.normed, {pass.key});
    } else {
        pass.apply(groups.query_key_value(), pass.normed, {pass.query, pass.key, pass.value});
    }
    rotary_.turn(pass.query, pass.positions());
    rotary_.turn(pass.key, pass.positions());
    if (two_rounds) {
        pass.attend_in_two_rounds(block, groups.first_value(), {});
    } else {
        pass.attend(block);
    }
    pass.apply(groups.output(), pass.mixed, {pass.branch});
    add(pass.branch, pass.stream);

    const MatrixView<float> up = pass.scratch(config().intermediate_size);
    rms_norm(pass.stream, blocks_[block].mlp_norm, epsilon, pass.normed);
    pass.apply(groups.other(gate_up), pass.normed, {pass.inner, up});
    swiglu(pass.inner.elements(), up.elements());
    pass.apply(groups.other(down), pass.inner, {pass.branch});
    add(pass.branch, pass.stream);
}

void Llama::head(MatrixView<const float> stream, Pass& pass, MatrixView<float> logits) const {
    const MatrixView<float> normed = pass.normed.rows_from(0, stream.rows());
    rms_norm(stream, final_norm_, config().norm_eps, normed);
    pass.apply(head_group(config()), normed, {logits});
}

}  // namespace slip::graph

// MODEL-9: the Phi-2 family as Hugging Face computes it: attention and MLP side by side behind one
// LayerNorm, RoPE on the first elements of a head, a GELU in its tanh form, biases everywhere.
#include "optimized/graph/phi.hpp"

#include <string>

namespace slip::graph {
namespace {

using base::MatrixView;
using base::ModelConfig;

/// The groups of a block after those of attention: fc2, and before it fc1 where it is no member of
/// the group of q, k and v.
std::size_t after_attention(const ModelConfig& config) {
    return config.attention == Attention::fused ? 1 : 2;
}

BlockGroups groups_of_block(const ModelConfig& config, std::size_t block) {
    return {config, block, after_attention(config)};
}

base::GroupId fc2_group(const ModelConfig& config, std::size_t block) {
    return groups_of_block(config, block).other(after_attention(config) - 1);
}

std::string block_prefix(std::size_t block) {
    return "model.layers." + std::to_string(block) + ".";
}

}  // namespace

// LIN-3: the block is parallel, so query, key, value and fc1 share its one normalised input. The
// inputs of dense and fc2 differ: two groups.
std::vector<base::GroupShape> phi_groups(const ModelConfig& config) {
    const std::size_t hidden = config.hidden_size;
    const std::size_t inner = config.intermediate_size;
    std::vector<base::GroupShape> groups;
    for (std::size_t block = 0; block < config.num_hidden_layers; ++block) {
        const std::string prefix = block_prefix(block);
        const auto member = [&](const char* module, const char* type, std::size_t m) {
            return base::MemberShape{prefix + module + "." + type, type, block, m};
        };
        const bool two_rounds = config.attention == Attention::paper;
        const std::string attention = prefix + "self_attn.";
        if (two_rounds) {
            append_two_round_groups(config, block,
                                    {attention + "q_proj", attention + "k_proj",
                                     attention + "v_proj", "q_proj", "k_proj", "v_proj"},
                                    groups);
        } else {
            groups.push_back({hidden,
                              {member("self_attn", "q_proj", config.query_width()),
                               member("self_attn", "k_proj", config.key_value_width()),
                               member("self_attn", "v_proj", config.key_value_width()),
                               member("mlp", "fc1", inner)}});
        }
        groups.push_back({config.query_width(), {member("self_attn", "dense", hidden)}});
        if (two_rounds) groups.push_back({hidden, {member("mlp", "fc1", inner)}});
        groups.push_back({inner, {member("mlp", "fc2", hidden)}});
    }
    const char* head = config.tie_word_embeddings ? "model.embed_tokens" : "lm_head";
    groups.push_back({hidden, {{head, "lm_head", std::nullopt, config.vocab_size}}});
    return groups;
}

Phi::Phi(const ModelConfig& config, const ParameterLookup& parameters, const RowLookup& rows)
    : Transformer(config),
      rotary_(config.rope, config.head_dim, config.rotary_dim),
      embedding_("model.embed_tokens.weight", config.vocab_size, config.hidden_size, parameters,
                 rows) {
    const std::size_t hidden = config.hidden_size;
    for (std::size_t block = 0; block < config.num_hidden_layers; ++block) {
        const std::string prefix = block_prefix(block);
        const std::string attention = prefix + "self_attn.";
        blocks_.push_back({read_layer_norm(parameters, prefix + "input_layernorm", hidden),
                           parameters(attention + "q_proj.bias", config.query_width()),
                           parameters(attention + "k_proj.bias", config.key_value_width()),
                           parameters(attention + "v_proj.bias", config.key_value_width()),
                           parameters(attention + "dense.bias", hidden),
                           parameters(prefix + "mlp.fc1.bias", config.intermediate_size),
                           parameters(prefix + "mlp.fc2.bias", hidden)});
    }
    final_norm_ = read_layer_norm(parameters, "model.final_layernorm", hidden);
    head_bias_ = parameters("lm_head.bias", config.vocab_size);
}

void Phi::embed(Pass& pass) const {
    embedding_.look_up(pass.ids(), pass.stream);
    rotary_.write_turns(pass.positions(), pass.longer(), pass.turns);
}

void Phi::apply_block(std::size_t block, Pass& pass) const {
    const Block& parameters = blocks_[block];
    layer_norm(pass.stream, parameters.norm, config().norm_eps, pass.normed);
    const BlockGroups groups = groups_of_block(config(), block);
    const bool two_rounds = config().attention == Attention::paper;
    if (two_rounds) {
        pass.apply(groups.query(), pass.normed, {pass.query});
        pass.apply(groups.key(), pass.normed, {pass.key});
        pass.apply(groups.other(0), pass.normed, {pass.inner});
    } else {
        pass.apply(groups.query_key_value(), pass.normed,
                   {pass.query, pass.key, pass.value, pass.inner});
    }

    add_bias(parameters.query_bias, pass.query);
    add_bias(parameters.key_bias, pass.key);
    rotary_.turn(pass.query, pass.turns);
    rotary_.turn(pass.key, pass.turns);
    if (two_rounds) {
        pass.attend_in_two_rounds(block, groups.first_value(), parameters.value_bias);
    } else {
        add_bias(parameters.value_bias, pass.value);
        pass.attend(block);
    }
    pass.apply(groups.output(), pass.mixed, {pass.branch});
    add_bias(parameters.dense_bias, pass.branch);
    add(pass.branch, pass.stream);

    add_bias(parameters.inner_bias, pass.inner);
    gelu(pass.inner.elements());
    pass.apply(fc2_group(config(), block), pass.inner, {pass.branch});
    add_bias(parameters.output_bias, pass.branch);
    add(pass.branch, pass.stream);
}

void Phi::head(MatrixView<const float> stream, Pass& pass, MatrixView<float> logits) const {
    const MatrixView<float> normed = pass.normed.rows_from(0, stream.rows());
    layer_norm(stream, final_norm_, config().norm_eps, normed);
    pass.apply(BlockGroups::head(config(), after_attention(config())), normed, {logits});
    add_bias(head_bias_, logits);
}

}  // namespace slip::graph

// MODEL-9: the Phi-2 family as Hugging Face computes it: attention and MLP side by side behind one
// LayerNorm, RoPE on the first elements of a head, a GELU in its tanh form, biases everywhere.
#include "optimized/graph/phi.hpp"

#include <string>

namespace slip {
namespace {

/// The groups of a block, in the order of phi_groups().
enum GroupInBlock : std::size_t { qkv_fc1, dense, fc2, groups_a_block };

GroupId group_id(std::size_t block, GroupInBlock group) {
    return static_cast<GroupId>(groups_a_block * block + group);
}

GroupId head_group(const ModelConfig& config) {
    return static_cast<GroupId>(groups_a_block * config.num_hidden_layers);
}

std::string block_prefix(std::size_t block) {
    return "model.layers." + std::to_string(block) + ".";
}

}  // namespace

// LIN-3: the block is parallel, so query, key, value and fc1 share its one normalised input. The
// inputs of dense and fc2 differ: two groups.
std::vector<GroupShape> phi_groups(const ModelConfig& config) {
    const std::size_t hidden = config.hidden_size;
    const std::size_t inner = config.intermediate_size;
    std::vector<GroupShape> groups;
    for (std::size_t block = 0; block < config.num_hidden_layers; ++block) {
        const std::string prefix = block_prefix(block);
        const auto member = [&](const char* module, const char* type, std::size_t m) {
            return MemberShape{prefix + module + "." + type, type, block, m};
        };
        groups.push_back({hidden,
                          {member("self_attn", "q_proj", config.query_width()),
                           member("self_attn", "k_proj", config.key_value_width()),
                           member("self_attn", "v_proj", config.key_value_width()),
                           member("mlp", "fc1", inner)}});
        groups.push_back({config.query_width(), {member("self_attn", "dense", hidden)}});
        groups.push_back({inner, {member("mlp", "fc2", hidden)}});
    }
    const char* head = config.tie_word_embeddings ? "model.embed_tokens" : "lm_head";
    groups.push_back({hidden, {{head, "lm_head", std::nullopt, config.vocab_size}}});
    return groups;
}

Phi::Phi(const ModelConfig& config, const ParameterLookup& parameters)
    : LanguageModel(config), rotary_(config) {
    const std::size_t hidden = config.hidden_size;
    embedding_ = parameters("model.embed_tokens.weight", config.vocab_size * hidden);
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

void Phi::embed(std::span<const TokenId> ids, Pass& pass) const {
    look_up(ids, embedding_, pass.stream);
}

void Phi::apply_block(std::size_t block, Pass& pass) const {
    const Block& parameters = blocks_[block];
    layer_norm(pass.stream, parameters.norm, config().norm_eps, pass.normed);
    pass.apply(group_id(block, qkv_fc1), pass.normed,
               {pass.query, pass.key, pass.value, pass.inner});

    add_bias(parameters.query_bias, pass.query);
    add_bias(parameters.key_bias, pass.key);
    add_bias(parameters.value_bias, pass.value);
    rotary_.turn(pass.query, pass.first_position());
    rotary_.turn(pass.key, pass.first_position());
    pass.attend(block);
    pass.apply(group_id(block, dense), pass.mixed, {pass.branch});
    add_bias(parameters.dense_bias, pass.branch);
    add(pass.branch, pass.stream);

    add_bias(parameters.inner_bias, pass.inner);
    gelu(pass.inner.elements());
    pass.apply(group_id(block, fc2), pass.inner, {pass.branch});
    add_bias(parameters.output_bias, pass.branch);
    add(pass.branch, pass.stream);
}

void Phi::head(MatrixView<const float> stream, Pass& pass, MatrixView<float> logits) const {
    const MatrixView<float> normed = pass.normed.rows_from(0, stream.rows());
    layer_norm(stream, final_norm_, config().norm_eps, normed);
    pass.apply(head_group(config()), normed, {logits});
    add_bias(head_bias_, logits);
}

}  // namespace slip

// MODEL-2 and MODEL-13: LLaMA and its relatives as Hugging Face computes them: RMSNorm in float32,
// half-rotation RoPE, grouped-query causal attention, a gated MLP, an own or a tied head. MODEL-4:
// no line of this file knows which engine multiplies.
#include "optimized/graph/decoder.hpp"

#include <string>

#include "optimized/graph/gates.hpp"
#include "optimized/graph/operations.hpp"

namespace slip::graph {
namespace {

using base::GroupShape;
using base::MatrixView;
using base::MemberShape;
using base::ModelConfig;

/// The groups of a block after those of attention.
enum AfterAttention : std::size_t { gate_up, down, after_attention };

BlockGroups groups_of_block(const ModelConfig& config, std::size_t block) {
    return {config, block, after_attention};
}

std::string block_prefix(std::size_t block) {
    return "model.layers." + std::to_string(block) + ".";
}

/// Where the matrices of q, k and v are: tensors of their own, or rows of one.
AttentionTensors attention_tensors(const ModelConfig& config, const std::string& prefix) {
    const std::string attention = prefix + "self_attn.";
    AttentionTensors tensors{attention + "q_proj",
                             attention + "k_proj",
                             attention + "v_proj",
                             "q_proj",
                             "k_proj",
                             "v_proj"};
    if (!config.stacked_tensors) return tensors;
    tensors.query = tensors.key = tensors.value = attention + "qkv_proj";
    tensors.key_row = config.query_width();
    tensors.value_row = tensors.key_row + config.key_value_width();
    tensors.tensor_rows = tensors.value_row + config.key_value_width();
    return tensors;
}

GroupShape query_key_value_group(const ModelConfig& config, std::size_t block,
                                 const AttentionTensors& tensors) {
    const auto member = [&](const std::string& tensor, const std::string& type, std::size_t m,
                            std::size_t first_row) {
        const std::size_t rows = tensors.tensor_rows == 0 ? m : tensors.tensor_rows;
        return MemberShape{tensor, type, block, m, first_row, rows};
    };
    const std::size_t width = config.key_value_width();
    return {config.hidden_size,
            {member(tensors.query, tensors.query_type, config.query_width(), tensors.query_row),
             member(tensors.key, tensors.key_type, width, tensors.key_row),
             member(tensors.value, tensors.value_type, width, tensors.value_row)}};
}

GroupShape gate_up_group(const ModelConfig& config, std::size_t block) {
    const std::size_t inner = config.intermediate_size;
    const std::string mlp = block_prefix(block) + "mlp.";
    if (config.stacked_tensors) {
        const std::string tensor = mlp + "gate_up_proj";
        return {config.hidden_size,
                {{tensor, "gate_proj", block, inner, 0, 2 * inner},
                 {tensor, "up_proj", block, inner, inner, 2 * inner}}};
    }
    return {config.hidden_size,
            {{mlp + "gate_proj", "gate_proj", block, inner},
             {mlp + "up_proj", "up_proj", block, inner}}};
}

void append_block_groups(const ModelConfig& config, std::size_t block,
                         std::vector<GroupShape>& groups) {
    const std::string prefix = block_prefix(block);
    const AttentionTensors tensors = attention_tensors(config, prefix);
    if (config.attention == Attention::paper) {
        append_two_round_groups(config, block, tensors, groups);
    } else {
        groups.push_back(query_key_value_group(config, block, tensors));
    }
    const std::size_t hidden = config.hidden_size;
    groups.push_back(
        {config.query_width(), {{prefix + "self_attn.o_proj", "o_proj", block, hidden}}});
    groups.push_back(gate_up_group(config, block));
    groups.push_back(
        {config.intermediate_size, {{prefix + "mlp.down_proj", "down_proj", block, hidden}}});
}

/// Every head of every row as a row of its own.
MatrixView<float> heads_of(MatrixView<float> rows, std::size_t head_dim) {
    return {rows.data(), rows.rows() * rows.cols() / head_dim, head_dim};
}

}  // namespace

// LIN-3: matrices that share an input share a group.
std::vector<GroupShape> decoder_groups(const ModelConfig& config) {
    std::vector<GroupShape> groups;
    for (std::size_t block = 0; block < config.num_hidden_layers; ++block) {
        append_block_groups(config, block, groups);
    }
    const char* head = config.tie_word_embeddings ? "model.embed_tokens" : "lm_head";
    groups.push_back({config.hidden_size, {{head, "lm_head", std::nullopt, config.vocab_size}}});
    return groups;
}

Decoder::Decoder(const ModelConfig& config, const ParameterLookup& parameters,
                 const RowLookup& rows)
    : Transformer(config),
      rotary_(config.rope, config.head_dim, config.rotary_dim),
      embedding_("model.embed_tokens.weight", config.vocab_size, config.hidden_size, parameters,
                 rows) {
    base::require(config.windows.empty() || config.windows.size() == config.num_hidden_layers,
                  "Decoder: a window for every block, or none");
    if (config.window_rope) {
        window_rotary_.emplace(*config.window_rope, config.head_dim, config.rotary_dim);
    }
    for (std::size_t block = 0; block < config.num_hidden_layers; ++block) {
        blocks_.push_back(read_block(block, parameters));
    }
    final_norm_ = read_norm("model.norm", config.hidden_size, parameters);
}

std::vector<float> Decoder::read_norm(const std::string& name, std::size_t width,
                                      const ParameterLookup& parameters) const {
    std::vector<float> weight = parameters(name + ".weight", width);
    if (config().norm_weight_plus_one) {
        for (float& value : weight) value += 1.0F;
    }
    return weight;
}

/// With norms of the branches, post_attention_layernorm is one of them, and not the MLP's.
Decoder::Block Decoder::read_block(std::size_t block, const ParameterLookup& parameters) const {
    const std::string prefix = block_prefix(block);
    const auto norm = [&](const char* name, std::size_t width) {
        return read_norm(prefix + name, width, parameters);
    };
    const std::size_t hidden = config().hidden_size;
    Block result;
    result.attention_norm = norm("input_layernorm", hidden);
    if (config().branch_norms) {
        result.attention_branch_norm = norm("post_attention_layernorm", hidden);
        result.mlp_norm = norm("pre_feedforward_layernorm", hidden);
        result.mlp_branch_norm = norm("post_feedforward_layernorm", hidden);
    } else {
        result.mlp_norm = norm("post_attention_layernorm", hidden);
    }
    const std::string attention = prefix + "self_attn.";
    if (config().query_key_value_biases) {
        result.query_bias = parameters(attention + "q_proj.bias", config().query_width());
        result.key_bias = parameters(attention + "k_proj.bias", config().key_value_width());
        result.value_bias = parameters(attention + "v_proj.bias", config().key_value_width());
    }
    if (config().head_norms) {
        result.query_norm = norm("self_attn.q_norm", config().head_dim);
        result.key_norm = norm("self_attn.k_norm", config().head_dim);
    }
    return result;
}

void Decoder::embed(Pass& pass) const {
    embedding_.look_up(pass.ids(), pass.stream);
    if (config().embedding_scale) {
        multiply(pass.stream.elements(), static_cast<float>(*config().embedding_scale));
    }
    rotary_.write_turns(pass.positions(), pass.longer(), pass.turns);
    if (window_rotary_) {
        window_rotary_->write_turns(pass.positions(), pass.longer(), pass.window_turns);
    }
}

void Decoder::apply_block(std::size_t block, Pass& pass) const {
    apply_attention(block, pass);
    apply_mlp(block, pass);
}

void Decoder::apply_attention(std::size_t block, Pass& pass) const {
    const Block& parameters = blocks_[block];
    const BlockGroups groups = groups_of_block(config(), block);
    const bool two_rounds = config().attention == Attention::paper;
    rms_norm(pass.stream, parameters.attention_norm, config().norm_eps, pass.normed);
    if (two_rounds) {
        pass.apply(groups.query(), pass.normed, {pass.query});
        pass.apply(groups.key(), pass.normed, {pass.key});
    } else {
        pass.apply(groups.query_key_value(), pass.normed, {pass.query, pass.key, pass.value});
    }
    position_heads(block, pass);
    if (two_rounds) {
        pass.attend_in_two_rounds(block, groups.first_value(), parameters.value_bias);
    } else {
        if (config().query_key_value_biases) add_bias(parameters.value_bias, pass.value);
        pass.attend(block);
    }
    pass.apply(groups.output(), pass.mixed, {pass.branch});
    add_branch(parameters.attention_branch_norm, pass);
}

/// Takes q and k from their matrices' outputs to what scores are made of: biases, norms of the
/// heads, RoPE.
void Decoder::position_heads(std::size_t block, Pass& pass) const {
    const Block& parameters = blocks_[block];
    if (config().query_key_value_biases) {
        add_bias(parameters.query_bias, pass.query);
        add_bias(parameters.key_bias, pass.key);
    }
    if (config().head_norms) {
        const MatrixView<float> queries = heads_of(pass.query, config().head_dim);
        const MatrixView<float> keys = heads_of(pass.key, config().head_dim);
        rms_norm(queries, parameters.query_norm, config().norm_eps, queries);
        rms_norm(keys, parameters.key_norm, config().norm_eps, keys);
    }
    const bool of_window = window_rotary_ && config().window(block) > 0;
    const RotaryEmbedding& rotary = of_window ? *window_rotary_ : rotary_;
    const MatrixView<float> turns = of_window ? pass.window_turns : pass.turns;
    rotary.turn(pass.query, turns);
    rotary.turn(pass.key, turns);
}

void Decoder::apply_mlp(std::size_t block, Pass& pass) const {
    const Block& parameters = blocks_[block];
    const BlockGroups groups = groups_of_block(config(), block);
    const MatrixView<float> up = pass.scratch(config().intermediate_size);
    rms_norm(pass.stream, parameters.mlp_norm, config().norm_eps, pass.normed);
    pass.apply(groups.other(gate_up), pass.normed, {pass.inner, up});
    if (config().gate_activation == base::GateActivation::silu) {
        swiglu(pass.inner.elements(), up.elements());
    } else {
        gelu_gate(pass.inner.elements(), up.elements());
    }
    pass.apply(groups.other(down), pass.inner, {pass.branch});
    add_branch(parameters.mlp_branch_norm, pass);
}

/// Adds the branch to the stream, normed first if the family does that.
void Decoder::add_branch(const std::vector<float>& norm, Pass& pass) const {
    if (config().branch_norms) rms_norm(pass.branch, norm, config().norm_eps, pass.branch);
    add(pass.branch, pass.stream);
}

void Decoder::head(MatrixView<const float> stream, Pass& pass, MatrixView<float> logits) const {
    const MatrixView<float> normed = pass.normed.rows_from(0, stream.rows());
    rms_norm(stream, final_norm_, config().norm_eps, normed);
    pass.apply(BlockGroups::head(config(), after_attention), normed, {logits});
    if (config().logit_cap) {
        soft_cap(logits.elements(), static_cast<float>(*config().logit_cap));
    }
}

}  // namespace slip::graph

// MODEL-8: the GPT-2 family as Hugging Face computes it: learned positions, LayerNorm, causal
// attention, a GELU in its tanh form, biases everywhere but in the head.
#include "optimized/graph/gpt2.hpp"

#include <algorithm>
#include <string>

namespace slip::graph {
namespace {

using base::MatrixView;
using base::ModelConfig;

/// The groups of a block after those of attention.
enum AfterAttention : std::size_t { c_fc, mlp_c_proj, after_attention };

BlockGroups groups_of_block(const ModelConfig& config, std::size_t block) {
    return {config, block, after_attention};
}

std::string block_prefix(std::size_t block) {
    return "transformer.h." + std::to_string(block) + ".";
}

/// Copies columns first, first + 1, ... of `from` to `to`.
void copy_columns(MatrixView<const float> from, std::size_t first, MatrixView<float> to) {
    for (std::size_t t = 0; t < to.rows(); ++t) {
        std::copy_n(from.row(t).data() + first, to.cols(), to.row(t).data());
    }
}

/// c_attn is W_q, W_k, W_v, one below the other.
void append_attention_groups(const ModelConfig& config, std::size_t block,
                             std::vector<base::GroupShape>& groups) {
    const std::size_t hidden = config.hidden_size;
    const std::string tensor = block_prefix(block) + "attn.c_attn";
    const auto type = [&](const char* part) {
        return config.separate_query_key_value ? std::string("c_attn.") + part : "c_attn";
    };
    const auto part = [&](const char* name, std::size_t first_row) {
        return base::MemberShape{tensor, type(name), block, hidden, first_row, 3 * hidden};
    };
    if (config.attention == Attention::paper) {
        append_two_round_groups(config, block,
                                {tensor, tensor, tensor, type("q"), type("k"), type("v"), 0, hidden,
                                 2 * hidden, 3 * hidden},
                                groups);
    } else if (config.separate_query_key_value) {
        groups.push_back({hidden, {part("q", 0), part("k", hidden), part("v", 2 * hidden)}});
    } else {
        groups.push_back({hidden, {{tensor, "c_attn", block, 3 * hidden}}});
    }
}

}  // namespace

// LIN-3. Two matrices of a block are called c_proj, so their layer types say which is meant.
std::vector<base::GroupShape> gpt2_groups(const ModelConfig& config) {
    const std::size_t hidden = config.hidden_size;
    const std::size_t inner = config.intermediate_size;
    std::vector<base::GroupShape> groups;
    for (std::size_t block = 0; block < config.num_hidden_layers; ++block) {
        const std::string prefix = block_prefix(block);
        const auto group = [&](std::size_t n, const char* module, const char* type, std::size_t m) {
            groups.push_back({n, {{prefix + module, type, block, m}}});
        };
        append_attention_groups(config, block, groups);
        group(hidden, "attn.c_proj", "attn.c_proj", hidden);
        group(hidden, "mlp.c_fc", "c_fc", inner);
        group(inner, "mlp.c_proj", "mlp.c_proj", hidden);
    }
    const char* head = config.tie_word_embeddings ? "transformer.wte" : "lm_head";
    groups.push_back({hidden, {{head, "lm_head", std::nullopt, config.vocab_size}}});
    return groups;
}

Gpt2::Gpt2(const ModelConfig& config, const ParameterLookup& parameters, const RowLookup& rows)
    : Transformer(config),
      token_embedding_("transformer.wte.weight", config.vocab_size, config.hidden_size, parameters,
                       rows) {
    const std::size_t hidden = config.hidden_size;
    base::require(config.query_width() == hidden && config.key_value_width() == hidden,
                  "Gpt2: the heads must be as wide as the stream");
    position_embedding_ =
        parameters("transformer.wpe.weight", config.max_position_embeddings * hidden);
    for (std::size_t block = 0; block < config.num_hidden_layers; ++block) {
        const std::string prefix = block_prefix(block);
        blocks_.push_back({read_layer_norm(parameters, prefix + "ln_1", hidden),
                           read_layer_norm(parameters, prefix + "ln_2", hidden),
                           parameters(prefix + "attn.c_attn.bias", 3 * hidden),
                           parameters(prefix + "attn.c_proj.bias", hidden),
                           parameters(prefix + "mlp.c_fc.bias", config.intermediate_size),
                           parameters(prefix + "mlp.c_proj.bias", hidden)});
    }
    final_norm_ = read_layer_norm(parameters, "transformer.ln_f", hidden);
}

void Gpt2::embed(Pass& pass) const {
    const std::size_t hidden = config().hidden_size;
    token_embedding_.look_up(pass.ids(), pass.stream);
    const MatrixView<const float> positions(position_embedding_.data(),
                                            config().max_position_embeddings, hidden);
    for (std::size_t t = 0; t < pass.stream.rows(); ++t) {
        add(positions.rows_from(pass.positions()[t], 1), pass.stream.rows_from(t, 1));
    }
}

void Gpt2::apply_block(std::size_t block, Pass& pass) const {
    const Block& parameters = blocks_[block];
    const std::size_t hidden = config().hidden_size;
    const float epsilon = config().norm_eps;

    const BlockGroups groups = groups_of_block(config(), block);
    const std::span<const float> bias = parameters.attention_bias;  // of q, k and v
    layer_norm(pass.stream, parameters.attention_norm, epsilon, pass.normed);
    if (config().attention == Attention::paper) {
        pass.apply(groups.query(), pass.normed, {pass.query});
        pass.apply(groups.key(), pass.normed, {pass.key});
        add_bias(bias.first(hidden), pass.query);
        add_bias(bias.subspan(hidden, hidden), pass.key);
        pass.attend_in_two_rounds(block, groups.first_value(), bias.last(hidden));
    } else {
        if (config().separate_query_key_value) {
            pass.apply(groups.query_key_value(), pass.normed, {pass.query, pass.key, pass.value});
        } else {
            const MatrixView<float> stacked = pass.scratch(3 * hidden);
            pass.apply(groups.query_key_value(), pass.normed, {stacked});
            copy_columns(stacked, 0, pass.query);
            copy_columns(stacked, hidden, pass.key);
            copy_columns(stacked, 2 * hidden, pass.value);
        }
        add_bias(bias.first(hidden), pass.query);
        add_bias(bias.subspan(hidden, hidden), pass.key);
        add_bias(bias.last(hidden), pass.value);
        pass.attend(block);
    }
    pass.apply(groups.output(), pass.mixed, {pass.branch});
    add_bias(parameters.attention_output_bias, pass.branch);
    add(pass.branch, pass.stream);

    layer_norm(pass.stream, parameters.mlp_norm, epsilon, pass.normed);
    pass.apply(groups.other(c_fc), pass.normed, {pass.inner});
    add_bias(parameters.inner_bias, pass.inner);
    gelu(pass.inner.elements());
    pass.apply(groups.other(mlp_c_proj), pass.inner, {pass.branch});
    add_bias(parameters.mlp_output_bias, pass.branch);
    add(pass.branch, pass.stream);
}

void Gpt2::head(MatrixView<const float> stream, Pass& pass, MatrixView<float> logits) const {
    const MatrixView<float> normed = pass.normed.rows_from(0, stream.rows());
    layer_norm(stream, final_norm_, config().norm_eps, normed);
    pass.apply(BlockGroups::head(config(), after_attention), normed, {logits});
}

}  // namespace slip::graph

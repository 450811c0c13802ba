// MODEL-2: the LLaMA-2 family as Hugging Face computes it: RMSNorm in float32, half-rotation RoPE,
// grouped-query causal attention, SwiGLU, an own or a tied head. MODEL-4: no line of this file
// knows which engine multiplies.
#include "optimized/graph/llama.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "optimized/graph/operations.hpp"

namespace slip {
namespace {

/// GroupIds in the order of llama_groups(): four groups a block.
enum GroupInBlock : std::size_t { qkv_group = 0, o_group = 1, gate_up_group = 2, down_group = 3 };

GroupId group_id(std::size_t block, GroupInBlock group) {
    return static_cast<GroupId>(4 * block + group);
}

GroupId head_group(const LlamaConfig& config) {
    return static_cast<GroupId>(4 * config.num_hidden_layers);
}

std::string block_prefix(std::size_t block) {
    return "model.layers." + std::to_string(block) + ".";
}

std::size_t query_width(const LlamaConfig& config) {
    return config.num_attention_heads * config.head_dim;
}

std::size_t key_value_width(const LlamaConfig& config) {
    return config.num_key_value_heads * config.head_dim;
}

/// `rows` of `width` elements of a workspace vector, which grows if need be and never shrinks.
MatrixView<float> rows_of(std::vector<float>& storage, std::size_t rows, std::size_t width) {
    if (storage.size() < rows * width) storage.resize(rows * width);
    return {storage.data(), rows, width};
}

void append_block_groups(const LlamaConfig& config, std::size_t block,
                         std::vector<GroupShape>& groups) {
    const std::string prefix = block_prefix(block);
    const auto member = [&](const char* module, const char* type, std::size_t m) {
        return MemberShape{prefix + module + "." + type, type, block, m};
    };
    const std::size_t hidden = config.hidden_size;
    const std::size_t inner = config.intermediate_size;
    groups.push_back({hidden,
                      {member("self_attn", "q_proj", query_width(config)),
                       member("self_attn", "k_proj", key_value_width(config)),
                       member("self_attn", "v_proj", key_value_width(config))}});
    groups.push_back({query_width(config), {member("self_attn", "o_proj", hidden)}});
    groups.push_back(
        {hidden, {member("mlp", "gate_proj", inner), member("mlp", "up_proj", inner)}});
    groups.push_back({inner, {member("mlp", "down_proj", hidden)}});
}

}  // namespace

// LIN-3: matrices that share an input share a group.
std::vector<GroupShape> llama_groups(const LlamaConfig& config) {
    std::vector<GroupShape> groups;
    for (std::size_t block = 0; block < config.num_hidden_layers; ++block) {
        append_block_groups(config, block, groups);
    }
    const char* head = config.tie_word_embeddings ? "model.embed_tokens" : "lm_head";
    groups.push_back({config.hidden_size, {{head, "lm_head", std::nullopt, config.vocab_size}}});
    return groups;
}

KvCache::KvCache(const LlamaConfig& config)
    : width_(key_value_width(config)),
      keys_(config.num_hidden_layers),
      values_(config.num_hidden_layers) {}

Llama::Llama(const LlamaConfig& config, const ParameterLookup& parameters) : config_(config) {
    require(config.head_dim % 2 == 0 && config.num_key_value_heads > 0 &&
                config.num_attention_heads % config.num_key_value_heads == 0,
            "Llama: head_dim must be even and the query heads a multiple of the key heads");
    const std::size_t hidden = config.hidden_size;
    embedding_ = parameters("model.embed_tokens.weight", config.vocab_size * hidden);
    for (std::size_t block = 0; block < config.num_hidden_layers; ++block) {
        const std::string prefix = block_prefix(block);
        blocks_.push_back({parameters(prefix + "input_layernorm.weight", hidden),
                           parameters(prefix + "post_attention_layernorm.weight", hidden)});
    }
    final_norm_ = parameters("model.norm.weight", hidden);

    // Elements j and j + head_dim/2 turn by position * rope_theta^(-2j / head_dim).
    const std::size_t half = config.head_dim / 2;
    rope_cos_.resize(config.max_position_embeddings * half);
    rope_sin_.resize(config.max_position_embeddings * half);
    for (std::size_t j = 0; j < half; ++j) {
        const double exponent = -2.0 * static_cast<double>(j) / static_cast<double>(2 * half);
        const double frequency = std::pow(config.rope_theta, exponent);
        for (std::size_t position = 0; position < config.max_position_embeddings; ++position) {
            const double angle = static_cast<double>(position) * frequency;
            rope_cos_[position * half + j] = static_cast<float>(std::cos(angle));
            rope_sin_[position * half + j] = static_cast<float>(std::sin(angle));
        }
    }
}

void Llama::forward(Engine& engine, KvCache& cache, std::span<const TokenId> ids, Logits which,
                    std::vector<float>& logits) const {
    check(cache, ids);
    const std::size_t tokens = ids.size();
    embed(ids, cache);
    for (std::size_t block = 0; block < blocks_.size(); ++block) {
        attention(engine, cache, block, tokens);
        mlp(engine, cache, block, tokens);
    }
    const std::size_t wanted = which == Logits::last_position ? 1 : tokens;
    normalise(final_norm_, cache, tokens - wanted, wanted);
    logits.resize(wanted * config_.vocab_size);
    const std::array outputs{MatrixView<float>(logits.data(), wanted, config_.vocab_size)};
    engine.apply(head_group(config_), rows_of(cache.work_.normed, wanted, config_.hidden_size),
                 outputs);
    cache.length_ += tokens;
}

void Llama::check(const KvCache& cache, std::span<const TokenId> ids) const {
    require(!ids.empty(), "Llama::forward: no token");
    require(cache.keys_.size() == blocks_.size() && cache.width_ == key_value_width(config_),
            "Llama::forward: the cache belongs to another model");
    for (const TokenId id : ids) {
        if (id < 0 || static_cast<std::size_t>(id) >= config_.vocab_size) {
            throw BadInput("token id " + std::to_string(id) +
                           " is outside the vocabulary: expected 0 to " +
                           std::to_string(config_.vocab_size - 1));
        }
    }
    if (cache.length_ + ids.size() > config_.max_position_embeddings) {
        throw BadInput("the sequence needs " + std::to_string(cache.length_ + ids.size()) +
                       " positions, but the model has max_position_embeddings " +
                       std::to_string(config_.max_position_embeddings));
    }
}

void Llama::embed(std::span<const TokenId> ids, KvCache& cache) const {
    const MatrixView<const float> table(embedding_.data(), config_.vocab_size, config_.hidden_size);
    const MatrixView<float> stream = rows_of(cache.work_.stream, ids.size(), config_.hidden_size);
    for (std::size_t t = 0; t < ids.size(); ++t) {
        const auto row = table.row(static_cast<std::size_t>(ids[t]));
        std::copy(row.begin(), row.end(), stream.row(t).begin());
    }
}

/// work.normed = RMSNorm of the rows first, ..., first + tokens - 1 of the stream.
void Llama::normalise(const std::vector<float>& weight, KvCache& cache, std::size_t first,
                      std::size_t tokens) const {
    const std::size_t hidden = config_.hidden_size;
    const MatrixView<float> stream = rows_of(cache.work_.stream, first + tokens, hidden);
    const MatrixView<float> normed = rows_of(cache.work_.normed, tokens, hidden);
    for (std::size_t t = 0; t < tokens; ++t) {
        rms_norm(stream.row(first + t), weight, config_.rms_norm_eps, normed.row(t));
    }
}

void Llama::attention(Engine& engine, KvCache& cache, std::size_t block, std::size_t tokens) const {
    KvCache::Workspace& work = cache.work_;
    normalise(blocks_[block].attention_norm, cache, 0, tokens);
    const MatrixView<float> query = rows_of(work.query, tokens, query_width(config_));
    const std::array projections{query, rows_of(work.key, tokens, cache.width_),
                                 rows_of(work.value, tokens, cache.width_)};
    engine.apply(group_id(block, qkv_group), rows_of(work.normed, tokens, config_.hidden_size),
                 projections);

    store_keys_and_values(cache, block, tokens);
    const MatrixView<float> mixed = rows_of(work.mixed, tokens, query_width(config_));
    for (std::size_t t = 0; t < tokens; ++t) {
        rotate_heads(query.row(t), cache.length_ + t);
        attend(cache, block, t);
    }

    const std::array branch{rows_of(work.branch, tokens, config_.hidden_size)};
    engine.apply(group_id(block, o_group), mixed, branch);
    add_scaled(rows_of(work.stream, tokens, config_.hidden_size).elements(), 1.0F,
               branch[0].elements());
}

void Llama::rotate_heads(std::span<float> heads, std::size_t position) const {
    const std::size_t half = config_.head_dim / 2;
    const std::span cosines = std::span(rope_cos_).subspan(position * half, half);
    const std::span sines = std::span(rope_sin_).subspan(position * half, half);
    for (std::size_t at = 0; at < heads.size(); at += config_.head_dim) {
        rotate(heads.subspan(at, config_.head_dim), cosines, sines);
    }
}

/// Appends the call's keys, rotated to their positions, and values to the block's cache. Only
/// forward() makes them part of the sequence, when every block has succeeded.
void Llama::store_keys_and_values(KvCache& cache, std::size_t block, std::size_t tokens) const {
    const MatrixView<float> keys =
        rows_of(cache.keys_[block], cache.length_ + tokens, cache.width_);
    const MatrixView<float> values =
        rows_of(cache.values_[block], cache.length_ + tokens, cache.width_);
    for (std::size_t t = 0; t < tokens; ++t) {
        const std::size_t position = cache.length_ + t;
        const auto key = rows_of(cache.work_.key, tokens, cache.width_).row(t);
        const auto value = rows_of(cache.work_.value, tokens, cache.width_).row(t);
        rotate_heads(key, position);
        std::copy(key.begin(), key.end(), keys.row(position).begin());
        std::copy(value.begin(), value.end(), values.row(position).begin());
    }
}

/// Causal attention of one token of the call: softmax(q K^T / sqrt(head_dim)) V, head by head.
/// Query head h reads key head h / (query heads / key heads).
void Llama::attend(KvCache& cache, std::size_t block, std::size_t token) const {
    const std::size_t d = config_.head_dim;
    const std::size_t positions = cache.length_ + token + 1;
    const std::size_t sharing = config_.num_attention_heads / config_.num_key_value_heads;
    const float scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(d)));
    const MatrixView<const float> keys(cache.keys_[block].data(), positions, cache.width_);
    const MatrixView<const float> values(cache.values_[block].data(), positions, cache.width_);
    const std::size_t width = query_width(config_);
    const std::span query = std::span(cache.work_.query).subspan(token * width, width);
    const std::span mixed = std::span(cache.work_.mixed).subspan(token * width, width);
    const std::span scores = rows_of(cache.work_.scores, 1, positions).elements();

    for (std::size_t head = 0; head < config_.num_attention_heads; ++head) {
        const std::span head_query = query.subspan(head * d, d);
        const std::size_t at = head / sharing * d;
        for (std::size_t p = 0; p < positions; ++p) {
            scores[p] = dot(head_query, keys.row(p).subspan(at, d)) * scale;
        }
        softmax(scores);
        const std::span out = mixed.subspan(head * d, d);
        std::fill(out.begin(), out.end(), 0.0F);
        for (std::size_t p = 0; p < positions; ++p) {
            add_scaled(out, scores[p], values.row(p).subspan(at, d));
        }
    }
}

void Llama::mlp(Engine& engine, KvCache& cache, std::size_t block, std::size_t tokens) const {
    KvCache::Workspace& work = cache.work_;
    normalise(blocks_[block].mlp_norm, cache, 0, tokens);
    const std::array inner{rows_of(work.gate, tokens, config_.intermediate_size),
                           rows_of(work.up, tokens, config_.intermediate_size)};
    engine.apply(group_id(block, gate_up_group), rows_of(work.normed, tokens, config_.hidden_size),
                 inner);
    swiglu(inner[0].elements(), inner[1].elements());

    const std::array branch{rows_of(work.branch, tokens, config_.hidden_size)};
    engine.apply(group_id(block, down_group), inner[0], branch);
    add_scaled(rows_of(work.stream, tokens, config_.hidden_size).elements(), 1.0F,
               branch[0].elements());
}

}  // namespace slip

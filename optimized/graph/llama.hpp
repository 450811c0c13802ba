// The LLaMA-2 family, written once for every engine: spec/model.md, MODEL-2.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "optimized/base/matrix_view.hpp"
#include "optimized/base/model_shape.hpp"
#include "optimized/graph/engine.hpp"

namespace slip {

/// The offloaded matrices in GroupId order: for every block {q, k, v}, {o}, {gate, up}, {down}, and
/// last {lm_head}. A tied head's member names the embedding's tensor; its layer_type is "lm_head".
std::vector<GroupShape> llama_groups(const LlamaConfig& config);

/// Keys and values of one sequence, and the room in which its next tokens are computed: after the
/// first call no memory is reserved but the cache's own growth.
class KvCache {
public:
    explicit KvCache(const LlamaConfig& config);
    /// Positions that are filled.
    std::size_t length() const { return length_; }
    void clear() { length_ = 0; }

private:
    friend class Llama;
    std::size_t length_ = 0;
    std::size_t width_ = 0;                 // num_key_value_heads * head_dim
    std::vector<std::vector<float>> keys_;  // a block; grows by positions
    std::vector<std::vector<float>> values_;

    /// Activations of the tokens of one call, a token a row.
    struct Workspace {
        std::vector<float> stream;  // the residual stream, hidden_size wide
        std::vector<float> normed;  // hidden_size
        std::vector<float> branch;  // hidden_size: what is added to the stream
        std::vector<float> query;   // num_attention_heads * head_dim
        std::vector<float> key;     // width_
        std::vector<float> value;   // width_
        std::vector<float> mixed;   // num_attention_heads * head_dim
        std::vector<float> gate;    // intermediate_size
        std::vector<float> up;      // intermediate_size
        std::vector<float> scores;  // one head of one token: a position each
    };
    Workspace work_;
};

/// Finds a float tensor of the given number of elements by its checkpoint name, or throws BadInput.
using ParameterLookup =
    std::function<std::vector<float>(std::string_view name, std::size_t elements)>;

class Llama {
public:
    Llama(const LlamaConfig& config, const ParameterLookup& parameters);

    enum class Logits { last_position, every_position };
    /// Appends `ids` to the sequence in `cache` and writes the logits (one row or ids.size() rows
    /// of vocab_size). All tokens of one call go through the engine as one batch (MODEL-3), and how
    /// a sequence is cut into calls changes no bit of its logits. Throws BadInput if an id is
    /// outside the vocabulary or the sequence outgrows max_position_embeddings. If it throws, the
    /// sequence is as long as before.
    void forward(Engine& engine, KvCache& cache, std::span<const TokenId> ids, Logits which,
                 std::vector<float>& logits) const;

    const LlamaConfig& config() const { return config_; }

private:
    struct Block {
        std::vector<float> attention_norm;
        std::vector<float> mlp_norm;
    };
    void check(const KvCache& cache, std::span<const TokenId> ids) const;
    void embed(std::span<const TokenId> ids, KvCache& cache) const;
    void attention(Engine& engine, KvCache& cache, std::size_t block, std::size_t tokens) const;
    void store_keys_and_values(KvCache& cache, std::size_t block, std::size_t tokens) const;
    void attend(KvCache& cache, std::size_t block, std::size_t token) const;
    void mlp(Engine& engine, KvCache& cache, std::size_t block, std::size_t tokens) const;
    void normalise(const std::vector<float>& weight, KvCache& cache, std::size_t first,
                   std::size_t tokens) const;
    void rotate_heads(std::span<float> heads, std::size_t position) const;

    LlamaConfig config_;
    std::vector<float> embedding_;
    std::vector<Block> blocks_;
    std::vector<float> final_norm_;
    std::vector<float> rope_cos_;  // position x head_dim / 2
    std::vector<float> rope_sin_;
};

}  // namespace slip

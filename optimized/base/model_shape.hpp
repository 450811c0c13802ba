// What a model looks like, without its weights: shared by the importer, the splitter and the
// graphs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "optimized/base/product_shape.hpp"
#include "slip/types.hpp"

namespace slip::base {

/// One offloaded matrix: m outputs. `tensor` is its Hugging Face name without ".weight"; `block` is
/// empty for layers outside the blocks; `layer_type` is the name that plans use (DECO-6), e.g.
/// "q_proj" or "lm_head".
struct MemberShape {
    std::string tensor;
    std::string layer_type;
    std::optional<std::size_t> block;
    std::size_t m = 0;
    /// A matrix may be some rows of a tensor that has `tensor_rows`: those of one head.
    std::size_t first_row = 0;
    std::size_t tensor_rows = m;

    /// The name of its factors in an artifact: the tensor's, with the first row if it is a part.
    std::string name() const {
        return m == tensor_rows ? tensor : tensor + ".rows_from_" + std::to_string(first_row);
    }
};

/// The matrices that share an input of width n (LIN-3): one quantisation, mask, message and check.
/// Their rows are stacked in this order. The GroupId is the index in the model's list.
struct GroupShape {
    std::size_t n = 0;
    std::vector<MemberShape> members;
    /// CNN-4: the one member is the kernel matrix of this convolution, and what is quantised,
    /// masked and sent is the image.
    std::optional<Convolution> convolution = std::nullopt;
    /// Columns that one token of the model is in a message to this group: heads that share a value
    /// matrix go to it one by one (ATTN-1).
    std::size_t columns_per_token = 1;

    /// Of the stacked matrix.
    ProductShape product() const {
        ProductShape shape{0, n, convolution};
        for (const MemberShape& member : members) shape.rows += member.m;
        return shape;
    }
};

/// The families of language models that the graphs know: MODEL-2, MODEL-8, MODEL-9.
enum class Family { llama, gpt2, phi };

/// Dimensions of a language model of any family. Where the families' config.json files use
/// different names for one thing, the name is LLaMA's.
struct ModelConfig {
    Family family = Family::llama;
    Attention attention = Attention::fused;
    std::size_t hidden_size = 0;
    std::size_t intermediate_size = 0;
    std::size_t num_hidden_layers = 0;
    std::size_t num_attention_heads = 0;
    std::size_t num_key_value_heads = 0;
    std::size_t head_dim = 0;
    std::size_t rotary_dim = 0;  // the elements of a head that RoPE turns, the first ones; 0: none
    std::size_t vocab_size = 0;
    std::size_t max_position_embeddings = 0;
    float norm_eps = 0;
    double rope_theta = 10000.0;
    bool tie_word_embeddings = false;
    std::optional<TokenId> bos_token_id;
    std::optional<TokenId> eos_token_id;

    /// Whether the family's tokenizers put BOS before a text.
    bool starts_with_bos() const { return family == Family::llama; }
    std::size_t query_width() const { return num_attention_heads * head_dim; }
    std::size_t key_value_width() const { return num_key_value_heads * head_dim; }
};

}  // namespace slip::base

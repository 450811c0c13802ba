// What a model looks like, without its weights: shared by the importer, the splitter and the
// graphs.
#pragma once

#include <algorithm>
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
    /// HIDE-7: of a part of matrices, its first column, and how many the matrices have. Both are 0
    /// where the group is no part.
    std::size_t first_column = 0;
    std::size_t width = 0;

    /// The columns of the whole matrices.
    std::size_t columns() const { return width == 0 ? n : width; }
    /// The name of what an artifact has of a member of this part.
    std::string name(const MemberShape& member) const {
        return first_column == 0 ? member.name()
                                 : member.name() + ".columns_from_" + std::to_string(first_column);
    }

    /// The product of the stacked matrix.
    ProductShape product() const {
        ProductShape shape{0, n, convolution};
        for (const MemberShape& member : members) shape.rows += member.m;
        return shape;
    }
};

/// The families of language models that the graphs know: LLaMA and its relatives, whose differences
/// are data (MODEL-2, MODEL-13), GPT-2 (MODEL-8) and Phi-2 (MODEL-9).
enum class Family { llama, gpt2, phi };

/// How RoPE's frequencies f_j = theta^(-2j / rotary_dim) are changed: MODEL-14.
struct RopeScaling {
    enum class Kind { none, linear, llama3, longrope };
    Kind kind = Kind::none;
    double factor = 1;                   // linear, llama3
    double low_frequency_factor = 1;     // llama3
    double high_frequency_factor = 1;    // llama3
    std::size_t original_positions = 0;  // llama3, longrope
    std::vector<double> short_factors;   // longrope: one for each frequency, rotary_dim / 2
    std::vector<double> long_factors;    // the same, of sequences longer than original_positions
    double attention_factor = 1;         // longrope: multiplies cosines and sines

    bool operator==(const RopeScaling&) const = default;
};

struct Rope {
    double theta = 10000.0;
    RopeScaling scaling;

    bool operator==(const Rope&) const = default;
};

/// What the gate of an MLP goes through before it is multiplied by `up`.
enum class GateActivation { silu, gelu_tanh };

/// Dimensions of a language model of any family, and what distinguishes the relatives of LLaMA.
/// Where the families' config.json files use different names for one thing, the name is LLaMA's.
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
    Rope rope;
    bool tie_word_embeddings = false;
    std::optional<TokenId> bos_token_id;
    std::optional<TokenId> eos_token_id;
    /// Others that end a text.
    std::vector<TokenId> further_eos_token_ids;
    bool bos_before_text = true;  // of the LLaMA family
    /// GPT-2's c_attn is three matrices, each with a rank of its own (MODEL-8).
    bool separate_query_key_value = false;

    // The differences among LLaMA's relatives: MODEL-13.
    bool query_key_value_biases = false;
    bool head_norms = false;       // an RMSNorm of every head of q and of k, before RoPE
    bool stacked_tensors = false;  // q, k, v are one tensor of the checkpoint; so are gate and up
    bool norm_weight_plus_one = false;  // norms multiply by 1 + w
    bool branch_norms = false;          // attention and MLP are normed before they are added
    GateActivation gate_activation = GateActivation::silu;
    std::optional<double> query_scalar;     // scores are divided by its root, not head_dim's
    std::optional<double> score_cap;        // A: scores become A tanh(score / A)
    std::optional<double> logit_cap;        // the same for logits
    std::optional<double> embedding_scale;  // multiplies the embedding
    /// For every block the window of its attention, in positions, the token's own among them; 0:
    /// no window. Empty: none has one.
    std::vector<std::size_t> windows;
    std::optional<Rope> window_rope;  // RoPE of the blocks with a window, where it differs

    /// Whether the family's tokenizers put BOS before a text.
    bool starts_with_bos() const { return family == Family::llama && bos_before_text; }
    bool ends_text(TokenId id) const {
        return id == eos_token_id ||
               std::find(further_eos_token_ids.begin(), further_eos_token_ids.end(), id) !=
                   further_eos_token_ids.end();
    }
    std::size_t query_width() const { return num_attention_heads * head_dim; }
    std::size_t key_value_width() const { return num_key_value_heads * head_dim; }
    /// 0: none.
    std::size_t window(std::size_t block) const { return windows.empty() ? 0 : windows[block]; }

    bool operator==(const ModelConfig&) const = default;
};

}  // namespace slip::base

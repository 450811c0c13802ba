// MODEL-19: whose GGUF files are read, and what their tensors are called.
#include "optimized/import/gguf_architectures.hpp"

#include <algorithm>
#include <array>

#include "optimized/base/error.hpp"
#include "optimized/import/json.hpp"

namespace slip::importing {
namespace {

constexpr std::array<GgufModule, 3> decoder_outside{
    {{"token_embd", "model.embed_tokens"}, {"output_norm", "model.norm"}, {"output", "lm_head"}}};

constexpr std::array<GgufModule, 9> llama_blocks{{{"attn_norm", "input_layernorm"},
                                                  {"attn_q", "self_attn.q_proj"},
                                                  {"attn_k", "self_attn.k_proj"},
                                                  {"attn_v", "self_attn.v_proj"},
                                                  {"attn_output", "self_attn.o_proj"},
                                                  {"ffn_norm", "post_attention_layernorm"},
                                                  {"ffn_gate", "mlp.gate_proj"},
                                                  {"ffn_up", "mlp.up_proj"},
                                                  {"ffn_down", "mlp.down_proj"}}};

constexpr std::array<GgufModule, 9> qwen2_blocks{{{"attn_norm", "input_layernorm"},
                                                  {"attn_q", "self_attn.q_proj", true},
                                                  {"attn_k", "self_attn.k_proj", true},
                                                  {"attn_v", "self_attn.v_proj", true},
                                                  {"attn_output", "self_attn.o_proj"},
                                                  {"ffn_norm", "post_attention_layernorm"},
                                                  {"ffn_gate", "mlp.gate_proj"},
                                                  {"ffn_up", "mlp.up_proj"},
                                                  {"ffn_down", "mlp.down_proj"}}};

constexpr std::array<GgufModule, 11> qwen3_blocks{{{"attn_norm", "input_layernorm"},
                                                   {"attn_q", "self_attn.q_proj"},
                                                   {"attn_q_norm", "self_attn.q_norm"},
                                                   {"attn_k", "self_attn.k_proj"},
                                                   {"attn_k_norm", "self_attn.k_norm"},
                                                   {"attn_v", "self_attn.v_proj"},
                                                   {"attn_output", "self_attn.o_proj"},
                                                   {"ffn_norm", "post_attention_layernorm"},
                                                   {"ffn_gate", "mlp.gate_proj"},
                                                   {"ffn_up", "mlp.up_proj"},
                                                   {"ffn_down", "mlp.down_proj"}}};

constexpr std::array<GgufModule, 6> phi3_blocks{{{"attn_norm", "input_layernorm"},
                                                 {"attn_qkv", "self_attn.qkv_proj"},
                                                 {"attn_output", "self_attn.o_proj"},
                                                 {"ffn_norm", "post_attention_layernorm"},
                                                 {"ffn_up", "mlp.gate_up_proj"},
                                                 {"ffn_down", "mlp.down_proj"}}};

constexpr std::array<GgufModule, 13> gemma3_blocks{
    {{"attn_norm", "input_layernorm"},
     {"attn_q", "self_attn.q_proj"},
     {"attn_q_norm", "self_attn.q_norm"},
     {"attn_k", "self_attn.k_proj"},
     {"attn_k_norm", "self_attn.k_norm"},
     {"attn_v", "self_attn.v_proj"},
     {"attn_output", "self_attn.o_proj"},
     {"post_attention_norm", "post_attention_layernorm"},
     {"ffn_norm", "pre_feedforward_layernorm"},
     {"ffn_gate", "mlp.gate_proj"},
     {"ffn_up", "mlp.up_proj"},
     {"ffn_down", "mlp.down_proj"},
     {"post_ffw_norm", "post_feedforward_layernorm"}}};

constexpr std::array<GgufModule, 11> gemma2_blocks{
    {{"attn_norm", "input_layernorm"},
     {"attn_q", "self_attn.q_proj"},
     {"attn_k", "self_attn.k_proj"},
     {"attn_v", "self_attn.v_proj"},
     {"attn_output", "self_attn.o_proj"},
     {"post_attention_norm", "post_attention_layernorm"},
     {"ffn_norm", "pre_feedforward_layernorm"},
     {"ffn_gate", "mlp.gate_proj"},
     {"ffn_up", "mlp.up_proj"},
     {"ffn_down", "mlp.down_proj"},
     {"post_ffw_norm", "post_feedforward_layernorm"}}};

constexpr std::array<GgufModule, 4> gpt2_outside{{{"token_embd", "transformer.wte"},
                                                  {"position_embd", "transformer.wpe"},
                                                  {"output_norm", "transformer.ln_f", true},
                                                  {"output", "lm_head"}}};

constexpr std::array<GgufModule, 6> gpt2_blocks{{{"attn_norm", "ln_1", true},
                                                 {"attn_qkv", "attn.c_attn", true},
                                                 {"attn_output", "attn.c_proj", true},
                                                 {"ffn_norm", "ln_2", true},
                                                 {"ffn_up", "mlp.c_fc", true},
                                                 {"ffn_down", "mlp.c_proj", true}}};

constexpr std::array<GgufModule, 3> phi2_outside{{{"token_embd", "model.embed_tokens"},
                                                  {"output_norm", "model.final_layernorm", true},
                                                  {"output", "lm_head", true}}};

constexpr std::array<GgufModule, 7> phi2_blocks{{{"attn_norm", "input_layernorm", true},
                                                 {"attn_q", "self_attn.q_proj", true},
                                                 {"attn_k", "self_attn.k_proj", true},
                                                 {"attn_v", "self_attn.v_proj", true},
                                                 {"attn_output", "self_attn.dense", true},
                                                 {"ffn_up", "mlp.fc1", true},
                                                 {"ffn_down", "mlp.fc2", true}}};

constexpr const char* layers = "model.layers.";

/// llama.cpp counts Mistral and SmolLM among "llama".
constexpr std::array<GgufArchitecture, 8> architectures{{{.name = "llama",
                                                          .model_type = "llama",
                                                          .blocks = layers,
                                                          .outside_blocks = decoder_outside,
                                                          .in_blocks = llama_blocks,
                                                          .heads_in_pairs = true,
                                                          .frequencies = true},
                                                         {.name = "qwen2",
                                                          .model_type = "qwen2",
                                                          .blocks = layers,
                                                          .outside_blocks = decoder_outside,
                                                          .in_blocks = qwen2_blocks},
                                                         {.name = "qwen3",
                                                          .model_type = "qwen3",
                                                          .blocks = layers,
                                                          .outside_blocks = decoder_outside,
                                                          .in_blocks = qwen3_blocks},
                                                         {.name = "phi3",
                                                          .model_type = "phi3",
                                                          .blocks = layers,
                                                          .outside_blocks = decoder_outside,
                                                          .in_blocks = phi3_blocks,
                                                          .factors = true},
                                                         {.name = "gemma2",
                                                          .model_type = "gemma2",
                                                          .blocks = layers,
                                                          .outside_blocks = decoder_outside,
                                                          .in_blocks = gemma2_blocks,
                                                          .norms_plus_one = true},
                                                         {.name = "gemma3",
                                                          .model_type = "gemma3_text",
                                                          .blocks = layers,
                                                          .outside_blocks = decoder_outside,
                                                          .in_blocks = gemma3_blocks,
                                                          .norms_plus_one = true},
                                                         {.name = "gpt2",
                                                          .model_type = "gpt2",
                                                          .blocks = "transformer.h.",
                                                          .outside_blocks = gpt2_outside,
                                                          .in_blocks = gpt2_blocks},
                                                         {.name = "phi2",
                                                          .model_type = "phi",
                                                          .blocks = layers,
                                                          .outside_blocks = phi2_outside,
                                                          .in_blocks = phi2_blocks}}};

/// NAME.weight or NAME.bias of one of the modules, with `prefix` before it.
std::optional<std::string> name_among(std::span<const GgufModule> modules, std::string_view name,
                                      std::string_view prefix) {
    const std::size_t dot = name.rfind('.');
    if (dot == std::string_view::npos) return std::nullopt;
    const std::string_view kind = name.substr(dot);
    for (const GgufModule& module : modules) {
        if (module.stored != name.substr(0, dot)) continue;
        if (kind != ".weight" && (kind != ".bias" || !module.bias)) return std::nullopt;
        return std::string(prefix).append(module.name).append(kind);
    }
    return std::nullopt;
}

/// The same of blk.NUMBER.NAME.weight.
std::optional<std::string> name_in_block(const GgufArchitecture& architecture,
                                         std::string_view name) {
    constexpr std::string_view begin = "blk.";
    const std::size_t dot = name.find('.', begin.size());
    if (!name.starts_with(begin) || dot == std::string_view::npos) return std::nullopt;
    const std::string_view number = name.substr(begin.size(), dot - begin.size());
    const bool digits = !number.empty() && std::all_of(number.begin(), number.end(),
                                                       [](char c) { return c >= '0' && c <= '9'; });
    if (!digits) return std::nullopt;
    const std::string prefix = std::string(architecture.blocks).append(number) + ".";
    return name_among(architecture.in_blocks, name.substr(dot + 1), prefix);
}

}  // namespace

const GgufArchitecture& gguf_architecture(const GgufHeader& header,
                                          const std::filesystem::path& origin) {
    JsonObject metadata(header.metadata, origin, "metadata");
    const std::string name = metadata.text("general.architecture");
    std::string known;
    for (const GgufArchitecture& architecture : architectures) {
        if (name == architecture.name) return architecture;
        known.append(known.empty() ? "" : ", ").append(architecture.name);
    }
    metadata.refuse("general.architecture", known);
}

std::optional<std::string> gguf_tensor_name(const GgufArchitecture& architecture,
                                            std::string_view name,
                                            const std::filesystem::path& origin) {
    if (architecture.frequencies && name == gguf_frequencies) return std::nullopt;
    if (architecture.factors && (name == gguf_short_factors || name == gguf_long_factors)) {
        return std::nullopt;
    }
    auto found = name_among(architecture.outside_blocks, name, "");
    if (!found) found = name_in_block(architecture, name);
    if (found) return found;
    throw BadInput(origin.string() + ": tensor " + nlohmann::json(std::string(name)).dump() +
                   ": this build does not know what it is for");
}

}  // namespace slip::importing

// A modulus below the bound of ENC-4: products wrap, replies are right and pass the check, and
// Charlie puts out something else than the model's answer without noticing.
#include "experiments/attacks/runs.hpp"
#include "experiments/attacks/weakened_engine.hpp"
#include "optimized/base/files.hpp"
#include "slip/split.hpp"

namespace slip::attacks {
namespace {

TokenId best_of(const std::vector<float>& logits) {
    return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

/// A matrix of `n` columns and the fewest rows that a LLaMA may have, all of whose entries are 1 or
/// -1: David's integers are 127 or -127, and no product of activations with 127 steps fits P31.
void write_wide_checkpoint(const std::filesystem::path& folder, std::size_t n) {
    constexpr std::size_t hidden = 8;
    std::filesystem::create_directory(folder);
    base::write_file(folder / "config.json",
                     R"({"model_type": "llama", "hidden_act": "silu", "hidden_size": 8,
                         "intermediate_size": )" +
                         std::to_string(n) + R"(, "num_hidden_layers": 1,
                         "num_attention_heads": 1, "num_key_value_heads": 1, "vocab_size": 8,
                         "max_position_embeddings": 8, "rms_norm_eps": 1e-5,
                         "tie_word_embeddings": true})",
                     0644);
    std::vector<importing::Tensor> tensors;
    const auto add = [&](const std::string& name, std::vector<std::size_t> shape) {
        tensors.push_back({name + ".weight", importing::DType::f32, std::move(shape), {}});
    };
    add("model.embed_tokens", {8, hidden});
    const std::string block = "model.layers.0.";
    for (const char* name : {"input_layernorm", "post_attention_layernorm"}) {
        add(block + name, {hidden});
    }
    for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"}) {
        add(block + "self_attn." + name, {hidden, hidden});
    }
    add(block + "mlp.gate_proj", {n, hidden});
    add(block + "mlp.up_proj", {n, hidden});
    add(block + "mlp.down_proj", {hidden, n});
    add("model.norm", {hidden});
    importing::SafetensorsWriter writer(folder / "model.safetensors", tensors, {}, 0644);
    std::mt19937_64 random(1);
    for (const importing::Tensor& tensor : tensors) {
        std::size_t elements = 1;
        for (const std::size_t extent : tensor.shape) elements *= extent;
        std::vector<float> values(elements);
        for (float& value : values) value = random() % 2 == 0 ? 1.0F : -1.0F;
        writer.append(std::as_bytes(std::span(values)));
    }
    writer.finish();
}

}  // namespace

Outcome small_modulus_twin(const Setting& setting) {
    const Victim& victim = victim_of(setting);
    const std::uint64_t prompts = setting.full ? 200 : 20;
    std::mt19937_64 random(setting.seed);
    std::uint64_t right = 0;
    for (std::uint64_t i = 0; i < prompts; ++i) {
        const auto ids = random_prompt(victim.config(), 4, random);
        WeakenedEngine wrapping(victim, {.mask = no_mask, .modulus = (std::int64_t{1} << 21) - 9});
        WeakenedEngine exact(victim, {.mask = no_mask});
        right += best_of(victim.logits(wrapping, ids)) == best_of(victim.logits(exact, ids));
    }
    return {static_cast<double>(right) / static_cast<double>(prompts), 0.5, prompts,
            "L = 2^21 - 9 with the activations of 2^31 - 1"};
}

Outcome small_modulus_product(const Setting&) {
    const testing::TemporaryDirectory folder;
    write_wide_checkpoint(folder / "model", 70000);
    SplitOptions options;
    options.out = folder / "split";
    try {
        split_checkpoint(folder / "model", options);
    } catch (const BadInput& refused) {
        return {1, 0.5, 1, refused.what()};
    }
    return {0, 0.5, 1, "a matrix was split whose products wrap"};
}

}  // namespace slip::attacks

// slip-synthetic --shape tinyllama --out DIR [--blocks N] [--dtype f16|bf16] [--seed S]
//
// Writes a Hugging Face checkpoint of a LLaMA-2 family model with random weights: config.json and
// model.safetensors, no tokenizer. One matrix row block at a time is in memory.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "experiments/measure/program.hpp"
#include "experiments/measure/shapes.hpp"
#include "experiments/measure/weights.hpp"
#include "optimized/base/error.hpp"
#include "optimized/base/parallel.hpp"
#include "optimized/import/safetensors.hpp"

namespace slip::measure {
namespace {

using importing::DType;
using importing::Tensor;

nlohmann::ordered_json config_of(const Shape& shape) {
    return {{"model_type", "llama"},
            {"hidden_act", "silu"},
            {"hidden_size", shape.hidden},
            {"intermediate_size", shape.intermediate},
            {"num_hidden_layers", shape.blocks},
            {"num_attention_heads", shape.heads},
            {"num_key_value_heads", shape.key_value_heads},
            {"vocab_size", shape.vocabulary},
            {"max_position_embeddings", shape.positions},
            {"rms_norm_eps", 1e-5},
            {"tie_word_embeddings", false},
            {"bos_token_id", 1},
            {"eos_token_id", 2}};
}

std::vector<Tensor> tensors_of(const Shape& shape, DType dtype) {
    std::vector<Tensor> tensors;
    const auto add = [&](const std::string& name, std::vector<std::size_t> extents) {
        tensors.push_back({name + ".weight", dtype, std::move(extents), {}});
    };
    const std::size_t hidden = shape.hidden;
    add("model.embed_tokens", {shape.vocabulary, hidden});
    for (std::size_t block = 0; block < shape.blocks; ++block) {
        const std::string prefix = "model.layers." + std::to_string(block) + ".";
        add(prefix + "input_layernorm", {hidden});
        add(prefix + "self_attn.q_proj", {hidden, hidden});
        add(prefix + "self_attn.k_proj", {shape.key_value_width(), hidden});
        add(prefix + "self_attn.v_proj", {shape.key_value_width(), hidden});
        add(prefix + "self_attn.o_proj", {hidden, hidden});
        add(prefix + "post_attention_layernorm", {hidden});
        add(prefix + "mlp.gate_proj", {shape.intermediate, hidden});
        add(prefix + "mlp.up_proj", {shape.intermediate, hidden});
        add(prefix + "mlp.down_proj", {hidden, shape.intermediate});
    }
    add("model.norm", {hidden});
    add("lm_head", {shape.vocabulary, hidden});
    return tensors;
}

/// Rows of weights, or ones for the weights of a norm.
void write_tensor(const Tensor& tensor, std::uint64_t number, std::uint64_t seed,
                  importing::SafetensorsWriter& writer) {
    const auto narrow = tensor.dtype == DType::f16 ? half : bfloat16;
    if (tensor.shape.size() == 1) {
        const std::vector<std::uint16_t> ones(tensor.shape[0], narrow(1.0F));
        writer.append(std::as_bytes(std::span(ones)));
        return;
    }
    const std::size_t m = tensor.shape[0];
    const std::size_t n = tensor.shape[1];
    const SpikedMatrix matrix(seed, number, m, n);
    constexpr std::size_t panel = 256;
    std::vector<std::uint16_t> rows(panel * n);
    for (std::size_t first = 0; first < m; first += panel) {
        const std::size_t count = std::min(panel, m - first);
        base::parallel_for(base::available_threads(), count, [&](std::size_t i) {
            std::vector<float> row(n);
            matrix.row(first + i, row);
            for (std::size_t j = 0; j < n; ++j) rows[i * n + j] = narrow(row[j]);
        });
        writer.append(std::as_bytes(std::span(rows).first(count * n)));
    }
}

void write_checkpoint(const Shape& shape, DType dtype, std::uint64_t seed,
                      const std::filesystem::path& out) {
    if (!std::filesystem::create_directory(out)) {
        throw BadInput(out.string() + ": exists already");
    }
    base::write_file(out / "config.json", config_of(shape).dump(1) + "\n", 0644);
    const std::vector<Tensor> tensors = tensors_of(shape, dtype);
    importing::SafetensorsWriter writer(out / "model.safetensors", tensors, {}, 0644);
    for (std::size_t i = 0; i < tensors.size(); ++i) write_tensor(tensors[i], i, seed, writer);
    writer.finish();
}

DType dtype_named(const std::string& name) {
    if (name == "f16") return DType::f16;
    if (name == "bf16") return DType::bf16;
    throw BadInput("--dtype is f16 or bf16");
}

nlohmann::ordered_json write_synthetic(const Flags& flags) {
    Shape shape = shape_named(flags.text("shape"));
    shape.blocks = flags.number_or("blocks", shape.blocks, 1);
    write_checkpoint(shape, dtype_named(flags.text("dtype")), flags.number("seed", 0),
                     flags.text("out"));
    return nullptr;
}

}  // namespace
}  // namespace slip::measure

int main(int argc, char** argv) {
    return slip::measure::run(
        {"slip-synthetic",
         "--shape NAME --out DIR [--blocks N] [--dtype f16|bf16] [--seed S]\n\n"
         "Writes a checkpoint of that shape with random weights.",
         {{"shape", "NAME", "small, tinyllama, llama2-7b or llama2-70b"},
          {"out", "DIR", "folder to make"},
          {"blocks", "N", "another number of blocks"},
          {"dtype", "NAME", "f16 or bf16", "bf16"},
          {"seed", "S", "of the weights", "1"}},
         slip::measure::write_synthetic},
        argc, argv);
}

// GGUF files: the header, the configuration and the tokenizer that its metadata gives, and the
// values of Q8_0.
#include <algorithm>
#include <cstdint>

#include "optimized/base/error.hpp"
#include "optimized/import/config.hpp"
#include "optimized/import/gguf_architectures.hpp"
#include "optimized/import/gguf_model.hpp"
#include "optimized/import/tokenizer_json.hpp"
#include "property_tests/fuzz/fuzz.hpp"
#include "property_tests/generators/gguf_writer.hpp"

namespace slip::fuzz::gguf_fuzz {
namespace {

using namespace importing;
using testing::GgufElement;
using testing::GgufKind;
using testing::GgufWriter;

std::size_t bytes_in(const GgufTensor& tensor) {
    switch (tensor.type) {
        case GgufType::f32:
            return 4 * tensor.elements();
        case GgufType::q8_0:
            return tensor.elements() / 32 * 34;
        default:
            return 2 * tensor.elements();
    }
}

/// Every tensor's bytes lie in the file, are as many as its shape implies, and are no other's.
void check_tensors(const GgufHeader& header, std::span<const std::byte> file) {
    std::vector<std::span<const std::byte>> places;
    for (const auto& [name, tensor] : header.tensors) {
        expect(!tensor.shape.empty() && tensor.bytes.size() == bytes_in(tensor),
               "a tensor's bytes are not those of its shape");
        expect(tensor.bytes.data() >= file.data() &&
                   tensor.bytes.data() + tensor.bytes.size() <= file.data() + file.size(),
               "a tensor lies outside the file");
        places.push_back(tensor.bytes);
        if (tensor.type == GgufType::q8_0) {
            expect(q8_0_values(tensor).size() == tensor.elements(), "values of Q8_0");
        }
    }
    std::sort(places.begin(), places.end(),
              [](const auto& a, const auto& b) { return a.data() < b.data(); });
    for (std::size_t i = 1; i < places.size(); ++i) {
        expect(places[i - 1].data() + places[i - 1].size() <= places[i].data(),
               "two tensors share bytes");
    }
}

/// The tensors and keys that a model cannot do without; no matrix.
GgufWriter model(const char* architecture,
                 const char* epsilon = ".attention.layer_norm_rms_epsilon") {
    GgufWriter file;
    const std::string prefix = architecture;
    file.add("general.architecture", prefix);
    for (const char* key : {"context_length", "embedding_length", "block_count",
                            "feed_forward_length", "attention.head_count"}) {
        file.add(prefix + "." + key, std::uint32_t{2});
    }
    file.add(prefix + epsilon, 1e-5F);
    file.tensors = {{"token_embd.weight", {2, 4}, GgufElement::f16, std::string(16, '\x3c')},
                    {"blk.0.attn_q.weight", {32}, GgufElement::q8_0, std::string(34, '\x11')}};
    return file;
}

}  // namespace

const std::size_t allowance = std::size_t{1} << 18;

std::vector<Bytes> seeds() {
    GgufWriter sentencepiece = model("llama");
    sentencepiece.add("tokenizer.ggml.model", std::string("llama"));
    sentencepiece.add("tokenizer.ggml.tokens",
                      std::vector<std::string>{"?", "<s>", "a", "b", "ab"});
    sentencepiece.add_array("tokenizer.ggml.token_type", GgufKind::i32,
                            std::vector<std::int32_t>{2, 3, 1, 1, 1});
    sentencepiece.add_array("tokenizer.ggml.scores", GgufKind::f32,
                            std::vector<float>{0, 0, -2, -3, -1});
    sentencepiece.add("tokenizer.ggml.bos_token_id", std::uint32_t{1});
    GgufWriter bytes = model("qwen2");
    bytes.add("tokenizer.ggml.model", std::string("gpt2"));
    bytes.add("tokenizer.ggml.pre", std::string("qwen2"));
    bytes.add("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "ab", "<x>"});
    bytes.add("tokenizer.ggml.merges", std::vector<std::string>{"a b"});
    bytes.add_array("tokenizer.ggml.token_type", GgufKind::i32,
                    std::vector<std::int32_t>{1, 1, 1, 4});
    bytes.add("tokenizer.ggml.add_bos_token", false);
    GgufWriter longrope = model("phi3");
    longrope.add("phi3.rope.scaling.original_context_length", std::uint32_t{2});
    longrope.add("phi3.attention.sliding_window", std::uint32_t{0});
    for (const char* factors : {"rope_factors_short.weight", "rope_factors_long.weight"}) {
        longrope.tensors.push_back({factors, {1}, GgufElement::f32, testing::raw(1.5F)});
    }
    GgufWriter windows = model("gemma3");
    windows.add("gemma3.attention.sliding_window", std::uint32_t{2});
    windows.add("gemma3.rope.freq_base", 1e6F);
    windows.add("gemma3.rope.scaling.factor", 8.0F);
    windows.tensors.push_back(
        {"blk.0.attn_norm.weight", {2}, GgufElement::f32, testing::raw(1.0F) + testing::raw(2.0F)});
    const char* epsilon = ".attention.layer_norm_epsilon";
    return {bytes_of(GgufWriter().file()),
            bytes_of(model("llama").file()),
            bytes_of(sentencepiece.file()),
            bytes_of(bytes.file()),
            bytes_of(longrope.file()),
            bytes_of(windows.file()),
            bytes_of(model("gemma2").file()),
            bytes_of(model("gpt2", epsilon).file()),
            bytes_of(model("phi2", epsilon).file())};
}

bool check(std::span<const std::byte> input) {
    GgufHeader header;
    if (!accepts<BadInput>([&] { header = parse_gguf(input, "file"); })) return false;
    check_tensors(header, input);
    accepts<BadInput>([&] {
        const GgufArchitecture& architecture = gguf_architecture(header, "file");
        for (const auto& [name, tensor] : header.tensors) {
            const std::string& known = name;
            accepts<BadInput>([&] { gguf_tensor_name(architecture, known, "file"); });
        }
    });
    accepts<BadInput>([&] { parse_config(gguf_config(header, "file"), "file"); });
    accepts<BadInput>([&] {
        const auto text = gguf_tokenizer(header, "file");
        if (text) parse_tokenizer_json(*text, "file");
    });
    return true;
}

const Target target{"gguf_fuzz", allowance, seeds, check};

}  // namespace slip::fuzz::gguf_fuzz

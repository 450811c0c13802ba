// MODEL-19: GGUF files, but for their tokenizers.
#include "optimized/import/gguf.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "optimized/base/files.hpp"
#include "optimized/import/checkpoint.hpp"
#include "optimized/import/gguf_model.hpp"
#include "property_tests/generators/gguf_writer.hpp"
#include "property_tests/generators/refusal.hpp"
#include "property_tests/generators/temporary_folder.hpp"
#include "property_tests/import/texts.hpp"

namespace slip::testing {
namespace {

using namespace importing;

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}

std::string floats(const std::vector<float>& values) {
    std::string bytes;
    for (const float value : values) bytes += raw(value);
    return bytes;
}

GgufWriter::Tensor matrix(const std::string& name, std::uint64_t rows, std::uint64_t columns,
                          float first = 0) {
    std::vector<float> values;
    for (std::uint64_t i = 0; i < rows * columns; ++i) {
        values.push_back(first + static_cast<float>(i));
    }
    return {name, {columns, rows}, GgufElement::f32, floats(values)};
}

GgufWriter::Tensor vector(const std::string& name, std::uint64_t size) {
    return {name, {size}, GgufElement::f32, floats(std::vector<float>(size, 1.0F))};
}

constexpr std::uint64_t width = 8;  // 2 heads of 4, 1 key head
constexpr std::uint64_t vocabulary = 6;

/// A model of one block.
GgufWriter small_model() {
    GgufWriter file;
    file.add("general.architecture", std::string("llama"));
    file.add("llama.context_length", std::uint32_t{16});
    file.add("llama.embedding_length", std::uint32_t{width});
    file.add("llama.block_count", std::uint32_t{1});
    file.add("llama.feed_forward_length", std::uint32_t{12});
    file.add("llama.attention.head_count", std::uint32_t{2});
    file.add("llama.attention.head_count_kv", std::uint32_t{1});
    file.add("llama.attention.layer_norm_rms_epsilon", 1e-5F);
    file.add("llama.rope.dimension_count", std::uint32_t{4});
    file.add("tokenizer.ggml.bos_token_id", std::uint32_t{1});
    file.tensors = {matrix("token_embd.weight", vocabulary, width),
                    vector("output_norm.weight", width),
                    matrix("output.weight", vocabulary, width, 100),
                    vector("blk.0.attn_norm.weight", width),
                    matrix("blk.0.attn_q.weight", width, width),
                    matrix("blk.0.attn_k.weight", 4, width),
                    matrix("blk.0.attn_v.weight", 4, width),
                    matrix("blk.0.attn_output.weight", width, width),
                    vector("blk.0.ffn_norm.weight", width),
                    matrix("blk.0.ffn_gate.weight", 12, width),
                    matrix("blk.0.ffn_up.weight", 12, width),
                    matrix("blk.0.ffn_down.weight", width, 12)};
    return file;
}

/// Opens a file's contents as a checkpoint.
void open(const std::string& contents, const std::function<void(const Checkpoint&)>& use = {}) {
    const TemporaryFolder folder;
    base::write_file(folder / "model.gguf", contents, 0600);
    const Checkpoint checkpoint(folder / "model.gguf");
    if (use) use(checkpoint);
}

std::string refusal_of(const GgufWriter& file) {
    return refusal([&] { open(file.file()); });
}

TEST(Gguf, MODEL_19_configuration_and_tensors_of_a_model) {
    open(small_model().file(), [](const Checkpoint& checkpoint) {
        const base::ModelConfig& config = checkpoint.config();
        EXPECT_EQ(config.hidden_size, width);
        EXPECT_EQ(config.intermediate_size, 12U);
        EXPECT_EQ(config.num_hidden_layers, 1U);
        EXPECT_EQ(config.num_attention_heads, 2U);
        EXPECT_EQ(config.num_key_value_heads, 1U);
        EXPECT_EQ(config.vocab_size, vocabulary);
        EXPECT_EQ(config.max_position_embeddings, 16U);
        EXPECT_FLOAT_EQ(config.norm_eps, 1e-5F);
        EXPECT_EQ(config.rope.theta, 10000.0);
        EXPECT_FALSE(config.tie_word_embeddings);
        EXPECT_EQ(config.bos_token_id, 1);
        EXPECT_EQ(config.eos_token_id, std::nullopt);
        EXPECT_EQ(checkpoint.tensors().size(), 12U);
        EXPECT_EQ(checkpoint.floats("lm_head.weight", 48).front(), 100.0F);
        EXPECT_EQ(checkpoint.floats("model.layers.0.mlp.down_proj.weight", 96)[13], 13.0F);
        checkpoint.require_matrix("model.layers.0.mlp.down_proj.weight", width, 12);
        EXPECT_EQ(checkpoint.quantised_tensor(), "");
    });
    GgufWriter tied = small_model();
    tied.tensors.erase(tied.tensors.begin() + 2);
    open(tied.file(), [](const Checkpoint& checkpoint) {
        EXPECT_TRUE(checkpoint.config().tie_word_embeddings);
    });
}

/// llama.cpp's converter moves row s w/2 + j of a head to row 2 j + s.
TEST(Gguf, MODEL_19_rows_of_heads_are_put_back) {
    open(small_model().file(), [](const Checkpoint& checkpoint) {
        const auto row_of = [&](const char* name, std::size_t rows, std::size_t row) {
            return checkpoint.floats(name, rows * width)[row * width] / static_cast<float>(width);
        };
        const std::vector<float> stored{0, 2, 1, 3, 4, 6, 5, 7};  // per row of Hugging Face's
        for (std::size_t row = 0; row < width; ++row) {
            EXPECT_EQ(row_of("model.layers.0.self_attn.q_proj.weight", width, row), stored[row]);
        }
        for (std::size_t row = 0; row < 4; ++row) {
            EXPECT_EQ(row_of("model.layers.0.self_attn.k_proj.weight", 4, row), stored[row]);
            EXPECT_EQ(row_of("model.layers.0.self_attn.v_proj.weight", 4, row),
                      static_cast<float>(row));
        }
    });
}

/// Llama 3's rule, component by component, as its authors state it.
std::vector<float> llama3_divisors(std::size_t head, double base, double factor) {
    std::vector<float> divisors;
    for (std::size_t i = 0; i < head / 2; ++i) {
        const double wavelength =
            2 * 3.14159265358979323846 *
            std::pow(base, 2.0 * static_cast<double>(i) / static_cast<double>(head));
        double divisor = 1;
        if (wavelength > 8192.0 / 1) {
            divisor = factor;
        } else if (wavelength > 8192.0 / 4) {
            const double smooth = (8192.0 / wavelength - 1) / (4 - 1);
            divisor = 1 / ((1 - smooth) / factor + smooth);
        }
        divisors.push_back(static_cast<float>(divisor));
    }
    return divisors;
}

TEST(Gguf, MODEL_19_the_scaling_of_Llama_3_is_recognised_by_its_frequencies) {
    constexpr std::size_t head = 64;
    GgufWriter file = small_model();
    std::erase_if(file.metadata,
                  [](const auto& entry) { return entry.first == "llama.rope.dimension_count"; });
    file.add("llama.attention.key_length", std::uint32_t{head});
    file.add("llama.rope.freq_base", 500000.0F);
    const auto config_with = [&](const std::vector<float>& divisors) {
        GgufWriter scaled = file;
        scaled.tensors.push_back(
            {"rope_freqs.weight", {divisors.size()}, GgufElement::f32, floats(divisors)});
        const std::string contents = scaled.file();
        return nlohmann::json::parse(gguf_config(parse_gguf(bytes_of(contents), "file"), "file"));
    };
    for (const double factor : {8.0, 32.0}) {
        const nlohmann::json scaling =
            config_with(llama3_divisors(head, 500000, factor)).at("rope_scaling");
        EXPECT_EQ(scaling.at("rope_type"), "llama3");
        EXPECT_EQ(scaling.at("factor"), factor);
        EXPECT_EQ(scaling.at("original_max_position_embeddings"), 8192);
    }
    std::vector<float> other = llama3_divisors(head, 500000, 8);
    other[20] *= 1.01F;
    for (const auto& wrong :
         {llama3_divisors(head, 500000, 16), llama3_divisors(32, 500000, 8), other}) {
        EXPECT_TRUE(contains(refusal([&] { config_with(wrong); }), "rope_freqs.weight"));
    }
}

TEST(Gguf, MODEL_19_each_element_type) {
    GgufWriter file = small_model();
    // 1.5 and -2 in binary16 and bfloat16.
    const std::string halves = raw(std::uint16_t{0x3e00}) + raw(std::uint16_t{0xc000});
    const std::string brains = raw(std::uint16_t{0x3fc0}) + raw(std::uint16_t{0xc000});
    std::string f16;
    std::string bf16;
    for (std::uint64_t i = 0; i < width / 2; ++i) f16 += halves;
    for (std::uint64_t i = 0; i < width / 2; ++i) bf16 += brains;
    file.tensors[1] = {"output_norm.weight", {width}, GgufElement::f16, f16};
    file.tensors[3] = {"blk.0.attn_norm.weight", {width}, GgufElement::bf16, bf16};
    open(file.file(), [](const Checkpoint& checkpoint) {
        const std::vector<float> expected{1.5F, -2.0F, 1.5F, -2.0F, 1.5F, -2.0F, 1.5F, -2.0F};
        EXPECT_EQ(checkpoint.floats("model.norm.weight", width), expected);
        EXPECT_EQ(checkpoint.floats("model.layers.0.input_layernorm.weight", width), expected);
    });
}

TEST(Gguf, MODEL_19_blocks_of_Q8_0) {
    std::mt19937_64 bits(1);
    std::string bytes;
    std::vector<float> expected;
    for (const auto& [half, scale] :
         {std::pair<std::uint16_t, float>{0x3e00, 1.5F}, {0x0001, 0x1p-24F}, {0xc000, -2.0F}}) {
        bytes += raw(half);
        for (int i = 0; i < 32; ++i) {
            const auto integer = static_cast<std::int8_t>(bits());
            bytes += raw(integer);
            expected.push_back(scale * static_cast<float>(integer));
        }
    }
    GgufWriter file;
    file.tensors = {{"x", {32, 3}, GgufElement::q8_0, bytes}};
    const std::string contents = file.file();
    const GgufHeader header = parse_gguf(bytes_of(contents), "file");
    EXPECT_EQ(header.tensors.at("x").shape, (std::vector<std::size_t>{3, 32}));
    EXPECT_EQ(q8_0_values(header.tensors.at("x")), expected);
    file.tensors[0].extents = {48, 2};
    const std::string uneven = file.file();
    EXPECT_TRUE(contains(refusal([&] { parse_gguf(bytes_of(uneven), "file"); }), "\"x\""));
}

/// How the small model is refused after a change, which names the file.
std::string with(const std::function<void(GgufWriter&)>& change) {
    GgufWriter file = small_model();
    change(file);
    const std::string message = refusal_of(file);
    EXPECT_TRUE(message == "accepted" || contains(message, "model.gguf")) << message;
    return message;
}

TEST(Gguf, MODEL_19_every_wrong_field_is_refused_by_name) {
    EXPECT_EQ(with([](GgufWriter&) {}), "accepted");
    EXPECT_TRUE(contains(with([](auto& f) { f.magic = "GGML"; }), "GGUF file"));
    EXPECT_TRUE(contains(with([](auto& f) { f.version = 1; }), "version 1"));
    EXPECT_TRUE(contains(with([](auto& f) { f.version = 0x03000000; }), "little-endian"));
    EXPECT_NE(with([](auto& f) { f.further_keys = 1; }), "accepted");
    EXPECT_TRUE(contains(with([](auto& f) { f.further_keys = 1 << 20; }), "keys"));
    EXPECT_TRUE(contains(with([](auto& f) { f.further_keys = -1; }), "tensor"));
    EXPECT_TRUE(contains(with([](auto& f) { f.further_tensors = 1 << 30; }), "tensors"));
    EXPECT_NE(with([](auto& f) { f.further_tensors = 1; }), "accepted");
    EXPECT_TRUE(contains(with([](auto& f) { f.add("x", std::string("\xff")); }), "\"x\""));
    EXPECT_TRUE(contains(with([](auto& f) { f.add("llama.block_count", 1U); }), "twice"));
    EXPECT_TRUE(
        contains(with([](auto& f) { f.metadata.back().second = raw(13U); }), "bos_token_id"));
    EXPECT_TRUE(contains(with([](auto& f) {
                             f.metadata.emplace_back(
                                 "x", number_of(GgufKind::boolean) + raw(std::uint8_t{2}));
                         }),
                         "\"x\""));
    EXPECT_TRUE(contains(with([](auto& f) {
                             f.metadata.emplace_back("x", number_of(GgufKind::array) +
                                                              number_of(GgufKind::u8) +
                                                              raw(std::uint64_t{1} << 60));
                         }),
                         "\"x\""));
    EXPECT_TRUE(contains(with([](auto& f) {
                             f.metadata.emplace_back(
                                 "x", number_of(GgufKind::array) + number_of(GgufKind::array) +
                                          raw(std::uint64_t{1}) + number_of(GgufKind::u8) +
                                          raw(std::uint64_t{0}));
                         }),
                         "\"x\""));
    EXPECT_TRUE(contains(with([](auto& f) { f.add("general.alignment", 12U); }), "alignment"));
    EXPECT_TRUE(contains(with([](auto& f) { f.add("general.alignment", 0U); }), "alignment"));
}

TEST(Gguf, MODEL_19_every_wrong_field_of_a_tensor_is_refused_by_name) {
    const auto tensor = [](const std::function<void(GgufWriter::Tensor&)>& change) {
        return with([&](auto& f) { change(f.tensors[3]); });
    };
    const std::string name = "blk.0.attn_norm.weight";
    EXPECT_TRUE(contains(tensor([](auto& t) { t.extents = {}; }), name));
    EXPECT_TRUE(contains(tensor([](auto& t) { t.extents = {1, 1, 1, 1, 8}; }), name));
    EXPECT_TRUE(contains(tensor([](auto& t) { t.extents = {0}; }), name));
    EXPECT_TRUE(contains(tensor([](auto& t) { t.extents = {1U << 31, 1U << 31, 4}; }), name));
    EXPECT_TRUE(contains(tensor([](auto& t) { t.extents = {std::uint64_t{1} << 63}; }), name));
    EXPECT_TRUE(contains(tensor([](auto& t) { t.offset_error = 1; }), "alignment"));
    EXPECT_TRUE(contains(tensor([](auto& t) { t.offset_error = 1 << 20; }), "beyond the end"));
    EXPECT_TRUE(contains(tensor([](auto& t) { t.offset_error = ~std::uint64_t{31}; }), name));
    EXPECT_TRUE(contains(tensor([](auto& t) { t.offset_error = 32; }), "shares bytes"));
    EXPECT_TRUE(contains(tensor([](auto& t) { t.element = GgufElement{4}; }), "element type 4"));
    const std::string coarse = tensor([](auto& t) { t.element = GgufElement::q4_k; });
    EXPECT_TRUE(contains(coarse, "Q4_K") && contains(coarse, "DECO-13")) << coarse;
    EXPECT_TRUE(contains(tensor([](auto& t) { t.name = "blk.0.attn_v.weight"; }), "twice"));
    EXPECT_TRUE(contains(tensor([](auto& t) { t.name = ""; }), "name"));
    EXPECT_TRUE(contains(tensor([](auto& t) { t.name = std::string(257, 'x'); }), "name"));
    for (const char* unknown :
         {"rope_freqs.weight", "blk.0.ffn_gate_exps.weight", "blk.x.attn_v.weight", "blk.0.attn_v",
          "blk..attn_v.weight", "token_embd.bias"}) {
        EXPECT_TRUE(contains(tensor([&](auto& t) { t.name = unknown; }), unknown));
    }
}

TEST(Gguf, MODEL_19_a_file_that_ends_anywhere_is_refused) {
    const std::string whole = small_model().file();
    for (std::size_t size = 0; size < whole.size(); size += 37) {
        EXPECT_NE(refusal([&] { open(whole.substr(0, size)); }), "accepted") << size;
    }
}

TEST(Gguf, MODEL_19_what_would_change_the_model_is_refused_by_name) {
    const auto with = [](const std::string& key, const auto& value) {
        GgufWriter file = small_model();
        std::erase_if(file.metadata, [&](const auto& entry) { return entry.first == key; });
        file.add(key, value);
        return refusal_of(file);
    };
    EXPECT_TRUE(
        contains(with("general.architecture", std::string("mamba")), "general.architecture"));
    EXPECT_TRUE(contains(with("llama.expert_count", 8U), "llama.expert_count"));
    EXPECT_TRUE(contains(with("llama.rope.scaling.type", std::string("yarn")), "scaling"));
    EXPECT_EQ(with("llama.rope.scaling.type", std::string("none")), "accepted");
    EXPECT_TRUE(contains(with("llama.rope.dimension_count", 2U), "dimension_count"));
    EXPECT_TRUE(contains(with("llama.attention.value_length", 2U), "value_length"));
    EXPECT_TRUE(contains(with("llama.logit_scale", 2.0F), "llama.logit_scale"));
    EXPECT_TRUE(contains(with("llama.vocab_size", 7U), "vocab_size"));
    EXPECT_TRUE(contains(with("llama.block_count", std::string("1")), "block_count"));
    EXPECT_TRUE(contains(with("llama.block_count", 0U), "block_count"));
    EXPECT_EQ(with("general.name", std::string("anything")), "accepted");
}

// --- other architectures ----------------------------------------------------------------------

/// The keys that an architecture cannot do without, in metadata of its own, and an embedding.
GgufWriter bare_model(const std::string& architecture, std::uint32_t blocks = 2) {
    const bool layer_norm = architecture == "gpt2" || architecture == "phi2";
    GgufWriter file;
    const auto add = [&](const std::string& key, auto value) {
        file.add(architecture + "." + key, value);
    };
    file.add("general.architecture", architecture);
    add("context_length", std::uint32_t{64});
    add("embedding_length", std::uint32_t{32});
    add("block_count", blocks);
    add("feed_forward_length", std::uint32_t{48});
    add("attention.head_count", std::uint32_t{4});
    add(layer_norm ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon", 1e-5F);
    if (architecture.starts_with("gemma")) {
        add("attention.key_length", std::uint32_t{12});
        add("attention.sliding_window", std::uint32_t{7});
        add("rope.freq_base", 20000.0F);
    }
    file.tensors = {matrix("token_embd.weight", vocabulary, 32)};
    return file;
}

nlohmann::json config_json_of(const GgufWriter& file) {
    const std::string contents = file.file();
    return nlohmann::json::parse(gguf_config(parse_gguf(bytes_of(contents), "file"), "file"));
}

base::ModelConfig config_of(const GgufWriter& file) {
    return parse_config(config_json_of(file).dump(), "file");
}

TEST(Gguf, MODEL_19_scores_of_Gemma_are_divided_as_its_size_implies) {
    EXPECT_EQ(config_of(bare_model("gemma2")).query_scalar, 12.0);
    EXPECT_EQ(config_of(bare_model("gemma2", 46)).query_scalar, 32.0 / 4);
    EXPECT_EQ(config_of(bare_model("gemma3", 46)).query_scalar, 12.0);
    EXPECT_EQ(config_of(bare_model("gemma3", 62)).query_scalar, 32.0 / 4);
}

TEST(Gguf, MODEL_19_windows_and_caps) {
    EXPECT_EQ(config_of(bare_model("gemma2", 4)).windows, (std::vector<std::size_t>{7, 0, 7, 0}));
    GgufWriter gemma3 = bare_model("gemma3", 3);
    EXPECT_EQ(config_of(gemma3).windows, (std::vector<std::size_t>{7, 7, 7}));
    EXPECT_EQ(config_of(gemma3).logit_cap, std::nullopt);
    gemma3.add("gemma3.attention.sliding_window_pattern", std::uint32_t{2});
    gemma3.add("gemma3.final_logit_softcapping", 9.0F);
    EXPECT_EQ(config_of(gemma3).windows, (std::vector<std::size_t>{7, 0, 7}));
    EXPECT_EQ(config_of(gemma3).logit_cap, 9.0);
    EXPECT_EQ(config_of(gemma3).window_rope->theta, 10000.0) << "if the file does not say";
    GgufWriter phi3 = bare_model("phi3");
    EXPECT_EQ(config_of(phi3).windows, std::vector<std::size_t>{});
    phi3.add("phi3.attention.sliding_window", std::uint32_t{0});
    EXPECT_EQ(config_of(phi3).windows, std::vector<std::size_t>{});
    phi3.metadata.pop_back();
    phi3.add("phi3.attention.sliding_window", std::uint32_t{5});
    EXPECT_EQ(config_of(phi3).windows, (std::vector<std::size_t>{5, 5}));
}

TEST(Gguf, MODEL_19_the_part_of_a_head_that_turns) {
    for (const std::uint32_t head : {6U, 14U, 22U, 96U, 100U}) {
        for (std::uint32_t turned = 2; turned <= head; turned += 2) {
            GgufWriter file = bare_model("phi2");
            std::erase_if(file.metadata,
                          [](const auto& entry) { return entry.first == "phi2.embedding_length"; });
            file.add("phi2.embedding_length", 4 * head);
            file.add("phi2.rope.dimension_count", turned);
            EXPECT_EQ(config_of(file).rotary_dim, turned) << head;
        }
    }
    EXPECT_EQ(config_of(bare_model("phi2")).rotary_dim, 8U) << "all, if the file does not say";
}

TEST(Gguf, MODEL_19_what_would_change_other_architectures_is_refused_by_name) {
    const auto with = [](const std::string& architecture, const std::string& key,
                         const auto& value) {
        GgufWriter file = bare_model(architecture);
        std::erase_if(file.metadata,
                      [&](const auto& entry) { return entry.first == architecture + "." + key; });
        file.add(architecture + "." + key, value);
        return refusal([&] { config_of(file); });
    };
    for (const char* architecture : {"phi3", "gemma2", "gemma3", "gpt2", "phi2"}) {
        EXPECT_EQ(with(architecture, "vocab_size", std::uint32_t{vocabulary}), "accepted");
        EXPECT_TRUE(contains(with(architecture, "logit_scale", 2.0F), "logit_scale"));
        EXPECT_TRUE(contains(with(architecture, "rope.scaling.type", std::string("yarn")),
                             "rope.scaling.type"))
            << architecture;
    }
    EXPECT_TRUE(contains(with("gemma2", "attention.sliding_window_pattern", 3U), "pattern"));
    EXPECT_TRUE(contains(with("gemma2", "rope.freq_base_swa", 1.0F), "freq_base_swa"));
    EXPECT_TRUE(contains(with("gemma3", "rope.dimension_count_swa", 2U), "dimension_count_swa"));
    EXPECT_TRUE(contains(with("gpt2", "attention.head_count_kv", 2U), "head_count_kv"));
    EXPECT_TRUE(contains(with("phi2", "rope.dimension_count", 10U), "dimension_count"));
    EXPECT_TRUE(contains(with("phi2", "attention.key_length", 10U), "key_length"));
    EXPECT_TRUE(contains(with("phi3", "rope.scaling.attn_factor", 1.5F), "attn_factor"));
    GgufWriter gemma3 = bare_model("gemma3");
    std::erase_if(gemma3.metadata, [](const auto& entry) {
        return entry.first == "gemma3.attention.sliding_window";
    });
    EXPECT_TRUE(contains(refusal([&] { config_of(gemma3); }), "sliding_window"));
}

TEST(Gguf, MODEL_19_longrope_comes_with_both_lists_of_factors_and_its_context) {
    const auto file_with = [](const std::vector<const char*>& lists, bool context) {
        GgufWriter file = bare_model("phi3");
        if (context) file.add("phi3.rope.scaling.original_context_length", std::uint32_t{16});
        for (const char* list : lists) file.tensors.push_back(vector(list, 4));
        return refusal([&] { config_of(file); });
    };
    const char* both[] = {"rope_factors_short.weight", "rope_factors_long.weight"};
    EXPECT_EQ(file_with({both[0], both[1]}, true), "accepted");
    EXPECT_EQ(file_with({}, false), "accepted");
    EXPECT_TRUE(contains(file_with({both[0], both[1]}, false), "original_context_length"));
    EXPECT_TRUE(contains(file_with({both[0]}, true), both[1]));
    EXPECT_TRUE(contains(file_with({both[1]}, true), both[0]));
}

TEST(Gguf, MODEL_19_tensors_that_an_architecture_does_not_have_are_refused_by_name) {
    for (const auto& [architecture, name] :
         {std::pair{"llama", "blk.0.attn_q.bias"}, std::pair{"llama", "blk.0.attn_q_norm.weight"},
          std::pair{"llama", "rope_factors_long.weight"}, std::pair{"qwen2", "rope_freqs.weight"},
          std::pair{"qwen2", "blk.0.attn_output.bias"}, std::pair{"qwen3", "blk.0.attn_k.bias"},
          std::pair{"phi3", "blk.0.attn_q.weight"}, std::pair{"phi3", "blk.0.ffn_gate.weight"},
          std::pair{"gemma2", "blk.0.attn_q_norm.weight"},
          std::pair{"phi2", "blk.0.ffn_norm.weight"}, std::pair{"gpt2", "output.bias"},
          std::pair{"gpt2", "blk.0.attn_q.weight"}}) {
        GgufWriter file = bare_model(architecture);
        file.tensors.push_back(vector(name, 4));
        EXPECT_TRUE(contains(refusal_of(file), name)) << architecture << " " << name;
    }
}

}  // namespace
}  // namespace slip::testing

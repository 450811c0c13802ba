// MODEL-19: configurations, names and tokenizers of GGUF files.
#include "optimized/import/gguf_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <numbers>
#include <set>
#include <utility>
#include <vector>

#include "optimized/base/error.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/import/json.hpp"
#include "optimized/import/pretokenizer.hpp"
#include "optimized/import/tensors.hpp"
#include "optimized/import/utf8.hpp"

namespace slip::importing {
namespace {

using base::parameters::largest_extent;
using nlohmann::json;
using nlohmann::ordered_json;

/// Architectures whose tensors and keys stand below, and the `model_type` of each. llama.cpp counts
/// Mistral and SmolLM among "llama".
constexpr std::pair<const char*, const char*> architectures[] = {
    {"llama", "llama"}, {"qwen2", "qwen2"}, {"qwen3", "qwen3"}};

constexpr const char* embedding = "token_embd.weight";
constexpr const char* head = "output.weight";

/// The metadata of one architecture; every key of it must be asked for.
class Metadata {
public:
    Metadata(const GgufHeader& header, const std::filesystem::path& origin)
        : object_(header.metadata, origin, "metadata"), values_(header.metadata) {
        architecture_ = object_.text("general.architecture");
    }

    const std::string& architecture() const { return architecture_; }
    JsonObject& all() { return object_; }
    std::string key(const std::string& name) const { return architecture_ + "." + name; }
    bool has(const std::string& name) {
        known_.insert(key(name));
        return object_.has(key(name));
    }
    std::size_t integer(const std::string& name, std::size_t most = largest_extent) {
        known_.insert(key(name));
        return object_.integer(key(name), 1, most);
    }
    double number(const std::string& name) {
        known_.insert(key(name));
        return object_.number(key(name));
    }
    /// Refuses the key unless it is absent or `value`.
    void require(const std::string& name, const json& value) {
        if (has(name) && object_.field(key(name)) != value) {
            object_.refuse(key(name), "it to be absent or " + value.dump());
        }
    }
    void refuse_unknown() const {
        for (const auto& [name, value] : values_.items()) {
            if (!name.starts_with(architecture_ + ".") || known_.count(name) != 0) continue;
            object_.refuse(name, "no such key: it may change what the model computes");
        }
    }

private:
    JsonObject object_;
    const json& values_;
    std::string architecture_;
    std::set<std::string> known_;
};

std::string model_type(Metadata& metadata) {
    std::string known;
    for (const auto& [architecture, type] : architectures) {
        if (metadata.architecture() == architecture) return type;
        known += std::string(known.empty() ? "" : ", ") + architecture;
    }
    metadata.all().refuse("general.architecture", known);
}

/// The rows of the embedding.
std::size_t vocabulary_size(const GgufHeader& header, const std::filesystem::path& origin) {
    const auto found = header.tensors.find(embedding);
    if (found != header.tensors.end() && found->second.shape.size() == 2) {
        return found->second.shape[0];
    }
    throw BadInput(origin.string() + ": tensor " + embedding + ": expected a matrix");
}

/// Returns the width of a head.
std::size_t add_heads(Metadata& metadata, ordered_json& config) {
    const std::size_t heads = metadata.integer("attention.head_count");
    config["num_attention_heads"] = heads;
    config["num_key_value_heads"] = metadata.has("attention.head_count_kv")
                                        ? metadata.integer("attention.head_count_kv")
                                        : heads;
    std::size_t width = config.at("hidden_size").get<std::size_t>() / heads;
    if (metadata.has("attention.key_length")) {
        width = metadata.integer("attention.key_length");
        config["head_dim"] = width;
    }
    metadata.require("attention.value_length", width);
    metadata.require("rope.dimension_count", width);
    return width;
}

/// What divides the frequency of component `i` in Llama 3's scaling with this factor (MODEL-14).
double llama3_divisor(std::size_t i, std::size_t width, double base, double factor) {
    constexpr double original = 8192;
    constexpr double low = 1;
    constexpr double high = 4;
    const double frequency =
        std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(width));
    const double turns = original * frequency / (2 * std::numbers::pi);
    const double kept = std::clamp((turns - low) / (high - low), 0.0, 1.0);
    return 1 / ((1 - kept) / factor + kept);
}

/// A file holds the divisors, and not the parameters that they come from: those of Llama 3.1 and of
/// Llama 3.2 are tried.
void add_frequencies(const GgufHeader& header, const std::filesystem::path& origin,
                     std::size_t width, ordered_json& config) {
    const auto found = header.tensors.find(gguf_frequencies);
    if (found == header.tensors.end()) return;
    const GgufTensor& tensor = found->second;
    std::vector<float> divisors;
    if (tensor.type == GgufType::f32 && tensor.elements() == width / 2) {
        divisors = to_floats({gguf_frequencies, DType::f32, {width / 2}, tensor.bytes}, false);
    }
    for (const double factor : {8.0, 32.0}) {
        bool equal = !divisors.empty();
        for (std::size_t i = 0; i < divisors.size(); ++i) {
            const double wanted = llama3_divisor(i, width, config.at("rope_theta"), factor);
            equal = equal && std::abs(divisors[i] / wanted - 1) < 1e-4;
        }
        if (!equal) continue;
        config["rope_scaling"] = {{"rope_type", "llama3"},
                                  {"factor", factor},
                                  {"low_freq_factor", 1.0},
                                  {"high_freq_factor", 4.0},
                                  {"original_max_position_embeddings", 8192}};
        return;
    }
    throw BadInput(origin.string() + ": tensor " + gguf_frequencies +
                   ": expected the frequencies of Llama 3.1 or Llama 3.2");
}

void add_special_tokens(Metadata& metadata, ordered_json& config) {
    for (const char* name : {"bos_token_id", "eos_token_id"}) {
        const std::string key = std::string("tokenizer.ggml.") + name;
        config[name] = nullptr;
        if (metadata.all().has(key)) {
            config[name] = metadata.all().integer(key, 0, largest_extent - 1);
        }
    }
}

const std::map<std::string_view, const char*>& outer_names() {
    static const std::map<std::string_view, const char*> names{
        {embedding, "model.embed_tokens.weight"},
        {"output_norm.weight", "model.norm.weight"},
        {head, "lm_head.weight"}};
    return names;
}

const std::map<std::string_view, const char*>& block_names() {
    static const std::map<std::string_view, const char*> names{
        {"attn_norm", "input_layernorm"},    {"attn_q", "self_attn.q_proj"},
        {"attn_k", "self_attn.k_proj"},      {"attn_v", "self_attn.v_proj"},
        {"attn_output", "self_attn.o_proj"}, {"attn_q_norm", "self_attn.q_norm"},
        {"attn_k_norm", "self_attn.k_norm"}, {"ffn_norm", "post_attention_layernorm"},
        {"ffn_gate", "mlp.gate_proj"},       {"ffn_up", "mlp.up_proj"},
        {"ffn_down", "mlp.down_proj"}};
    return names;
}

// --- tokenizers ----------------------------------------------------------------------------------

/// Kinds of tokens, by their numbers in tokenizer.ggml.token_type.
enum class TokenKind {
    normal = 1,
    unknown = 2,
    control = 3,
    user_defined = 4,
    unused = 5,
    byte = 6
};

constexpr const char* space_mark = "\u2581";

/// How byte-level tokenizers divide texts, by the names that llama.cpp gives them.
struct Division {
    const char* name;
    const char* expression;
    bool single_digits = false;
    bool whole_pieces = false;
    bool composed = false;  // NFC
    bool bos = false;       // if the file does not say
};

constexpr const char* llama3_expression =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* qwen2_expression =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

const std::array<Division, 5>& divisions() {
    static const std::array<Division, 5> known{
        Division{"gpt-2", gpt2_expression},
        Division{"llama-bpe", llama3_expression, false, true, false, true},
        Division{"llama3", llama3_expression, false, true, false, true},
        Division{"qwen2", qwen2_expression, false, false, true},
        Division{"smollm", gpt2_expression, true}};
    return known;
}

/// Turns the lists of a file into tokenizer.json.
class TokenizerWriter {
public:
    TokenizerWriter(const GgufHeader& header, const std::filesystem::path& origin)
        : origin_(origin), metadata_(header.metadata, origin, "metadata") {
        tokens_ = texts("tokens");
        const json& kinds = metadata_.array(key("token_type"));
        if (kinds.size() != tokens_.size()) {
            metadata_.refuse(key("token_type"), "as many entries as there are tokens");
        }
        for (const json& kind : kinds) {
            if (!kind.is_number_integer() || kind < 1 || kind > 6) {
                metadata_.refuse(key("token_type"), "numbers from 1 to 6");
            }
            kinds_.push_back(static_cast<TokenKind>(kind.get<int>()));
        }
        file_ = {{"version", "1.0"}, {"added_tokens", added_tokens()}};
    }

    std::string byte_level() {
        const Division& division = known_division();
        json splits = json::array();
        if (division.single_digits)
            splits.push_back({{"type", "Digits"}, {"individual_digits", true}});
        splits.push_back({{"type", "Split"},
                          {"pattern", {{"Regex", division.expression}}},
                          {"behavior", "Isolated"},
                          {"invert", false}});
        const json bytes = {
            {"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
        splits.push_back(bytes);
        if (division.composed) file_["normalizer"] = {{"type", "NFC"}};
        file_["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", splits}};
        file_["decoder"] = bytes;
        file_["model"] = {{"type", "BPE"},
                          {"ignore_merges", division.whole_pieces},
                          {"vocab", vocabulary()},
                          {"merges", texts("merges")}};
        return finish(division.bos);
    }

    std::string sentencepiece() {
        const json to_mark = {
            {"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", space_mark}};
        const json to_space = {
            {"type", "Replace"}, {"pattern", {{"String", space_mark}}}, {"content", " "}};
        json normalizers = json::array({to_mark});
        json decoders = json::array({to_space, {{"type", "ByteFallback"}}, {{"type", "Fuse"}}});
        if (flag("add_space_prefix", true)) {
            const json prepend = {{"type", "Prepend"}, {"prepend", space_mark}};
            normalizers = json::array({prepend, to_mark});
            decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
        }
        file_["normalizer"] = {{"type", "Sequence"}, {"normalizers", normalizers}};
        file_["decoder"] = {{"type", "Sequence"}, {"decoders", decoders}};
        const json vocab = vocabulary();
        file_["model"] = {{"type", "BPE"},
                          {"fuse_unk", true},
                          {"byte_fallback", true},
                          {"vocab", vocab},
                          {"merges", merges_by_score(vocab)}};
        const auto unknown = std::find(kinds_.begin(), kinds_.end(), TokenKind::unknown);
        if (unknown != kinds_.end()) {
            file_["model"]["unk_token"] =
                tokens_[static_cast<std::size_t>(unknown - kinds_.begin())];
        }
        return finish(true);
    }

private:
    static std::string key(const std::string& name) { return "tokenizer.ggml." + name; }

    bool flag(const std::string& name, bool otherwise) {
        return metadata_.has(key(name)) ? metadata_.boolean(key(name)) : otherwise;
    }

    std::vector<std::string> texts(const std::string& name) {
        std::vector<std::string> found;
        for (const json& value : metadata_.array(key(name))) {
            if (!value.is_string()) metadata_.refuse(key(name), "texts");
            found.push_back(value.get<std::string>());
        }
        return found;
    }

    const Division& known_division() {
        const std::string name = metadata_.text(key("pre"));
        std::string known;
        for (const Division& division : divisions()) {
            if (name == division.name) return division;
            known += std::string(known.empty() ? "" : ", ") + division.name;
        }
        metadata_.refuse(key("pre"), known);
    }

    bool is_added(std::size_t id) const {
        return kinds_[id] == TokenKind::control || kinds_[id] == TokenKind::user_defined;
    }

    json added_tokens() const {
        json added = json::array();
        for (std::size_t id = 0; id < tokens_.size(); ++id) {
            if (!is_added(id)) continue;
            added.push_back({{"id", id},
                             {"content", tokens_[id]},
                             {"normalized", false},
                             {"special", kinds_[id] == TokenKind::control}});
        }
        return added;
    }

    json vocabulary() const {
        json vocabulary = json::object();
        for (std::size_t id = 0; id < tokens_.size(); ++id) {
            if (is_added(id) || kinds_[id] == TokenKind::unused) continue;
            if (!vocabulary.emplace(tokens_[id], id).second) {
                refuse_json(
                    origin_, "metadata",
                    key("tokens") + ": token " + json(tokens_[id]).dump() + " stands twice");
            }
        }
        return vocabulary;
    }

    /// Every pair of pieces whose concatenation is a piece, the best score first.
    json merges_by_score(const json& vocabulary) {
        const json& scores = metadata_.array(key("scores"));
        if (scores.size() != tokens_.size()) {
            metadata_.refuse(key("scores"), "as many entries as there are tokens");
        }
        std::vector<std::pair<double, json>> merges;
        for (std::size_t id = 0; id < tokens_.size(); ++id) {
            if (kinds_[id] != TokenKind::normal) continue;
            if (!scores[id].is_number()) metadata_.refuse(key("scores"), "numbers");
            const std::string& piece = tokens_[id];
            for (std::size_t at = utf8_character(piece); at < piece.size();
                 at += utf8_character(std::string_view(piece).substr(at))) {
                const std::string left = piece.substr(0, at);
                const std::string right = piece.substr(at);
                if (!vocabulary.contains(left) || !vocabulary.contains(right)) continue;
                merges.emplace_back(scores[id].get<double>(), json::array({left, right}));
            }
        }
        std::stable_sort(merges.begin(), merges.end(),
                         [](const auto& a, const auto& b) { return a.first > b.first; });
        json list = json::array();
        for (auto& [score, merge] : merges) list.push_back(std::move(merge));
        return list;
    }

    /// Adds what stands before texts.
    std::string finish(bool bos) {
        if (flag("add_eos_token", false)) {
            metadata_.refuse(key("add_eos_token"), "false: the text is to be continued");
        }
        if (flag("add_bos_token", bos)) {
            const std::size_t id = metadata_.integer(key("bos_token_id"), 0, tokens_.size() - 1);
            file_["post_processor"] = {{"type", "TemplateProcessing"},
                                       {"single",
                                        {{{"SpecialToken", {{"id", "bos"}, {"type_id", 0}}}},
                                         {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}},
                                       {"special_tokens",
                                        {{"bos",
                                          {{"id", "bos"},
                                           {"ids", json::array({id})},
                                           {"tokens", json::array({"bos"})}}}}}};
        }
        return file_.dump();
    }

    const std::filesystem::path& origin_;
    JsonObject metadata_;
    std::vector<std::string> tokens_;
    std::vector<TokenKind> kinds_;
    json file_;
};

}  // namespace

std::string gguf_config(const GgufHeader& header, const std::filesystem::path& origin) {
    Metadata metadata(header, origin);
    ordered_json config;
    config["model_type"] = model_type(metadata);
    config["hidden_size"] = metadata.integer("embedding_length");
    config["intermediate_size"] = metadata.integer("feed_forward_length");
    config["num_hidden_layers"] = metadata.integer("block_count");
    config["max_position_embeddings"] = metadata.integer("context_length");
    config["vocab_size"] = vocabulary_size(header, origin);
    metadata.require("vocab_size", config["vocab_size"]);
    const std::size_t width = add_heads(metadata, config);
    config["rms_norm_eps"] = metadata.number("attention.layer_norm_rms_epsilon");
    config["rope_theta"] = metadata.has("rope.freq_base") ? metadata.number("rope.freq_base") : 1e4;
    add_frequencies(header, origin, width, config);
    config["tie_word_embeddings"] = header.tensors.find(head) == header.tensors.end();
    add_special_tokens(metadata, config);
    metadata.require("rope.scaling.type", "none");
    metadata.require("expert_count", 0);
    metadata.require("expert_used_count", 0);
    metadata.refuse_unknown();
    return config.dump(1);
}

std::string gguf_tensor_name(std::string_view name, const std::filesystem::path& origin) {
    const auto outer = outer_names().find(name);
    if (outer != outer_names().end()) return outer->second;
    // blk.NUMBER.PART.weight or .bias
    constexpr std::string_view begin = "blk.";
    const std::size_t part = name.find('.', begin.size());
    const std::size_t kind = name.rfind('.');
    if (name.starts_with(begin) && part != std::string_view::npos && kind > part) {
        const std::string_view number = name.substr(begin.size(), part - begin.size());
        const bool digits =
            !number.empty() &&
            std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
        const auto found = block_names().find(name.substr(part + 1, kind - part - 1));
        const std::string_view suffix = name.substr(kind);
        if (digits && found != block_names().end() && (suffix == ".weight" || suffix == ".bias")) {
            return "model.layers." + std::string(number) + "." + found->second +
                   std::string(suffix);
        }
    }
    throw BadInput(origin.string() + ": tensor " + json(std::string(name)).dump() +
                   ": this build does not know what it is for");
}

std::optional<std::string> gguf_tokenizer(const GgufHeader& header,
                                          const std::filesystem::path& origin) {
    const char* model = "tokenizer.ggml.model";
    if (!header.metadata.contains(model)) return std::nullopt;
    JsonObject metadata(header.metadata, origin, "metadata");
    const std::string kind = metadata.text(model);
    if (kind != "gpt2" && kind != "llama") {
        metadata.refuse(model, "\"gpt2\" (byte-level BPE) or \"llama\" (SentencePiece's BPE)");
    }
    TokenizerWriter writer(header, origin);
    return kind == "gpt2" ? writer.byte_level() : writer.sentencepiece();
}

std::vector<float> rows_in_halves(const std::vector<float>& pairs, std::size_t heads,
                                  std::size_t columns) {
    const std::size_t rows = columns == 0 ? 0 : pairs.size() / columns;
    if (heads == 0 || rows % (2 * heads) != 0) {
        throw BadInput("a query or key matrix of " + std::to_string(rows) + " rows has not " +
                       std::to_string(heads) + " heads with an even number of rows each");
    }
    const std::size_t width = rows / heads;
    std::vector<float> halves(pairs.size());
    for (std::size_t row = 0; row < rows; ++row) {
        const std::size_t in_head = row % width;
        const std::size_t target = row - in_head + in_head / 2 + (in_head % 2) * (width / 2);
        std::copy_n(pairs.begin() + static_cast<std::ptrdiff_t>(row * columns), columns,
                    halves.begin() + static_cast<std::ptrdiff_t>(target * columns));
    }
    return halves;
}

std::string gguf_chat_template(const GgufHeader& header) {
    const auto found = header.metadata.find("tokenizer.chat_template");
    return found != header.metadata.end() && found->is_string() ? found->get<std::string>() : "";
}

bool gguf_interleaves_heads(const GgufHeader& header) {
    return header.metadata.at("general.architecture") == "llama";
}

}  // namespace slip::importing

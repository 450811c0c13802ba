// MODEL-19: the tokenizers of GGUF files, as tokenizer.json.
#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "optimized/import/gguf_model.hpp"
#include "optimized/import/json.hpp"
#include "optimized/import/pretokenizer.hpp"
#include "optimized/import/utf8.hpp"

namespace slip::importing {
namespace {

using nlohmann::json;

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

std::string gguf_chat_template(const GgufHeader& header) {
    const auto found = header.metadata.find("tokenizer.chat_template");
    return found != header.metadata.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace slip::importing

// MODEL-15: tokenizer.json.
#include "optimized/import/tokenizer_json.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/import/bpe_files.hpp"
#include "optimized/import/json.hpp"
#include "optimized/import/utf8.hpp"

namespace slip::importing {
namespace {

using base::parameters::largest_vocabulary;
using nlohmann::json;

/// Ids that no token has, at most: some families leave a few free below their special tokens.
constexpr std::size_t largest_gap = std::size_t{1} << 16;

bool is_absent(JsonObject& object, const std::string& name) {
    return !object.has(name) || object.field(name).is_null();
}

bool boolean_or(JsonObject& object, const std::string& name, bool otherwise) {
    return is_absent(object, name) ? otherwise : object.boolean(name);
}

std::string text_or(JsonObject& object, const std::string& name, const std::string& otherwise) {
    return is_absent(object, name) ? otherwise : object.text(name);
}

/// Throws BadInput that a component's type is none of those known.
[[noreturn]] void refuse_type(const JsonObject& component, const std::string& known) {
    component.refuse("type", known + "; this build supports no other");
}

/// Reads the parts of one file one after another; each may depend on those before it.
class Reader {
public:
    Reader(const json& value, const std::filesystem::path& origin)
        : origin_(origin), file_(value, origin, "tokenizer") {}

    BpeParts read() {
        if (file_.text("version") != "1.0") file_.refuse("version", "\"1.0\"");
        // How batches are cut and filled up: says nothing of a text's ids.
        for (const char* name : {"truncation", "padding"}) {
            if (file_.has(name)) file_.field(name);
        }
        read_normalizer();
        read_pretokenizer();
        read_model();
        read_added_tokens();
        read_decoder();
        read_post_processor();
        file_.refuse_unknown_fields();
        make_texts();
        return std::move(parts_);
    }

private:
    /// Calls `read(component)` for the component `name` or, where it is a sequence, for those in
    /// its list `list`.
    template <class Read>
    void for_each_component(const std::string& name, const std::string& list, const Read& read) {
        if (is_absent(file_, name)) return;
        JsonObject component = file_.object(name);
        if (component.text("type") != "Sequence") return read(component);
        std::size_t number = 0;
        for (const json& value : component.array(list)) {
            JsonObject part(value, origin_,
                            name + ", field \"" + list + "[" + std::to_string(number++) + "]\"");
            read(part);
        }
        component.refuse_unknown_fields();
    }

    void read_normalizer() {
        std::vector<NormalizerStep> steps;
        for_each_component("normalizer", "normalizers", [&](JsonObject& step) {
            steps.push_back(normalizer_step(step));
            step.refuse_unknown_fields();
        });
        parts_.normalizer = Normalizer(std::move(steps));
    }

    static NormalizerStep normalizer_step(JsonObject& step) {
        using Kind = NormalizerStep::Kind;
        const std::string type = step.text("type");
        if (type == "NFC") return {Kind::nfc};
        if (type == "NFD") return {Kind::nfd};
        if (type == "NFKC") return {Kind::nfkc};
        if (type == "NFKD") return {Kind::nfkd};
        if (type == "Prepend") return {Kind::prepend, {}, step.text("prepend")};
        if (type == "Replace") {
            JsonObject pattern = step.object("pattern");
            std::string text = pattern.text("String");
            pattern.refuse_unknown_fields();
            if (text.empty()) step.refuse("pattern", "a text that is not empty");
            return {Kind::replace, std::move(text), step.text("content")};
        }
        refuse_type(step, "Sequence, NFC, NFD, NFKC, NFKD, Prepend or Replace");
    }

    void read_pretokenizer() {
        std::vector<Split> splits;
        parts_.byte_level = false;
        for_each_component("pre_tokenizer", "pretokenizers", [&](JsonObject& step) {
            if (parts_.byte_level) step.refuse("type", "nothing after ByteLevel");
            const std::string type = step.text("type");
            if (type == "ByteLevel") {
                read_byte_level(step, splits);
            } else if (type == "Split") {
                splits.push_back(read_split(step));
            } else if (type == "Digits") {
                const bool single = boolean_or(step, "individual_digits", false);
                splits.push_back({Pattern(single ? R"(\p{N})" : R"(\p{N}+)")});
            } else if (type == "Metaspace") {
                if (parts_.metaspace || !splits.empty()) {
                    step.refuse("type", "Metaspace before everything else, and once");
                }
                read_metaspace(step, splits);
            } else {
                refuse_type(step, "Sequence, ByteLevel, Split, Digits or Metaspace");
            }
            step.refuse_unknown_fields();
        });
        parts_.pretokenizer = PreTokenizer(std::move(splits));
    }

    void read_byte_level(JsonObject& step, std::vector<Split>& splits) {
        if (boolean_or(step, "add_prefix_space", true)) {
            step.refuse("add_prefix_space", "false; this build supports nothing else");
        }
        boolean_or(step, "trim_offsets", true);  // of positions in the text, not of ids
        if (boolean_or(step, "use_regex", true)) splits.push_back({Pattern(gpt2_expression)});
        parts_.byte_level = true;
    }

    static Split read_split(JsonObject& step) {
        JsonObject pattern = step.object("pattern");
        const bool literal = pattern.has("String");
        const std::string text = pattern.text(literal ? "String" : "Regex");
        pattern.refuse_unknown_fields();
        const bool inverted = boolean_or(step, "invert", false);
        const SplitBehaviour behaviour = behaviour_of(step, step.text("behavior"), inverted);
        try {
            return {Pattern(literal ? literal_expression(text) : text), behaviour};
        } catch (const BadInput& error) {
            step.refuse("pattern", std::string("an expression that is supported: ") + error.what());
        }
    }

    static SplitBehaviour behaviour_of(JsonObject& step, const std::string& name, bool inverted) {
        if (name == "Isolated") return SplitBehaviour::isolated;
        if (name == "Removed") return inverted ? SplitBehaviour::kept : SplitBehaviour::removed;
        if (inverted) step.refuse("invert", "false with this behavior");
        if (name == "MergedWithPrevious") return SplitBehaviour::merged_with_previous;
        if (name == "MergedWithNext") return SplitBehaviour::merged_with_next;
        step.refuse("behavior", "Isolated, Removed, MergedWithPrevious or MergedWithNext");
    }

    /// Older files say `add_prefix_space` for "always" and "never".
    void read_metaspace(JsonObject& step, std::vector<Split>& splits) {
        Metaspace metaspace;
        metaspace.replacement = step.text("replacement");
        if (utf8_character(metaspace.replacement) != metaspace.replacement.size()) {
            step.refuse("replacement", "one character");
        }
        const std::string scheme =
            text_or(step, "prepend_scheme",
                    boolean_or(step, "add_prefix_space", true) ? "always" : "never");
        if (scheme == "never") {
            metaspace.prepend = Metaspace::Prepend::never;
        } else if (scheme == "first") {
            metaspace.prepend = Metaspace::Prepend::first;
        } else if (scheme != "always") {
            step.refuse("prepend_scheme", "\"always\", \"first\" or \"never\"");
        }
        text_or(step, "str_rep", "");  // the replacement again, in older files
        if (boolean_or(step, "split", true)) {
            splits.push_back({Pattern(literal_expression(metaspace.replacement)),
                              SplitBehaviour::merged_with_next});
        }
        parts_.metaspace = std::move(metaspace);
    }

    void read_model() {
        JsonObject model = file_.object("model");
        if (!is_absent(model, "type") && model.text("type") != "BPE") refuse_type(model, "BPE");
        if (!is_absent(model, "dropout") && model.number("dropout") != 0) {
            model.refuse("dropout", "null or 0: ids do not depend on chance here");
        }
        for (const char* name : {"continuing_subword_prefix", "end_of_word_suffix"}) {
            if (!text_or(model, name, "").empty()) model.refuse(name, "null or an empty text");
        }
        parts_.whole_pieces = boolean_or(model, "ignore_merges", false);
        parts_.fuses_unknown = boolean_or(model, "fuse_unk", false);
        const bool byte_fallback = boolean_or(model, "byte_fallback", false);
        read_vocabulary(model);
        if (!text_or(model, "unk_token", "").empty()) {  // GPT-2's file says "" for none
            const auto unknown = ids_.find(model.text("unk_token"));
            if (unknown == ids_.end()) model.refuse("unk_token", "a token of the vocabulary");
            parts_.unknown = unknown->second;
        }
        read_merges(model);
        model.refuse_unknown_fields();
        find_byte_tokens(byte_fallback);
    }

    void read_vocabulary(JsonObject& model) {
        const json& vocabulary = model.field("vocab");
        if (!vocabulary.is_object()) model.refuse("vocab", "an object from tokens to ids");
        ids_.reserve(vocabulary.size());
        for (const auto& [token, id] : vocabulary.items()) {
            if (token.empty()) model.refuse("vocab", "no empty token");
            place(token, id, "model, field \"vocab\"", vocabulary.size());
        }
    }

    /// Notes that `token` has this id. Refused are ids that are too large or taken.
    TokenId place(const std::string& token, const json& id, const std::string& where,
                  std::size_t tokens) {
        const auto refuse = [&](const std::string& what) {
            refuse_json(origin_, where, "token " + json(token).dump() + ": " + what);
        };
        const std::size_t end = std::min(tokens + largest_gap, largest_vocabulary);
        if (!id.is_number_unsigned() || id.get<std::size_t>() >= end) {
            refuse("expected an id from 0 to " + std::to_string(end - 1));
        }
        const auto index = id.get<std::size_t>();
        if (index >= tokens_.size()) tokens_.resize(index + 1);
        if (!tokens_[index].empty()) refuse("the id " + std::to_string(index) + " stands twice");
        tokens_[index] = token;
        return ids_.emplace(token, id.get<TokenId>()).first->second;
    }

    void read_merges(JsonObject& model) {
        const json& list = model.array("merges");
        parts_.merges.reserve(list.size());
        for (const json& merge : list) {
            const std::string where =
                "model, field \"merges[" + std::to_string(parts_.merges.size()) + "]\"";
            const auto [left, right] = pair_of(merge, where);
            const auto id_of = [&](const std::string& token) {
                const auto found = ids_.find(token);
                if (found != ids_.end()) return found->second;
                refuse_json(origin_, where, "a token of the merge, or its result, is not in vocab");
            };
            const auto rank = static_cast<std::uint32_t>(parts_.merges.size());
            parts_.merges.push_back({id_of(left), id_of(right), rank, id_of(left + right)});
        }
        if (const BpeMerge* twice = sort_merges(parts_.merges)) {
            model.refuse("merges", "no pair twice, but merge " + std::to_string(twice->rank) +
                                       " repeats one");
        }
    }

    /// "LEFT RIGHT" or ["LEFT", "RIGHT"].
    std::pair<std::string, std::string> pair_of(const json& merge, const std::string& where) const {
        if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
            return {merge[0].get<std::string>(), merge[1].get<std::string>()};
        }
        const std::string words = merge.is_string() ? merge.get<std::string>() : "";
        const std::size_t space = words.find(' ');
        if (space == std::string::npos || words.find(' ', space + 1) != std::string::npos) {
            refuse_json(origin_, where, "expected two tokens with a space between them");
        }
        return {words.substr(0, space), words.substr(space + 1)};
    }

    /// The tokens of single bytes: in GPT-2's alphabet, or written <0xNN>.
    void find_byte_tokens(bool byte_fallback) {
        parts_.byte_tokens.assign(256, no_token);
        if (parts_.byte_level) {
            for (const auto& [token, id] : ids_) {
                const auto bytes = bytes_of_bpe_token(token);
                if (!bytes) continue;
                if (bytes->size() == 1) {
                    parts_.byte_tokens[static_cast<unsigned char>(bytes->front())] = id;
                }
                if (parts_.whole_pieces) parts_.pieces.emplace(*bytes, id);
            }
            return;
        }
        parts_.pieces = ids_;
        if (!byte_fallback) return;
        for (std::size_t byte = 0; byte < 256; ++byte) {
            const auto found = ids_.find(byte_name(byte));
            if (found != ids_.end()) parts_.byte_tokens[byte] = found->second;
        }
    }

    static std::string byte_name(std::size_t byte) {
        char name[8];
        std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(byte));
        return name;
    }

    void read_added_tokens() {
        if (is_absent(file_, "added_tokens")) return;
        const json& list = file_.array("added_tokens");
        for (std::size_t i = 0; i < list.size(); ++i) {
            const std::string where = "added_tokens[" + std::to_string(i) + "]";
            JsonObject token(list[i], origin_, where);
            parts_.added.push_back(added_token(token, where, list.size()));
            token.refuse_unknown_fields();
        }
    }

    AddedToken added_token(JsonObject& token, const std::string& where, std::size_t count) {
        AddedToken added;
        added.text = token.text("content");
        if (added.text.empty()) token.refuse("content", "a text that is not empty");
        added.special = boolean_or(token, "special", false);
        added.strips_left = boolean_or(token, "lstrip", false);
        added.strips_right = boolean_or(token, "rstrip", false);
        added.normalized = boolean_or(token, "normalized", !added.special);
        if (boolean_or(token, "single_word", false)) {
            token.refuse("single_word", "false; this build supports nothing else");
        }
        const json& id = token.field("id");
        const auto known = ids_.find(added.text);
        if (known == ids_.end()) {
            added.id = place(added.text, id, where, tokens_.size() + count);
        } else {
            if (id != known->second) token.refuse("id", "the id that the vocabulary gives it");
            added.id = known->second;
        }
        return added;
    }

    /// The decoder has no say in ids; what it is must fit the rest, so that texts come back.
    void read_decoder() {
        for_each_component("decoder", "decoders", [&](JsonObject& step) {
            const std::string type = step.text("type");
            if (type == "ByteLevel" && parts_.byte_level) {
                for (const char* name : {"add_prefix_space", "trim_offsets", "use_regex"}) {
                    boolean_or(step, name, true);
                }
            } else if (type == "Replace") {
                const NormalizerStep replace = normalizer_step(step);
                spaces_.emplace_back(replace.pattern, replace.content);
            } else if (type == "Metaspace") {
                read_metaspace_decoder(step);
            } else if (type == "Strip") {
                if (step.text("content") != " ") step.refuse("content", "a space");
                parts_.strips_first_space = step.integer("start", 0, 1) == 1;
                step.integer("stop", 0, 0);
            } else if (type != "Fuse" && type != "ByteFallback") {
                refuse_type(step,
                            "Sequence, ByteLevel (of a pre_tokenizer that is), Replace, Metaspace, "
                            "Strip, Fuse or ByteFallback");
            }
            step.refuse_unknown_fields();
        });
    }

    void read_metaspace_decoder(JsonObject& step) {
        spaces_.emplace_back(step.text("replacement"), " ");
        if (spaces_.back().first.empty()) step.refuse("replacement", "a character");
        const std::string scheme =
            text_or(step, "prepend_scheme",
                    boolean_or(step, "add_prefix_space", true) ? "always" : "never");
        parts_.strips_first_space = scheme != "never";
        boolean_or(step, "split", true);
        text_or(step, "str_rep", "");
    }

    void read_post_processor() {
        parts_.before_texts.emplace();
        for_each_component("post_processor", "processors", [&](JsonObject& step) {
            const std::string type = step.text("type");
            if (type == "TemplateProcessing") {
                read_template(step);
            } else if (type == "ByteLevel") {  // concerns positions in the text only
                for (const char* name : {"add_prefix_space", "trim_offsets", "use_regex"}) {
                    boolean_or(step, name, true);
                }
            } else {
                refuse_type(step, "Sequence, TemplateProcessing or ByteLevel");
            }
            step.refuse_unknown_fields();
        });
    }

    /// What `single` puts before the text. A token after it would end what is to be continued.
    void read_template(JsonObject& step) {
        JsonObject tokens = step.object("special_tokens");
        bool text_seen = false;
        for (const json& value : step.array("single")) {
            JsonObject item(value, origin_, "post_processor, field \"single\"");
            if (item.has("Sequence")) {
                item.field("Sequence");
                if (std::exchange(text_seen, true)) step.refuse("single", "the text once");
                continue;
            }
            if (text_seen) step.refuse("single", "no token after the text");
            JsonObject named = item.object("SpecialToken");
            JsonObject token = tokens.object(named.text("id"));
            for (const json& id : token.array("ids")) {
                if (!id.is_number_unsigned() || id.get<std::size_t>() >= tokens_.size()) {
                    token.refuse("ids", "ids of the vocabulary");
                }
                parts_.before_texts->push_back(id.get<TokenId>());
            }
        }
        if (!text_seen) step.refuse("single", "the text");
        if (step.has("pair")) step.field("pair");  // of two texts, which nobody encodes here
    }

    /// id -> what it decodes to.
    void make_texts() {
        parts_.texts.resize(tokens_.size());
        for (std::size_t id = 0; id < tokens_.size(); ++id) {
            parts_.texts[id] = parts_.byte_level
                                   ? bytes_of_bpe_token(tokens_[id]).value_or(tokens_[id])
                                   : text_of_piece(tokens_[id], static_cast<TokenId>(id));
        }
        for (const AddedToken& token : parts_.added) {
            parts_.texts[static_cast<std::size_t>(token.id)] = token.special ? "" : token.text;
        }
    }

    std::string text_of_piece(const std::string& piece, TokenId id) const {
        if (piece.size() == 6 && piece.starts_with("<0x")) {
            for (std::size_t byte = 0; byte < 256; ++byte) {
                if (parts_.byte_tokens[byte] == id) return std::string(1, static_cast<char>(byte));
            }
        }
        std::vector<NormalizerStep> steps;
        steps.reserve(spaces_.size());
        for (const auto& [from, to] : spaces_) {
            steps.push_back({NormalizerStep::Kind::replace, from, to});
        }
        return Normalizer(std::move(steps)).apply(piece);
    }

    const std::filesystem::path& origin_;
    JsonObject file_;
    BpeParts parts_;
    std::vector<std::string> tokens_;                          // id -> the token as it is written
    std::unordered_map<std::string, TokenId> ids_;             // the other way
    std::vector<std::pair<std::string, std::string>> spaces_;  // what the decoder replaces
};

}  // namespace

BpeParts parse_tokenizer_json(std::string_view text, const std::filesystem::path& origin) {
    const json value = parse_json(text, origin);
    return Reader(value, origin).read();
}

}  // namespace slip::importing

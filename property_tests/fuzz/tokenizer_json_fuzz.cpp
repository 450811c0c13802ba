// tokenizer.json, and the tokenizer that it makes. An input is the file, a zero byte, and a text,
// which may hold zero bytes itself.
#include <algorithm>

#include "optimized/base/error.hpp"
#include "optimized/import/tokenizer_json.hpp"
#include "property_tests/fuzz/fuzz.hpp"

namespace slip::fuzz::tokenizer_json_fuzz {
namespace {

using namespace importing;

void check_parts(const BpeParts& parts) {
    const auto size = static_cast<TokenId>(parts.texts.size());
    const auto inside = [&](TokenId id) { return id >= 0 && id < size; };
    for (const BpeMerge& merge : parts.merges) {
        expect(inside(merge.left) && inside(merge.right) && inside(merge.merged),
               "a merge of tokens outside the vocabulary");
    }
    for (const AddedToken& token : parts.added) {
        expect(inside(token.id) && !token.text.empty(), "an added token");
    }
    for (const TokenId id : parts.byte_tokens)
        expect(id == no_token || inside(id), "a byte's token");
    for (const auto& [piece, id] : parts.pieces) expect(inside(id), "a piece's token");
    expect(!parts.unknown || inside(*parts.unknown), "the unknown token");
    expect(parts.before_texts.has_value(), "what stands before texts");
    for (const TokenId id : *parts.before_texts) expect(inside(id), "a token before texts");
}

/// Whether encoding loses nothing: no normalisation, no white space taken by added tokens, nothing
/// unknown, and pieces of the whole text.
bool is_lossless(std::string_view file) {
    for (const char* word : {"normalizer\"", "strip\"", "unk_token", "Removed", "Metaspace",
                             "Replace", "Strip", "special\"", "\\u", "<0x"}) {
        if (file.find(word) != std::string_view::npos) return false;
    }
    return true;
}

Bytes input_of(const std::string& file, const std::string& text) {
    return bytes_of(file + std::string(1, '\0') + text);
}

}  // namespace

/// Ids may leave gaps of 2^16, and an expression may keep 8 MiB of alternatives open.
const std::size_t allowance = std::size_t{1} << 23;

std::vector<Bytes> seeds() {
    const std::string begin = R"json({"version":"1.0","truncation":null,"padding":null,)json";
    const std::string plain = R"json("added_tokens":[],"model":{"type":"BPE","vocab":{"a":0,"b":1,
"ab":2},"merges":["a b"]}})json";
    const std::string byte_level =
        R"json("added_tokens":[{"id":5,"content":"<x>","single_word":false,
"lstrip":true,"rstrip":true,"normalized":false,"special":true}],"normalizer":{"type":"NFC"},
"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":
{"Regex":"(?i:'s)| ?\\p{L}+|\\s+(?!\\S)"},"behavior":"Isolated","invert":false},
{"type":"Digits","individual_digits":true},{"type":"ByteLevel","add_prefix_space":false,
"trim_offsets":true,"use_regex":false}]},"post_processor":{"type":"TemplateProcessing","single":
[{"SpecialToken":{"id":"<x>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],"pair":[],
"special_tokens":{"<x>":{"id":"<x>","ids":[5],"tokens":["<x>"]}}},"decoder":{"type":"ByteLevel"},
"model":{"type":"BPE","dropout":null,"unk_token":"a","fuse_unk":false,"byte_fallback":false,
"ignore_merges":true,"vocab":{"a":0,"b":1,"ab":2,"\u0120":3},"merges":[["a","b"]]}})json";
    const std::string sentencepiece = R"json("normalizer":{"type":"Sequence","normalizers":[
{"type":"Prepend","prepend":"_"},{"type":"Replace","pattern":{"String":" "},"content":"_"}]},
"decoder":{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"_"},"content":" "},
{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]},
"model":{"type":"BPE","unk_token":"?","fuse_unk":true,"byte_fallback":true,
"vocab":{"_":0,"a":1,"_a":2,"?":3,"<0xC3>":4},"merges":["_ a"]}})json";
    const std::string metaspace = R"json("pre_tokenizer":{"type":"Metaspace","replacement":"_",
"prepend_scheme":"first","split":true},"decoder":{"type":"Metaspace","replacement":"_",
"prepend_scheme":"first","split":true},"model":{"vocab":{"_":0,"a":1,"b":2},"merges":[]}})json";
    return {
        input_of(begin + plain, "abba"), input_of(begin + byte_level, "ab <x> a's b\xcc\x81 12"),
        input_of(begin + sentencepiece, "a a \xc3 \xc3\xa9"), input_of(begin + metaspace, "a b")};
}

bool check(std::span<const std::byte> input) {
    const std::string_view all = text_of(input);
    const std::string_view file = all.substr(0, all.find('\0'));
    const std::string_view text = all.substr(std::min(all.size(), file.size() + 1));
    BpeParts parts;
    if (!accepts<BadInput>([&] { parts = parse_tokenizer_json(file, "tokenizer.json"); })) {
        return false;
    }
    check_parts(parts);
    const bool lossless = is_lossless(file);
    const Bpe tokenizer(std::move(parts));
    for (const bool with_special : {false, true}) {
        std::vector<TokenId> ids;
        const bool encoded = accepts<BadInput>([&] {
            ids = with_special ? tokenizer.encode_with_special(text) : tokenizer.encode(text);
        });
        if (!encoded) continue;
        const std::string decoded = tokenizer.decode(ids);
        expect(!lossless || decoded == text, "a text that was encoded and decoded is another");
    }
    return true;
}

const Target target{"tokenizer_json_fuzz", allowance, seeds, check};

}  // namespace slip::fuzz::tokenizer_json_fuzz

// MODEL-11: the files of a byte-level BPE tokenizer.
#include "optimized/import/bpe_files.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/base/files.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/import/json.hpp"

namespace slip::importing {
namespace {

using base::read_file;
using nlohmann::json;

/// PARAM-3: a head has at most 2^20 rows.
using base::parameters::largest_vocabulary;

/// GPT-2 writes a byte as a printable character: the printable ones of Latin-1 as themselves, the
/// others, in order, as U+0100, U+0101, ...
bool is_printable(std::size_t byte) {
    return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

/// Code point -> byte, or -1.
std::array<int, 256 + 68> byte_alphabet() {
    std::array<int, 256 + 68> bytes;
    bytes.fill(-1);
    std::size_t next = 256;
    for (std::size_t byte = 0; byte < 256; ++byte) {
        bytes[is_printable(byte) ? byte : next++] = static_cast<int>(byte);
    }
    return bytes;
}

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& what) {
    throw BadInput(path.string() + ": " + what);
}

/// An object from tokens, none of them empty, to ids below 2^20.
std::map<std::string, TokenId> parse_ids(std::string_view text, const std::filesystem::path& path) {
    const json value = parse_json(text, path);
    if (!value.is_object()) refuse(path, "expected an object from tokens to ids");
    if (value.size() > largest_vocabulary) refuse(path, "has more than 2^20 tokens");
    std::map<std::string, TokenId> ids;
    for (const auto& [token, id] : value.items()) {
        if (!id.is_number_unsigned() || id.get<std::size_t>() >= largest_vocabulary) {
            refuse(path, "token " + json(token).dump() + ": expected an id from 0 to 2^20 - 1");
        }
        if (token.empty()) refuse(path, "has an empty token");
        ids.emplace(token, id.get<TokenId>());
    }
    return ids;
}

}  // namespace

std::optional<std::string> bytes_of_bpe_token(std::string_view written) {
    static const auto alphabet = byte_alphabet();
    std::string bytes;
    for (std::size_t at = 0; at < written.size(); ++at) {
        auto point = static_cast<std::size_t>(static_cast<unsigned char>(written[at]));
        if (point >= 0x80) {  // the alphabet ends below U+0800: two bytes
            if (point >= 0xe0 || ++at == written.size()) return std::nullopt;
            point = (point & 0x1f) << 6 | (static_cast<unsigned char>(written[at]) & 0x3f);
        }
        if (point >= alphabet.size() || alphabet[point] < 0) return std::nullopt;
        bytes.push_back(static_cast<char>(alphabet[point]));
    }
    return bytes;
}

BpeVocabulary parse_bpe_vocabulary(std::string_view text, const std::filesystem::path& origin) {
    BpeVocabulary vocabulary;
    vocabulary.ids = parse_ids(text, origin);
    std::vector<std::string>& texts = vocabulary.texts;
    texts.resize(vocabulary.ids.size());
    for (const auto& [token, id] : vocabulary.ids) {
        const auto bytes = bytes_of_bpe_token(token);
        const std::string name = "token " + json(token).dump();
        if (!bytes) refuse(origin, name + " is not written in GPT-2's alphabet of bytes");
        if (static_cast<std::size_t>(id) >= texts.size()) {
            refuse(origin, name + " has id " + std::to_string(id) + ", but there are only " +
                               std::to_string(texts.size()) + " tokens");
        }
        std::string& place = texts[static_cast<std::size_t>(id)];
        if (!place.empty()) refuse(origin, "id " + std::to_string(id) + " stands twice");
        place = *bytes;
    }
    return vocabulary;
}

/// A merge a line, "LEFT RIGHT", in the order of their ranks, after a line that names the version.
std::vector<BpeMerge> parse_bpe_merges(std::string_view text, const std::filesystem::path& origin,
                                       const BpeVocabulary& vocabulary) {
    std::vector<BpeMerge> merges;
    std::size_t line = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::string words(text.substr(at, end - at));
        at = end + 1;
        if (++line == 1 && words.starts_with("#version")) continue;
        const std::string place = "line " + std::to_string(line);
        const std::size_t space = words.find(' ');
        if (space == std::string::npos || words.find(' ', space + 1) != std::string::npos) {
            refuse(origin, place + ": expected two tokens with a space between them");
        }
        const auto id_of = [&](const std::string& token) {
            const auto found = vocabulary.ids.find(token);
            if (found != vocabulary.ids.end()) return found->second;
            refuse(origin,
                   place + ": a token of the merge, or its result, is not in the vocabulary");
        };
        const std::string left = words.substr(0, space);
        const std::string right = words.substr(space + 1);
        merges.push_back({id_of(left), id_of(right), static_cast<std::uint32_t>(merges.size()),
                          id_of(left + right)});
    }
    if (const BpeMerge* twice = sort_merges(merges)) {
        refuse(origin,
               "the merge number " + std::to_string(twice->rank + 1) + " stands there twice");
    }
    return merges;
}

std::map<TokenId, std::string> parse_bpe_added_tokens(std::string_view text,
                                                      const std::filesystem::path& origin,
                                                      const std::vector<std::string>& texts) {
    const auto ids = parse_ids(text, origin);
    std::map<TokenId, std::string> tokens;
    for (const auto& [token, id] : ids) {
        const auto index = static_cast<std::size_t>(id);
        const bool known = index < texts.size() && texts[index] == token;
        const bool fresh = index >= texts.size() && index < texts.size() + ids.size();
        if (!(known || fresh) || !tokens.emplace(id, token).second) {
            refuse(origin, "token " + json(token).dump() + ": the id " + std::to_string(id) +
                               " is taken or does not follow the vocabulary's");
        }
    }
    auto next = static_cast<TokenId>(texts.size());
    for (auto token = tokens.lower_bound(next); token != tokens.end(); ++token, ++next) {
        if (token->first != next) {
            refuse(origin, "no token has the id " + std::to_string(next));
        }
    }
    return tokens;
}

std::vector<TokenId> bpe_byte_tokens(const BpeVocabulary& vocabulary,
                                     const std::filesystem::path& origin) {
    std::vector<TokenId> tokens(256, -1);
    for (std::size_t id = 0; id < vocabulary.texts.size(); ++id) {
        const std::string& text = vocabulary.texts[id];
        if (text.size() != 1) continue;
        tokens[static_cast<unsigned char>(text[0])] = static_cast<TokenId>(id);
    }
    const auto missing = std::find(tokens.begin(), tokens.end(), -1);
    if (missing == tokens.end()) return tokens;
    refuse(origin, "has no token for the byte " + std::to_string(missing - tokens.begin()));
}

BpeFiles read_bpe_files(const std::filesystem::path& vocabulary,
                        const std::filesystem::path& merges,
                        const std::filesystem::path& added_tokens) {
    BpeFiles files;
    BpeVocabulary tokens = parse_bpe_vocabulary(read_file(vocabulary), vocabulary);
    files.byte_tokens = bpe_byte_tokens(tokens, vocabulary);
    files.merges = parse_bpe_merges(read_file(merges), merges, tokens);
    if (!added_tokens.empty()) {
        files.added = parse_bpe_added_tokens(read_file(added_tokens), added_tokens, tokens.texts);
    }
    files.texts = std::move(tokens.texts);
    return files;
}

}  // namespace slip::importing

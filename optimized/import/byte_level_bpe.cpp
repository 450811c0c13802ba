// MODEL-11: byte-level BPE.
#include "optimized/import/byte_level_bpe.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/base/files.hpp"
#include "optimized/import/json.hpp"

namespace slip {
namespace {

using nlohmann::json;

/// PARAM-3: a head has at most 2^20 rows.
constexpr std::size_t largest_vocabulary = std::size_t{1} << 20;

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

/// The bytes that a token of vocab.json, which is UTF-8, stands for; nothing if a character is not
/// in the alphabet.
std::optional<std::string> bytes_of(std::string_view written) {
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

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& what) {
    throw BadInput(path.string() + ": " + what);
}

/// An object from tokens, none of them empty, to ids below 2^20.
std::map<std::string, TokenId> read_ids(const std::filesystem::path& path) {
    const json value = parse_json(read_file(path), path);
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

ByteLevelBpe::ByteLevelBpe(const std::filesystem::path& vocabulary,
                           const std::filesystem::path& merges,
                           const std::filesystem::path& added_tokens) {
    const auto ids = read_vocabulary(vocabulary);
    find_byte_tokens(vocabulary);
    read_merges(merges, ids);
    if (!added_tokens.empty()) read_added_tokens(added_tokens);
}

std::map<std::string, TokenId> ByteLevelBpe::read_vocabulary(const std::filesystem::path& path) {
    auto ids = read_ids(path);
    texts_.resize(ids.size());
    for (const auto& [token, id] : ids) {
        const auto bytes = bytes_of(token);
        const std::string name = "token " + json(token).dump();
        if (!bytes) refuse(path, name + " is not written in GPT-2's alphabet of bytes");
        if (static_cast<std::size_t>(id) >= texts_.size()) {
            refuse(path, name + " has id " + std::to_string(id) + ", but there are only " +
                             std::to_string(texts_.size()) + " tokens");
        }
        std::string& text = texts_[static_cast<std::size_t>(id)];
        if (!text.empty()) refuse(path, "id " + std::to_string(id) + " stands twice");
        text = *bytes;
    }
    return ids;
}

void ByteLevelBpe::find_byte_tokens(const std::filesystem::path& path) {
    byte_tokens_.assign(256, -1);
    for (std::size_t id = 0; id < texts_.size(); ++id) {
        if (texts_[id].size() != 1) continue;
        byte_tokens_[static_cast<unsigned char>(texts_[id][0])] = static_cast<TokenId>(id);
    }
    const auto missing = std::find(byte_tokens_.begin(), byte_tokens_.end(), -1);
    if (missing == byte_tokens_.end()) return;
    refuse(path, "has no token for the byte " + std::to_string(missing - byte_tokens_.begin()));
}

/// A merge a line, "LEFT RIGHT", in the order of their ranks, after a line that names the version.
void ByteLevelBpe::read_merges(const std::filesystem::path& path,
                               const std::map<std::string, TokenId>& vocabulary) {
    const std::string text = read_file(path);
    std::size_t line = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::string words = text.substr(at, end - at);
        at = end + 1;
        if (++line == 1 && words.starts_with("#version")) continue;
        const std::string place = "line " + std::to_string(line);
        const std::size_t space = words.find(' ');
        if (space == std::string::npos || words.find(' ', space + 1) != std::string::npos) {
            refuse(path, place + ": expected two tokens with a space between them");
        }
        const auto id_of = [&](const std::string& token) {
            const auto found = vocabulary.find(token);
            if (found != vocabulary.end()) return found->second;
            refuse(path, place + ": a token of the merge, or its result, is not in the vocabulary");
        };
        const std::string left = words.substr(0, space);
        const std::string right = words.substr(space + 1);
        merges_.push_back({id_of(left), id_of(right), static_cast<std::uint32_t>(merges_.size()),
                           id_of(left + right)});
    }
    const auto pair_of = [](const Merge& merge) { return std::pair(merge.left, merge.right); };
    std::sort(merges_.begin(), merges_.end(),
              [&](const Merge& a, const Merge& b) { return pair_of(a) < pair_of(b); });
    const auto twice = std::adjacent_find(
        merges_.begin(), merges_.end(),
        [&](const Merge& a, const Merge& b) { return pair_of(a) == pair_of(b); });
    if (twice != merges_.end()) {
        refuse(path, "the merge number " +
                         std::to_string(std::max(twice->rank, (twice + 1)->rank) + 1) +
                         " stands there twice");
    }
}

/// Tokens that stand in texts as they are, such as Phi-2's runs of spaces. Their ids follow the
/// vocabulary's; one that the vocabulary has already keeps its id.
void ByteLevelBpe::read_added_tokens(const std::filesystem::path& path) {
    const std::size_t first = texts_.size();
    const auto ids = read_ids(path);
    for (const auto& [token, id] : ids) {
        const auto index = static_cast<std::size_t>(id);
        const bool known = index < first && texts_[index] == token;
        const bool fresh = index >= first && index < first + ids.size();
        if (fresh) texts_.resize(std::max(texts_.size(), index + 1));
        if (!known && (!fresh || !texts_[index].empty())) {
            refuse(path, "token " + json(token).dump() + ": the id " + std::to_string(id) +
                             " is taken or does not follow the vocabulary's");
        }
        texts_[index] = token;
        added_[static_cast<unsigned char>(token[0])].push_back({token, id});
    }
    for (std::size_t id = first; id < texts_.size(); ++id) {
        if (texts_[id].empty()) refuse(path, "no token has the id " + std::to_string(id));
    }
    for (auto& tokens : added_) {
        std::sort(tokens.begin(), tokens.end(), [](const AddedToken& a, const AddedToken& b) {
            return a.text.size() > b.text.size();
        });
    }
}

const ByteLevelBpe::Merge* ByteLevelBpe::merge_of(TokenId left, TokenId right) const {
    const std::pair wanted(left, right);
    const auto found = std::lower_bound(merges_.begin(), merges_.end(), wanted,
                                        [](const Merge& merge, const auto& pair) {
                                            return std::pair(merge.left, merge.right) < pair;
                                        });
    const bool there = found != merges_.end() && std::pair(found->left, found->right) == wanted;
    return there ? &*found : nullptr;
}

/// The longest added token at the start of `text`, or null.
const ByteLevelBpe::AddedToken* ByteLevelBpe::added_token_at(std::string_view text) const {
    for (const AddedToken& token : added_[static_cast<unsigned char>(text[0])]) {
        if (text.starts_with(token.text)) return &token;
    }
    return nullptr;
}

/// The tokens of one piece, at first one a byte. Of all neighbours that a merge fits, those with
/// the lowest rank, the leftmost of equals, become one token, until no merge fits.
class ByteLevelBpe::Word {
public:
    Word(const ByteLevelBpe& tokenizer, std::string_view bytes)
        : tokenizer_(tokenizer), ids_(bytes.size()), next_(bytes.size()), previous_(bytes.size()) {
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            ids_[i] = tokenizer.byte_tokens_[static_cast<unsigned char>(bytes[i])];
            next_[i] = i + 1;
            previous_[i] = i - 1;  // of the first: not used
        }
        for (std::size_t i = 0; i + 1 < bytes.size(); ++i) propose(i);
    }

    void append_to(std::vector<TokenId>& ids) {
        while (!candidates_.empty()) {
            const Candidate best = candidates_.top();
            candidates_.pop();
            if (is_current(best)) merge(best);
        }
        for (std::size_t i = 0; i < ids_.size(); i = next_[i]) ids.push_back(ids_[i]);
    }

private:
    /// A merge of the token at `at` with the next one, when these were left and right.
    struct Candidate {
        std::uint32_t rank;
        std::size_t at;
        const Merge* merge;
        bool operator>(const Candidate& other) const {
            return std::tie(rank, at) > std::tie(other.rank, other.at);
        }
    };

    void propose(std::size_t at) {
        if (next_[at] >= ids_.size()) return;
        const Merge* merge = tokenizer_.merge_of(ids_[at], ids_[next_[at]]);
        if (merge != nullptr) candidates_.push({merge->rank, at, merge});
    }

    /// Earlier merges may have used one of the two tokens up.
    bool is_current(const Candidate& candidate) const {
        const std::size_t at = candidate.at;
        return ids_[at] == candidate.merge->left && next_[at] < ids_.size() &&
               ids_[next_[at]] == candidate.merge->right;
    }

    void merge(const Candidate& candidate) {
        const std::size_t at = candidate.at;
        const std::size_t gone = next_[at];
        ids_[at] = candidate.merge->merged;
        ids_[gone] = -1;
        next_[at] = next_[gone];
        if (next_[at] < ids_.size()) previous_[next_[at]] = at;
        propose(at);
        if (at > 0) propose(previous_[at]);
    }

    const ByteLevelBpe& tokenizer_;
    std::vector<TokenId> ids_;  // -1 where a token was merged into an earlier one
    std::vector<std::size_t> next_;
    std::vector<std::size_t> previous_;
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates_;
};

void ByteLevelBpe::encode_plain(std::string_view text, std::vector<TokenId>& ids) const {
    pretokenizer_.divide(text, [&](std::string_view piece) { Word(*this, piece).append_to(ids); });
}

std::vector<TokenId> ByteLevelBpe::encode(std::string_view text) const {
    std::vector<TokenId> ids;
    std::size_t plain = 0;  // where the text without added tokens begins
    for (std::size_t at = 0; at < text.size();) {
        const AddedToken* added = added_token_at(text.substr(at));
        if (added == nullptr) {
            ++at;
            continue;
        }
        encode_plain(text.substr(plain, at - plain), ids);
        ids.push_back(added->id);
        at += added->text.size();
        plain = at;
    }
    encode_plain(text.substr(plain), ids);
    return ids;
}

std::string ByteLevelBpe::decode(std::span<const TokenId> ids) const {
    std::string text;
    for (const TokenId id : ids) {
        if (id < 0 || static_cast<std::size_t>(id) >= texts_.size()) {
            throw BadInput("token id " + std::to_string(id) +
                           " is outside the tokenizer's vocabulary: expected 0 to " +
                           std::to_string(texts_.size() - 1));
        }
        text += texts_[static_cast<std::size_t>(id)];
    }
    return text;
}

}  // namespace slip

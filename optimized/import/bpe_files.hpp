// The files of a byte-level BPE tokenizer (MODEL-11): vocab.json, merges.txt, added_tokens.json.
// Every function throws BadInput, naming `origin` and the token or line.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "optimized/base/model_shape.hpp"
#include "optimized/import/bpe_merges.hpp"

namespace slip::importing {

struct BpeVocabulary {
    std::map<std::string, TokenId> ids;  // by the token as it is written
    std::vector<std::string> texts;      // id -> the bytes that it stands for
};

/// What a tokenizer is made of.
struct BpeFiles {
    std::vector<std::string> texts;        // of the vocabulary: id -> its bytes
    std::vector<TokenId> byte_tokens;      // byte -> the token of that byte alone
    std::vector<BpeMerge> merges;          // in the order of (left, right), none twice
    std::map<TokenId, std::string> added;  // known to `texts`, or following it without a gap
};

/// The bytes that a token in GPT-2's alphabet of bytes, which is UTF-8, stands for; nothing if one
/// of its characters is not in the alphabet.
std::optional<std::string> bytes_of_bpe_token(std::string_view written);

/// Refused are ids that are doubled or leave gaps, and tokens that are not written in GPT-2's
/// alphabet of bytes.
BpeVocabulary parse_bpe_vocabulary(std::string_view text, const std::filesystem::path& origin);

/// The token of each byte alone; refused is a vocabulary that has none for one of them.
std::vector<TokenId> bpe_byte_tokens(const BpeVocabulary& vocabulary,
                                     const std::filesystem::path& origin);

/// In the order of (left, right). Refused are merges that are doubled or of tokens that the
/// vocabulary does not have.
std::vector<BpeMerge> parse_bpe_merges(std::string_view text, const std::filesystem::path& origin,
                                       const BpeVocabulary& vocabulary);

/// Tokens that stand in texts as they are, such as Phi-2's runs of spaces. Their ids follow the
/// vocabulary's, whose `texts` these are; one that the vocabulary has already keeps its id.
std::map<TokenId, std::string> parse_bpe_added_tokens(std::string_view text,
                                                      const std::filesystem::path& origin,
                                                      const std::vector<std::string>& texts);

/// `added_tokens` may be empty: then there is no such file.
BpeFiles read_bpe_files(const std::filesystem::path& vocabulary,
                        const std::filesystem::path& merges,
                        const std::filesystem::path& added_tokens);

}  // namespace slip::importing

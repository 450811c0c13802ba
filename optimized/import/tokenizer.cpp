// MODEL-11: which files make a tokenizer.
#include "optimized/import/tokenizer.hpp"

#include <algorithm>
#include <initializer_list>

#include "optimized/base/files.hpp"
#include "optimized/import/byte_level_bpe.hpp"
#include "optimized/import/sentencepiece.hpp"
#include "optimized/import/tokenizer_json.hpp"

namespace slip::importing {
namespace {

constexpr const char* tokenizer_json = "tokenizer.json";
constexpr const char* sentencepiece_model = "tokenizer.model";
constexpr const char* vocabulary = "vocab.json";
constexpr const char* merges = "merges.txt";
constexpr const char* added_tokens = "added_tokens.json";

}  // namespace

std::vector<std::filesystem::path> tokenizer_files(const std::filesystem::path& directory) {
    for (const char* whole : {tokenizer_json, sentencepiece_model}) {
        if (std::filesystem::exists(directory / whole)) return {directory / whole};
    }
    std::vector<std::filesystem::path> files;
    for (const char* name : {vocabulary, merges, added_tokens}) {
        if (std::filesystem::exists(directory / name)) files.push_back(directory / name);
    }
    return files;
}

std::unique_ptr<Tokenizer> open_tokenizer(const std::filesystem::path& directory) {
    const auto files = tokenizer_files(directory);
    const auto has = [&](const char* name) {
        return std::find(files.begin(), files.end(), directory / name) != files.end();
    };
    if (has(tokenizer_json)) {
        return std::make_unique<Bpe>(
            parse_tokenizer_json(base::read_file(files.front()), files.front()));
    }
    if (has(sentencepiece_model)) return std::make_unique<SentencePiece>(files.front());
    if (files.empty()) return nullptr;
    // The tokens added to a vocabulary alone are no tokenizer: opening the others says so.
    return std::make_unique<ByteLevelBpe>(
        read_bpe_files(directory / vocabulary, directory / merges,
                       has(added_tokens) ? directory / added_tokens : std::filesystem::path()));
}

}  // namespace slip::importing

// MODEL-11: which files make a tokenizer.
#include "optimized/import/tokenizer.hpp"

#include <algorithm>
#include <initializer_list>

#include "optimized/base/files.hpp"
#include "optimized/import/byte_level_bpe.hpp"
#include "optimized/import/chat_template.hpp"
#include "optimized/import/gguf_model.hpp"
#include "optimized/import/sentencepiece.hpp"
#include "optimized/import/tokenizer_json.hpp"

namespace slip::importing {
namespace {

constexpr const char* tokenizer_json = "tokenizer.json";
constexpr const char* sentencepiece_model = "tokenizer.model";
constexpr const char* vocabulary = "vocab.json";
constexpr const char* merges = "merges.txt";
constexpr const char* added_tokens = "added_tokens.json";

constexpr const char* gguf_extension = ".gguf";

/// tokenizer.json, or nothing if the file has no tokenizer.
std::optional<std::string> tokenizer_in_gguf(const std::filesystem::path& path) {
    const base::MappedFile file(path);
    return gguf_tokenizer(parse_gguf(file.bytes(), path), path);
}

}  // namespace

std::vector<std::filesystem::path> tokenizer_files(const std::filesystem::path& folder) {
    for (const char* whole : {tokenizer_json, sentencepiece_model}) {
        if (std::filesystem::exists(folder / whole)) return {folder / whole};
    }
    std::vector<std::filesystem::path> files;
    for (const char* name : {vocabulary, merges, added_tokens}) {
        if (std::filesystem::exists(folder / name)) files.push_back(folder / name);
    }
    return files;
}

std::vector<TokenizerFile> read_tokenizer_files(const std::filesystem::path& model) {
    std::vector<TokenizerFile> files;
    if (model.extension() == gguf_extension) {
        const base::MappedFile file(model);
        const GgufHeader header = parse_gguf(file.bytes(), model);
        if (auto text = gguf_tokenizer(header, model)) files.push_back({tokenizer_json, *text});
        const std::string chat = gguf_chat_template(header);
        if (!chat.empty()) files.push_back({"chat_template.jinja", chat});
        return files;
    }
    for (const auto& paths : {tokenizer_files(model), chat_template_files(model)}) {
        for (const std::filesystem::path& file : paths) {
            files.push_back({file.filename().string(), base::read_file(file)});
        }
    }
    return files;
}

std::unique_ptr<Tokenizer> open_tokenizer(const std::filesystem::path& folder) {
    if (folder.extension() == gguf_extension) {
        const auto text = tokenizer_in_gguf(folder);
        if (!text) return nullptr;
        return std::make_unique<Bpe>(parse_tokenizer_json(*text, folder));
    }
    const auto files = tokenizer_files(folder);
    const auto has = [&](const char* name) {
        return std::find(files.begin(), files.end(), folder / name) != files.end();
    };
    if (has(tokenizer_json)) {
        return std::make_unique<Bpe>(
            parse_tokenizer_json(base::read_file(files.front()), files.front()));
    }
    if (has(sentencepiece_model)) return std::make_unique<SentencePiece>(files.front());
    if (files.empty()) return nullptr;
    // The tokens added to a vocabulary alone are no tokenizer: opening the others says so.
    return std::make_unique<ByteLevelBpe>(
        read_bpe_files(folder / vocabulary, folder / merges,
                       has(added_tokens) ? folder / added_tokens : std::filesystem::path()));
}

}  // namespace slip::importing

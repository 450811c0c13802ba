// MODEL-11: byte-level BPE.
#include "optimized/import/byte_level_bpe.hpp"

#include <utility>

namespace slip::importing {
namespace {

BpeParts parts_of(BpeFiles files) {
    BpeParts parts;
    parts.texts = std::move(files.texts);
    parts.merges = std::move(files.merges);
    parts.byte_tokens = std::move(files.byte_tokens);
    parts.pretokenizer = PreTokenizer();
    for (const auto& [id, text] : files.added) {
        if (static_cast<std::size_t>(id) == parts.texts.size()) parts.texts.push_back(text);
        parts.added.push_back({text, id});
    }
    return parts;
}

}  // namespace

ByteLevelBpe::ByteLevelBpe(BpeFiles files) : Bpe(parts_of(std::move(files))) {}

}  // namespace slip::importing

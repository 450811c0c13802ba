// Byte-level byte-pair encoding from vocab.json and merges.txt, the tokenizer of GPT-2 and Phi-2
// (MODEL-11).
#pragma once

#include "optimized/import/bpe.hpp"
#include "optimized/import/bpe_files.hpp"

namespace slip::importing {

/// Total on bytes: decode(encode(text)) == text.
class ByteLevelBpe : public Bpe {
public:
    /// What read_bpe_files() gives.
    explicit ByteLevelBpe(BpeFiles files);
};

}  // namespace slip::importing

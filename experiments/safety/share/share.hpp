// David's share of a split model, as a Hugging Face checkpoint that any program runs: the residuals
// W_D in floats, or what an attacker makes of a hidden half, and for what only Charlie has a stated
// choice.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "experiments/safety/share/hidden_half.hpp"
#include "optimized/artifact/artifact.hpp"
#include "optimized/import/checkpoint.hpp"

namespace slip::safety {

/// What David has beside his half. `embeddings_and_norms`: every parameter that is not in a split
/// matrix, and the row scales. `nothing`: those parameters are as a model begins its training, and
/// the rows of his matrices are scaled to the deviation of random weights.
enum class Known { embeddings_and_norms, nothing };
/// "embeddings-and-norms" or "nothing". Throws BadInput for another name.
Known known_named(const std::string& name);
const char* name_of(Known known);

/// The deviation of random weights, as experiments/training draws them.
inline constexpr double random_deviation = 0.02;

/// delta_i 2^t W_D[i][j] (DECO-3) for the rows of one member of a group, m x n, row-major, each
/// rounded to float32 once.
std::vector<float> dequantised(base::MatrixView<const std::int8_t> residual,
                               std::span<const float> row_scale);

/// One offloaded matrix of the share.
struct SharedMatrix {
    std::string tensor;  // of the checkpoint, with ".weight"
    std::size_t m = 0;
    std::size_t n = 0;
    std::size_t rank = 0;  // of Charlie's part; 0: David holds the matrix whole
};

/// What a share is made with. Of a hidden split David's share is A, lifted, with rows of the 2-norm
/// that the row scale and the width give the model's (HIDE-8), or, with `small_rows`, of random
/// weights' deviation. Nothing of it has a rank, so `rank` is the one of LoRA and of the core that
/// an attacker trains in every matrix.
struct ShareOptions {
    Known known = Known::embeddings_and_norms;
    std::uint64_t seed = 1;  // draws what is not known, and uniform rows
    Rows rows = Rows::davids;
    bool small_rows = false;
    std::size_t rank = 0;
};

/// How results name what was split: "hidden", or "uniform" where uniform rows are in the place of
/// David's, both with "-small" behind it where the rows are small; or the paper's strategy.
std::string strategy_of(const artifact::CharlieArtifact& charlie, const ShareOptions& options);

/// Writes config.json, model.safetensors (F32), the tokenizer's files and share.json (what the
/// share was made from) into the folder `out`, which has none of them. `model` is the checkpoint
/// that `artifact`, a folder of both halves, was split from; it gives names and shapes, and the
/// values that are known. Returns the offloaded matrices. Throws BadInput, naming the file, if one
/// does not belong to the other, and for a hidden split without a rank, or another one with uniform
/// or small rows.
std::vector<SharedMatrix> write_share(const std::filesystem::path& model,
                                      const std::filesystem::path& artifact,
                                      const std::filesystem::path& out,
                                      const ShareOptions& options);

}  // namespace slip::safety

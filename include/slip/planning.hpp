// Plans from measurements of a checkpoint, without training: spec/decomposition.md, DECO-12.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "slip/export.hpp"
#include "slip/plan.hpp"
#include "slip/types.hpp"

namespace SLIP_API slip {

/// A matrix of a block, measured.
struct MeasuredMatrix {
    std::size_t block = 0;   ///< counted from 0
    std::string layer_type;  ///< as a plan names it
    /// Charlie's multiplications per token, or image, for each unit of rank.
    std::uint64_t work_per_rank = 0;
    /// All min(m, n) of them, falling.
    std::vector<double> squared_singular_values;
};

/// What a checkpoint's plans are made from. "Per token" is per image for a convolutional network.
struct CheckpointMeasurements {
    std::vector<MeasuredMatrix> matrices;  ///< of the blocks, in the model's order
    std::uint64_t multiplications = 0;     ///< linear ones of the whole model, per token
    /// Charlie's online multiplications per token if every rank is 0: quantising, checks and
    /// scales.
    std::uint64_t charlie_at_rank_0 = 0;
    std::uint64_t tokens = 0;  ///< of the text that was measured
    double loss = 0;           ///< of the model on it, in nats per token
    /// By block: what the loss rises by without the block, in nats per token. Empty without a text;
    /// then every block counts the same.
    std::vector<double> bypass_losses;
};

/// How far measuring is.
struct MeasureProgress {
    std::string what;         ///< "matrices", then "tokens"
    std::uint64_t done = 0;   ///< of them
    std::uint64_t total = 0;  ///< of them
};

/// What is measured beside the singular values, and how.
struct MeasureOptions {
    /// A text, without BOS. It is read once, and once more without each block, in windows as long
    /// as the model's context. With it the whole model is in memory, in float32.
    std::vector<TokenId> text = {};
    std::size_t threads = 0;  ///< 0: all of the machine's; they change no bit of the result
    /// Called by one thread at a time. What it throws ends the measuring and reaches the caller.
    std::function<void(const MeasureProgress&)> progress = {};
};

/// Measures the checkpoint `model`, a Hugging Face folder, a GGUF file or an ONNX file. Throws
/// BadInput, naming the file and the tensor, for a checkpoint that cannot be split; naming the id,
/// for a token outside the vocabulary; and for a text with a convolutional network, or with a
/// language model that has neither BOS nor EOS.
[[nodiscard]] CheckpointMeasurements measure_checkpoint(const std::filesystem::path& model,
                                                        const MeasureOptions& options);

/// The plan with the least leakage for its work that leaves David at least the share `offload`, 0
/// to 1, of the model's linear multiplications. Layers of rank 0 are not in it. These functions
/// throw BadInput for a target outside its range, if the plan would keep nothing, and if no block
/// has a bypass loss above 0.
[[nodiscard]] Plan plan_for_offload(const CheckpointMeasurements& measurements, double offload);
/// The plan with the least work whose leakage is at most `leakage`, 0 to 1. Throws BadInput also if
/// no plan has so little, naming the least.
[[nodiscard]] Plan plan_for_leakage(const CheckpointMeasurements& measurements, double leakage);
/// The plan with the least leakage for its work, which is at most that of the uniform plan.
[[nodiscard]] Plan plan_for_uniform_work(const CheckpointMeasurements& measurements,
                                         std::size_t rank);

/// Rank `rank` for every measured matrix, or its largest.
[[nodiscard]] Plan uniform_plan(const CheckpointMeasurements& measurements, std::size_t rank);
/// The least rank whose uniform plan has at least this work, or the largest that changes anything.
[[nodiscard]] std::size_t uniform_rank(const CheckpointMeasurements& measurements,
                                       std::uint64_t work);

/// What a plan costs and leaks, by DECO-12.
struct PlanFigures {
    std::uint64_t work = 0;     ///< sum of rank times work_per_rank
    double offload = 0;         ///< 1 - work / multiplications
    double leakage = 0;         ///< 0 to 1; 1: David has every matrix of the blocks whole
    std::uint64_t charlie = 0;  ///< his online multiplications per token
    std::size_t whole = 0;      ///< matrices of the blocks that David holds whole
};

/// Throws BadInput for a triplet that names no measured matrix, or one twice. A rank of min(m, n)
/// or more is cut as `slip split` cuts it.
[[nodiscard]] PlanFigures figures_of(const CheckpointMeasurements& measurements, const Plan& plan);

}  // namespace slip

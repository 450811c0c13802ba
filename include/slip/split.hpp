// Splitting a checkpoint into Charlie's half and David's: spec/decomposition.md, spec/model.md.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "slip/export.hpp"
#include "slip/plan.hpp"
#include "slip/types.hpp"

namespace SLIP_API slip {

/// Rank `rank` for every linear layer of every block of the checkpoint `model`, or of its first and
/// last `first_and_last` blocks. Throws BadInput if the checkpoint cannot be read.
[[nodiscard]] Plan uniform_plan(const std::filesystem::path& model, std::size_t rank,
                                std::optional<std::size_t> first_and_last = std::nullopt);

/// How far a split is.
struct SplitProgress {
    std::size_t finished = 0;          ///< matrices, those of earlier runs included
    std::size_t matrices = 0;          ///< of the whole model
    std::size_t skipped = 0;           ///< matrices that an earlier, killed run had finished
    std::size_t finished_weights = 0;  ///< entries of the finished matrices
    std::size_t weights = 0;           ///< entries of all matrices
    std::string name;                  ///< of the matrix that was just finished
};

/// One of several processes that split a checkpoint together.
struct SplitPart {
    std::size_t number = 1;  ///< from 1 on
    std::size_t count = 1;   ///< of all parts
};

/// What is split, how, and where to.
struct SplitOptions {
    /// What Charlie keeps, in the paper's split: David holds every other matrix whole. BadInput if
    /// it is empty for a set of the paper's split.
    Plan plan;
    std::filesystem::path out;  ///< the folder to make
    /// Called at the start and after every matrix. What it throws ends the split, of which nothing
    /// stays, and reaches the caller.
    std::function<void(const SplitProgress&)> progress = {};
    Strategy strategy = Strategy::lsc;  ///< how Charlie's part of a matrix is chosen
    /// For the strategies that choose at random; drawn afresh if absent (DECO-10).
    std::optional<SelectionSeed> seed = std::nullopt;
    std::size_t threads = 0;  ///< 0: all of the machine's; they change no bit of the artifact
    Attention attention = Attention::fused;  ///< of a language model
    /// Also split matrices whose weights lie on a coarse grid, and are determined by David's half
    /// (DECO-13).
    bool accept_grid = false;
    /// The set of parameters: how matrices are split, the modulus, its masks and its check
    /// (PARAM-1). Empty: "paper-lattice", for the paper's split, if there is a plan; "hidden"
    /// otherwise, which is BadInput for a convolutional network, and beside what only the paper's
    /// split has: a plan, another strategy than lsc, a seed, accept_grid.
    std::string set = {};
    /// The folder to make for the owner's own copy of the integer model of a hidden split, which
    /// open_unsplit() runs (HIDE-8); none if empty.
    std::filesystem::path audit = {};
    /// The file of a key of 32 random bytes that nobody else may use: Charlie's hints, and the keys
    /// of the hidden split, are encrypted with it on the disk, and CharlieOptions::seal takes it
    /// (MODEL-20). Nothing is sealed if empty. BadInput for a set without hints.
    std::filesystem::path seal = {};
    /// Davids among whom his half is divided, whole blocks each (MODEL-22): OUT/david-0,
    /// OUT/david-1, ... in the place of OUT/david. BadInput for more than there are blocks.
    std::size_t shards = 1;
    /// Splits only a share of the matrices, about 1/count of the weights, into what a killed split
    /// leaves. Parts run in any order, also at the same time, on machines that share a file system;
    /// then the same split without `part` checks what they have finished, makes what is missing and
    /// puts OUT in place (DECO-11).
    std::optional<SplitPart> part = std::nullopt;
};

/// Splits the checkpoint `model`, a Hugging Face folder, a GGUF file or an ONNX file, into
/// OUT/charlie, which is Charlie's alone, and OUT/david, which David may have, or a folder per
/// shard; OUT is options.out and must not exist. Goes on where a killed split with the same options
/// was (DECO-11). Returns notes for the user (cut ranks, tied heads). Throws BadInput, also for a
/// grid that was not accepted; nothing stays then. By the paper's split, split a model once in its
/// life: two artifacts of one checkpoint give away their difference.
std::vector<std::string> split_checkpoint(const std::filesystem::path& model,
                                          const SplitOptions& options);

}  // namespace slip

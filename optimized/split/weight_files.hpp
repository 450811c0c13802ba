// The files of tensors of a split under way: a group is written, and found again (DECO-11).
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <vector>

#include "optimized/artifact/seal.hpp"
#include "optimized/artifact/sha256.hpp"
#include "optimized/base/secret_buffer.hpp"
#include "optimized/split/decomposition.hpp"
#include "optimized/split/file_tensors.hpp"
#include "optimized/split/hidden_matrix.hpp"
#include "slip/types.hpp"

namespace slip::splitting {

/// A group of the paper's split as the files hold it.
struct EncodedGroup {
    std::int32_t activation_norm = 0;
    std::vector<IntegerMatrix> members;
    base::SecretBuffer<std::uint8_t> companion;           // w W_D (INTEG-2): kappa x planes x n
    base::SecretBuffer<std::uint64_t> product_companion;  // z W_D (MASK-10): n, or none
};

/// What a split draws at random, once.
struct Seeds {
    SelectionSeed check{};      // INTEG-1, MASK-10
    SelectionSeed masks{};      // of T (MASK-7) and U (HIDE-3); zeros without lattice masks
    SelectionSeed selection{};  // DECO-10; zeros if the strategy draws nothing
    SelectionSeed hiding{};     // HIDE-3: the owner's secret; zeros where nothing is hidden
};

class WeightFiles {
public:
    /// Makes the files in `out`, or goes on with those that are there, and writes what is no
    /// group's. `shards` has the number of groups of each (MODEL-22). `seal` is the key that hints
    /// are sealed with (MODEL-20), or null. What is referred to outlives the object.
    WeightFiles(const importing::Checkpoint& checkpoint,
                const std::vector<base::GroupShape>& groups, const std::vector<std::size_t>& shards,
                const Ranks& ranks, const base::parameters::ParameterSet& set, const Seeds& seeds,
                std::size_t threads, const std::filesystem::path& out,
                const artifact::SealKey* seal = nullptr);

    /// These two return the digest of the group's bytes, which are on the disk then.
    artifact::Sha256 write(std::size_t g, const EncodedGroup& encoded);
    /// Hides the matrix and writes it, some rows at a time.
    artifact::Sha256 write(std::size_t g, const HiddenModel& model);

    /// The digest of what the files hold of a group that an earlier run has written.
    artifact::Sha256 digest_of(std::size_t g, std::int32_t activation_norm);

private:
    class Written;
    class Found;
    class HintRows;

    template <class Use>
    void for_each_hint_piece(const IntegerMatrix& member, const Use& use);
    const PublicOfWidth& common_of(std::size_t width);
    struct DavidsTensor;
    DavidsTensor davids_tensor(std::size_t g);
    void flush();
    void find_hidden(std::size_t g, Found& found);
    void find_end_of_hint(std::size_t g, Found& found) const;

    const base::parameters::ParameterSet& set_;
    const std::vector<base::GroupShape>& groups_;
    const Ranks& ranks_;
    const Seeds seeds_;
    const std::size_t threads_;
    const artifact::SealKey* const seal_;
    std::optional<PublicColumns> columns_;  // of the last width
    std::optional<PublicOfWidth> common_;   // of the last width
    std::vector<importing::Tensor> parameters_;
    importing::SafetensorsAssembly charlie_;
    importing::SafetensorsAssembly check_;
    std::vector<std::size_t> ends_;  // of each shard: the group behind its last one
    std::deque<importing::SafetensorsAssembly> davids_;    // one per shard
    std::optional<importing::SafetensorsAssembly> masks_;  // of a set with lattice masks
};

}  // namespace slip::splitting

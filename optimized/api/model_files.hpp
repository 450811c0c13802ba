// What a model is opened from: a checkpoint, or the halves of a split.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "optimized/artifact/artifact.hpp"
#include "optimized/graph/cnn.hpp"
#include "optimized/graph/transformer.hpp"
#include "optimized/import/checkpoint.hpp"
#include "optimized/kernels/group_weights.hpp"
#include "optimized/masks/lattice_stock.hpp"
#include "optimized/protocol/integrity.hpp"
#include "optimized/protocol/shared_secrets.hpp"
#include "optimized/secrets/product_check.hpp"
#include "optimized/secrets/weight_secrets.hpp"

namespace slip::api {

/// The offloaded matrices of what a Checkpoint or a CharlieArtifact holds.
template <class Source>
std::vector<base::GroupShape> groups_in(const Source& source) {
    return source.network() ? graph::cnn_groups(*source.network())
                            : graph::groups_of(source.config());
}

/// Throws BadInput unless the artifact holds the groups that its config.json implies.
void require_groups_of_graph(const artifact::CharlieArtifact& charlie);

/// Finds the parameters in Charlie's half, which outlives it.
graph::ParameterLookup parameters_in(const artifact::CharlieArtifact& charlie);

/// The files of one model, as its graph needs them.
class ModelFiles {
public:
    virtual ~ModelFiles() = default;
    /// Null for a language model.
    virtual const base::CnnConfig* network() const = 0;
    /// A language model's.
    virtual const base::ModelConfig& config() const = 0;
    /// Which holds the tokenizer's files.
    virtual const std::filesystem::path& folder() const = 0;
    /// Finds the parameters that are not offloaded. The files outlive it.
    virtual graph::ParameterLookup parameters() const = 0;
    /// Finds rows of them, or is empty. As parameters().
    virtual graph::RowLookup rows() const { return {}; }
};

class CheckpointFiles : public ModelFiles {
public:
    /// Throws BadInput, naming the file.
    explicit CheckpointFiles(const std::filesystem::path& model) : checkpoint_(model) {}
    const base::CnnConfig* network() const override { return checkpoint_.network(); }
    const base::ModelConfig& config() const override { return checkpoint_.config(); }
    const std::filesystem::path& folder() const override { return checkpoint_.folder(); }
    graph::ParameterLookup parameters() const override;
    const importing::Checkpoint& checkpoint() const { return checkpoint_; }

private:
    importing::Checkpoint checkpoint_;
};

class SplitFiles : public ModelFiles {
public:
    /// Reads Charlie's half. Throws BadInput, naming the file, unless it is of the model that its
    /// config.json describes. `seal` as CharlieArtifact takes it.
    explicit SplitFiles(const std::filesystem::path& artifact,
                        const std::filesystem::path& seal = {});
    const base::CnnConfig* network() const override { return charlie_.network(); }
    const base::ModelConfig& config() const override { return charlie_.config(); }
    const std::filesystem::path& folder() const override { return charlie_.folder(); }
    graph::ParameterLookup parameters() const override;
    graph::RowLookup rows() const override;
    const artifact::CharlieArtifact& charlie() const { return charlie_; }
    /// David's half, which is read by the first call, from any thread. Throws BadInput, naming the
    /// file, unless both are halves of one split.
    const artifact::DavidArtifact& david() const;
    /// HIDE-8: the integer model of a hidden split, read by the first call. Throws BadInput, naming
    /// the file, unless it is of this split.
    const artifact::AuditArtifact& audit(const std::filesystem::path& folder) const;
    bool hides_weights() const { return charlie_.set().hides_weights; }
    /// Whether any group has lattice masks, or uniform ones (PARAM-1); of convolutional networks
    /// both may hold.
    bool has_lattice_masks() const;
    bool has_uniform_masks() const;
    /// What uniform masks take: David's weights, or nothing where no group has them (PARAM-1).
    kernels::OffloadedWeights weights_of_uniform_masks() const;
    /// The check of all sessions of the process with this model (INTEG-10). Made by the first call,
    /// from any thread.
    const protocol::IntegrityCheck& integrity_check() const;
    /// Likewise (MASK-9); null pointers where all masks are uniform. `mask_memory` and
    /// `trace`, which may be null, are those of the first call. Throws BadInput for too little
    /// memory.
    protocol::SharedSecrets shared_secrets(std::size_t mask_memory,
                                           const std::shared_ptr<Trace>& trace) const;

private:
    void hide_with(const std::vector<masks::LatticeGroup>& groups) const;

    artifact::CharlieArtifact charlie_;
    std::vector<std::filesystem::path> davids_half_;  // a folder per shard
    mutable std::once_flag david_read_;
    mutable std::optional<artifact::DavidArtifact> david_;
    mutable std::once_flag audit_read_;
    mutable std::optional<artifact::AuditArtifact> audit_;
    mutable std::once_flag check_made_;
    mutable std::optional<protocol::IntegrityCheck> check_;
    mutable std::mutex lattice_mutex_;
    mutable std::optional<secrets::ProductCheck> products_;
    mutable std::optional<secrets::WeightSecrets> secrets_;  // of the hidden split
    mutable std::optional<masks::LatticeStock> stock_;
};

}  // namespace slip::api

// What a model is opened from: a checkpoint, or both halves of a split.
#pragma once

#include <filesystem>
#include <vector>

#include "optimized/artifact/artifact.hpp"
#include "optimized/graph/cnn.hpp"
#include "optimized/graph/transformer.hpp"
#include "optimized/import/checkpoint.hpp"

namespace slip {

/// The offloaded matrices of what a Checkpoint or a CharlieArtifact holds.
template <class Source>
std::vector<GroupShape> groups_in(const Source& source) {
    return source.network() ? cnn_groups(*source.network()) : groups_of(source.config());
}

/// The files of one model, as its graph needs them.
class ModelFiles {
public:
    virtual ~ModelFiles() = default;
    /// Null for a language model.
    virtual const CnnConfig* network() const = 0;
    /// A language model's.
    virtual const ModelConfig& config() const = 0;
    /// Which holds the tokenizer's files.
    virtual const std::filesystem::path& directory() const = 0;
    /// Finds the parameters that are not offloaded. The files outlive it.
    virtual ParameterLookup parameters() const = 0;
};

class CheckpointFiles : public ModelFiles {
public:
    /// Throws BadInput, naming the file.
    explicit CheckpointFiles(const std::filesystem::path& model) : checkpoint_(model) {}
    const CnnConfig* network() const override { return checkpoint_.network(); }
    const ModelConfig& config() const override { return checkpoint_.config(); }
    const std::filesystem::path& directory() const override { return checkpoint_.directory(); }
    ParameterLookup parameters() const override;
    const Checkpoint& checkpoint() const { return checkpoint_; }

private:
    Checkpoint checkpoint_;
};

class SplitFiles : public ModelFiles {
public:
    /// Throws BadInput, naming the file, unless `artifact` holds both halves of one split of the
    /// model that its config.json describes.
    explicit SplitFiles(const std::filesystem::path& artifact);
    const CnnConfig* network() const override { return charlie_.network(); }
    const ModelConfig& config() const override { return charlie_.config(); }
    const std::filesystem::path& directory() const override { return charlie_.directory(); }
    ParameterLookup parameters() const override;
    const CharlieArtifact& charlie() const { return charlie_; }
    const DavidArtifact& david() const { return david_; }

private:
    CharlieArtifact charlie_;
    DavidArtifact david_;
};

}  // namespace slip

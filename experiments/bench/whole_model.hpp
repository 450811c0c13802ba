// A model, unprotected and split, loaded once for all measurements.
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "experiments/bench/int8_engine.hpp"
#include "experiments/bench/medians.hpp"
#include "experiments/bench/serving/davids.hpp"
#include "optimized/artifact/artifact.hpp"
#include "optimized/engines/hybrid_engine.hpp"
#include "optimized/graph/transformer.hpp"
#include "optimized/import/checkpoint.hpp"
#include "optimized/masks/lattice_stock.hpp"
#include "optimized/protocol/david.hpp"
#include "optimized/secrets/product_check.hpp"
#include "optimized/secrets/weight_secrets.hpp"

namespace slip::bench {

/// At which Charlie's processor time is measured.
inline constexpr std::array<std::size_t, 2> measured_columns = {1, 16};

struct WholeModelOptions {
    std::filesystem::path artifact;  // what `slip split` wrote
    std::filesystem::path model;     // the checkpoint it was made from
    std::size_t prompt = 8;          // tokens, in one batch before the decoded ones
    std::size_t tokens = 64;         // decoded in each repetition
    std::size_t repetitions = 7;
};

/// Charlie's half, David's half and David, and the unprotected engine. Binds the calling thread to
/// a processor; David, in a process of his own, has another one. Requires: this process has one
/// thread when the object is made.
struct WholeModel {
    explicit WholeModel(const WholeModelOptions& options);
    WholeModel(const WholeModel&) = delete;
    WholeModel& operator=(const WholeModel&) = delete;

    const WholeModelOptions options;
    const std::size_t processor;          // of this thread
    const std::size_t another_processor;  // of David
    const artifact::CharlieArtifact charlie;
    const artifact::DavidArtifact david;
    const protocol::DavidModel offloaded;
    const protocol::IntegrityCheck check;
    const std::optional<secrets::ProductCheck> product_check;  // of a set with lattice masks
    const std::optional<secrets::WeightSecrets> secrets;       // of the hidden split
    /// Of such a set: nothing is made but what a session waits for.
    const std::unique_ptr<masks::LatticeStock> stock;
    const std::unique_ptr<ForkedServer> server;  // David
    /// Messages of 1 and of 16 columns, and Davids who answer them without arithmetic.
    const std::array<std::vector<MessageBytes>, 2> messages;
    const std::array<std::unique_ptr<ForkedServer>, 2> byte_servers;
    const importing::Checkpoint checkpoint;
    const std::unique_ptr<graph::Transformer> transformer;
    Int8Engine unprotected;
};

/// The protocol over `transport`, with `masks` masks per group: with_masks().
engines::HybridEngine protected_by(const WholeModel& whole, Transport& transport,
                                   std::size_t masks);

/// Options of a session that makes `count` masks per group at a time: the background thread works
/// only when the masks of a group are used up, so between the repetitions and not beside them.
/// Lattice masks come from the model's stock.
protocol::SessionOptions with_masks(const WholeModel& whole, std::size_t count);

/// A stock with hints of `whole`, which outlives it.
std::unique_ptr<masks::LatticeStock> stock_of(const artifact::CharlieArtifact& charlie,
                                              const masks::LatticeOptions& options);

/// h (1 + ell/M), the groups weighted by what they multiply: David's multiplications over the
/// model's.
double davids_factor(const WholeModel& whole);

/// Sequences that take steps through a model together.
class Sequences {
public:
    Sequences(const WholeModel& whole, std::size_t count);
    /// One step with `tokens` tokens of each sequence. The ids are the same every time, since the
    /// work does not depend on them.
    void forward(base::Engine& engine, std::size_t tokens = 1);
    /// Fills `tokens` positions of every cache, as if that many tokens had gone before.
    void write_context(std::size_t tokens);

private:
    const graph::Transformer& graph_;
    std::vector<graph::KvCache> caches_;
    std::size_t length_ = 0;
    graph::Workspace workspace_;
    std::vector<TokenId> ids_;
    std::vector<float> logits_;
};

/// The median of a_i / b_i.
double median_ratio(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace slip::bench

#include "optimized/api/exposure.hpp"

#include <algorithm>
#include <cmath>

#include "optimized/api/grid_shares.hpp"
#include "optimized/artifact/artifact.hpp"
#include "optimized/artifact/integer_model.hpp"
#include "optimized/artifact/strategy.hpp"
#include "optimized/base/parallel.hpp"
#include "optimized/engines/hybrid_engine.hpp"
#include "optimized/graph/batch.hpp"
#include "optimized/graph/kv_cache.hpp"
#include "optimized/graph/transformer.hpp"
#include "optimized/split/coarse_grid.hpp"

namespace slip::api {
namespace {

using artifact::CharlieArtifact;

double margin_bits(std::int32_t activation_norm, std::uint64_t norm, std::size_t planes) {
    const double bound = static_cast<double>(activation_norm) *
                         static_cast<double>(std::max<std::uint64_t>(norm, 1));
    return std::log2(static_cast<double>(artifact::largest_product(planes)) / bound);
}

MatrixExposure exposure_of(const artifact::CharlieGroup& group,
                           const artifact::CharlieMember& member, const CharlieArtifact& charlie,
                           base::MatrixView<const std::int8_t> residual) {
    const std::uint64_t m = member.shape.m;
    const std::uint64_t n = group.n;
    const std::uint64_t k = member.rank;
    const auto low_rank = static_cast<double>(k * (m + n));
    MatrixExposure layer;
    layer.shape = member.shape;
    layer.n = group.n;
    layer.convolution = group.convolution;
    layer.rank = member.rank;
    layer.activation_norm = group.activation_norm;
    layer.margin_bits =
        margin_bits(group.activation_norm, artifact::largest_norm(residual), charlie.set().planes);
    layer.unknowns_left = artifact::unknowns_left(charlie.strategy(), k, m, n);
    layer.charlie_share = low_rank / (low_rank + static_cast<double>(m * n));
    return layer;
}

/// THREAT-4: a matrix that is hidden in one block and whole in the next.
void find_whole_neighbours(std::vector<MatrixExposure>& layers) {
    const auto is_whole = [&](const std::string& layer_type, std::size_t block) {
        bool found = false;
        for (const MatrixExposure& layer : layers) {
            if (layer.shape.block != block || layer.shape.layer_type != layer_type) continue;
            if (layer.rank > 0) return false;
            found = true;
        }
        return found;
    };
    for (MatrixExposure& layer : layers) {
        if (layer.rank == 0 || !layer.shape.block) continue;
        const std::size_t block = *layer.shape.block;
        if (block > 0 && is_whole(layer.shape.layer_type, block - 1)) {
            layer.whole_neighbours.push_back(block - 1);
        }
        if (is_whole(layer.shape.layer_type, block + 1)) {
            layer.whole_neighbours.push_back(block + 1);
        }
    }
}

/// A warning that begins with how many of the matrices it concerns; nothing if there are none.
void warn_of(std::size_t count, std::size_t all, const char* what,
             std::vector<std::string>& warnings) {
    if (count == 0) return;
    warnings.push_back(std::to_string(count) + " of " + std::to_string(all) + " matrices " + what);
}

std::vector<std::string> warnings_on(const CharlieArtifact& charlie,
                                     const std::vector<MatrixExposure>& layers) {
    std::vector<std::string> warnings;
    const auto warn_if = [&](const auto& holds, const char* what) {
        const auto count = std::count_if(layers.begin(), layers.end(), holds);
        warn_of(static_cast<std::size_t>(count), layers.size(), what, warnings);
    };
    warn_if([](const MatrixExposure& layer) { return layer.rank == 0; },
            "have rank 0: David holds them whole, rounded to int8");
    warn_if([](const MatrixExposure& layer) { return !layer.whole_neighbours.empty(); },
            "are split, but David holds the matrix of the same type in a neighbouring block whole");
    if (artifact::exposes_span(charlie.strategy())) {
        warn_if([](const MatrixExposure& layer) { return layer.rank > 0 && layer.coarse_grid; },
                "lie on a coarse grid: David's half determines most of what is hidden (DECO-13)");
    }
    if (!charlie.network() && charlie.config().tie_word_embeddings) {
        warnings.push_back(
            "the head is tied to the embedding: David's part of lm_head is David's part of the "
            "embedding");
    }
    if (!charlie.network()) {
        warnings.push_back(
            "whoever holds David's half and sees full logits or log-probabilities finds the last "
            "hidden states and the column space of lm_head, even if it is split: show users text");
    }
    warnings.push_back(artifact::leak_of(charlie.strategy()));
    return warnings;
}

void describe_model(const CharlieArtifact& charlie, SplitExposure& exposure) {
    if (charlie.network()) return;
    exposure.attention = charlie.config().attention;
    exposure.positions = charlie.config().max_position_embeddings;
    exposure.kv_cache_bytes = graph::KvCache::bytes_for(charlie.config(), exposure.positions);
    exposure.workspace_threads = base::available_threads();
    exposure.workspace_bytes = graph::Workspace::bytes_for(
        charlie.config(),
        std::min(exposure.positions, graph::Transformer::tokens_of_a_prompt_at_once),
        exposure.workspace_threads);
}

/// `grids`: grid_shares() of the checkpoint; empty if there is none.
std::vector<MatrixExposure> matrices_of(const SplitFiles& files, const std::vector<double>& grids) {
    const CharlieArtifact& charlie = files.charlie();
    const auto stacked = files.david().weights();
    std::vector<MatrixExposure> matrices;
    for (std::size_t g = 0; g < charlie.groups().size(); ++g) {
        const artifact::CharlieGroup& group = charlie.groups()[g];
        std::size_t row = 0;
        for (const artifact::CharlieMember& member : group.members) {
            MatrixExposure layer =
                exposure_of(group, member, charlie, stacked[g].rows_from(row, member.shape.m));
            layer.head = !charlie.network() && member.shape.layer_type == "lm_head";
            layer.tied = layer.head && charlie.config().tie_word_embeddings;
            if (!grids.empty()) {
                layer.grid_share = grids[matrices.size()];
                layer.coarse_grid = *layer.grid_share < splitting::least_distinct_share;
            }
            matrices.push_back(std::move(layer));
            row += member.shape.m;
        }
    }
    find_whole_neighbours(matrices);
    return matrices;
}

OnlineCosts costs_of(const CharlieArtifact& charlie) {
    const std::vector<base::GroupShape> shapes = groups_in(charlie);
    OnlineCosts costs;
    for (std::size_t g = 0; g < charlie.groups().size(); ++g) {
        const artifact::CharlieGroup& group = charlie.groups()[g];
        const std::uint64_t columns = shapes[g].columns_per_token;
        costs.add({.charlie_multiplications =
                       columns * engines::charlie_multiplications_per_column(group, charlie.set()),
                   .david_multiplications = columns * group.product().multiplications()});
    }
    return costs;
}

}  // namespace

SplitExposure exposure_of(const SplitFiles& files, const std::filesystem::path& checkpoint) {
    const CharlieArtifact& charlie = files.charlie();
    std::vector<double> grids;
    if (!checkpoint.empty()) grids = grid_shares(checkpoint, charlie, files.david().weights());
    SplitExposure exposure;
    exposure.set = charlie.set().name;
    exposure.strategy = charlie.strategy();
    describe_model(charlie, exposure);
    exposure.matrices = matrices_of(files, grids);
    exposure.costs = costs_of(charlie);
    exposure.warnings = warnings_on(charlie, exposure.matrices);
    return exposure;
}

}  // namespace slip::api

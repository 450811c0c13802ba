#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "optimized/api/model_files.hpp"
#include "optimized/artifact/artifact.hpp"
#include "optimized/artifact/integer_model.hpp"
#include "optimized/artifact/strategy.hpp"
#include "optimized/base/error.hpp"
#include "optimized/base/parallel.hpp"
#include "optimized/engines/hybrid_engine.hpp"
#include "optimized/graph/batch.hpp"
#include "optimized/graph/kv_cache.hpp"
#include "optimized/graph/transformer.hpp"
#include "optimized/split/coarse_grid.hpp"
#include "programs/slip/command.hpp"
#include "programs/slip/grid_shares.hpp"
#include "programs/slip/inspect_hidden.hpp"
#include "programs/slip/options.hpp"
#include "slip/run_statistics.hpp"

namespace slip::tool {
namespace {

using artifact::CharlieArtifact;

/// What one offloaded matrix exposes and costs.
struct LayerReport {
    const base::MemberShape* shape = nullptr;
    std::size_t n = 0;
    std::optional<base::Convolution> convolution;
    std::size_t rank = 0;
    std::int32_t activation_norm = 0;
    double margin_bits = 0;
    std::uint64_t unknowns_left = 0;
    double charlie_share = 0;
    bool head = false;  // of a language model
    bool tied = false;  // to the embedding
    /// The blocks beside that of a split matrix whose matrix of this type David holds whole.
    std::vector<std::size_t> whole_neighbours;
    std::optional<double> grid_share;  // with a checkpoint
};

struct ArtifactReport {
    std::string_view set;
    std::optional<Attention> attention;  // a language model's
    Strategy strategy = Strategy::lsc;
    std::vector<LayerReport> layers;
    OnlineCosts costs;          // per token or image, checks and scales included: multiplications
    std::size_t positions = 0;  // a language model's longest sequence, and its KV cache
    std::size_t kv_cache_bytes = 0;
    std::size_t workspace_bytes = 0;  // for its activations, at most, with workspace_threads
    std::size_t workspace_threads = 0;
    std::vector<std::string> warnings;
};

/// log2 of how often the largest product of ENC-4 fits between 0 and (L - 1) / 2.
double margin_bits(std::int32_t activation_norm, std::uint64_t norm, std::size_t planes) {
    const double bound = static_cast<double>(activation_norm) *
                         static_cast<double>(std::max<std::uint64_t>(norm, 1));
    return std::log2(static_cast<double>(artifact::largest_product(planes)) / bound);
}

LayerReport report_on(const artifact::CharlieGroup& group, const artifact::CharlieMember& member,
                      const CharlieArtifact& charlie,
                      base::MatrixView<const std::int8_t> residual) {
    const std::uint64_t m = member.shape.m;
    const std::uint64_t n = group.n;
    const std::uint64_t k = member.rank;
    const auto low_rank = static_cast<double>(k * (m + n));
    LayerReport layer;
    layer.shape = &member.shape;
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
void find_whole_neighbours(std::vector<LayerReport>& layers) {
    const auto is_whole = [&](const std::string& layer_type, std::size_t block) {
        bool found = false;
        for (const LayerReport& layer : layers) {
            if (layer.shape->block != block || layer.shape->layer_type != layer_type) continue;
            if (layer.rank > 0) return false;
            found = true;
        }
        return found;
    };
    for (LayerReport& layer : layers) {
        if (layer.rank == 0 || !layer.shape->block) continue;
        const std::size_t block = *layer.shape->block;
        if (block > 0 && is_whole(layer.shape->layer_type, block - 1)) {
            layer.whole_neighbours.push_back(block - 1);
        }
        if (is_whole(layer.shape->layer_type, block + 1)) {
            layer.whole_neighbours.push_back(block + 1);
        }
    }
}

bool lies_on_coarse_grid(const LayerReport& layer) {
    return layer.grid_share && *layer.grid_share < splitting::least_distinct_share;
}

/// A warning that begins with how many of the matrices it concerns; nothing if there are none.
void warn_of(std::size_t count, std::size_t all, const char* what,
             std::vector<std::string>& warnings) {
    if (count == 0) return;
    warnings.push_back(std::to_string(count) + " of " + std::to_string(all) + " matrices " + what);
}

std::vector<std::string> warnings_on(const CharlieArtifact& charlie,
                                     const std::vector<LayerReport>& layers) {
    std::vector<std::string> warnings;
    const auto warn_if = [&](const auto& holds, const char* what) {
        const auto count = std::count_if(layers.begin(), layers.end(), holds);
        warn_of(static_cast<std::size_t>(count), layers.size(), what, warnings);
    };
    warn_if([](const LayerReport& layer) { return layer.rank == 0; },
            "have rank 0: David holds them whole, rounded to int8");
    warn_if([](const LayerReport& layer) { return !layer.whole_neighbours.empty(); },
            "are split, but David holds the matrix of the same type in a neighbouring block whole");
    if (artifact::exposes_span(charlie.strategy())) {
        warn_if(
            [](const LayerReport& layer) { return layer.rank > 0 && lies_on_coarse_grid(layer); },
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

/// `grids`: grid_shares() of the checkpoint; empty if there is none.
ArtifactReport report_on(const CharlieArtifact& charlie, const artifact::DavidArtifact& david,
                         const std::vector<double>& grids) {
    ArtifactReport report;
    report.set = charlie.set().name;
    report.strategy = charlie.strategy();
    if (!charlie.network()) {
        report.attention = charlie.config().attention;
        report.positions = charlie.config().max_position_embeddings;
        report.kv_cache_bytes = graph::KvCache::bytes_for(charlie.config(), report.positions);
        report.workspace_threads = base::available_threads();
        report.workspace_bytes = graph::Workspace::bytes_for(
            charlie.config(),
            std::min(report.positions, graph::Transformer::tokens_of_a_prompt_at_once),
            report.workspace_threads);
    }
    const auto stacked = david.weights();
    const std::vector<base::GroupShape> shapes = api::groups_in(charlie);
    if (shapes.size() != charlie.groups().size()) {
        throw BadInput("the artifact's matrices are not those of its config.json");
    }
    for (std::size_t g = 0; g < charlie.groups().size(); ++g) {
        const artifact::CharlieGroup& group = charlie.groups()[g];
        std::size_t row = 0;
        for (const artifact::CharlieMember& member : group.members) {
            LayerReport layer =
                report_on(group, member, charlie, stacked[g].rows_from(row, member.shape.m));
            layer.head = !charlie.network() && member.shape.layer_type == "lm_head";
            layer.tied = layer.head && charlie.config().tie_word_embeddings;
            if (!grids.empty()) layer.grid_share = grids[report.layers.size()];
            report.layers.push_back(std::move(layer));
            row += member.shape.m;
        }
        const std::uint64_t columns = shapes[g].columns_per_token;
        report.costs.add(
            {.charlie_multiplications =
                 columns * engines::charlie_multiplications_per_column(group, charlie.set()),
             .david_multiplications = columns * group.product().multiplications()});
    }
    find_whole_neighbours(report.layers);
    report.warnings = warnings_on(charlie, report.layers);
    return report;
}

nlohmann::ordered_json sizes_of(const base::Convolution& shape) {
    return {{"image", {shape.H, shape.W, shape.C}},
            {"kernel", {shape.kH, shape.kW}},
            {"stride", shape.stride},
            {"padding", shape.padding},
            {"positions", shape.positions()}};
}

void print_json(const ArtifactReport& report) {
    nlohmann::ordered_json layers = nlohmann::ordered_json::array();
    for (const LayerReport& layer : report.layers) {
        nlohmann::ordered_json block = nullptr;
        if (layer.shape->block) block = *layer.shape->block;
        nlohmann::ordered_json convolution = nullptr;
        if (layer.convolution) convolution = sizes_of(*layer.convolution);
        nlohmann::ordered_json grid_share = nullptr;
        if (layer.grid_share) grid_share = *layer.grid_share;
        layers.push_back(
            {{"tensor", layer.shape->tensor},
             {"block", block},
             {"layer_type", layer.shape->layer_type},
             {"m", layer.shape->m},
             {"n", layer.n},
             {"convolution", convolution},
             {"rank", layer.rank},
             {"activation_norm", layer.activation_norm},
             {"activation_norm_bits", std::bit_width(static_cast<unsigned>(layer.activation_norm))},
             {"modulus_margin_bits", layer.margin_bits},
             {"unknowns_left", layer.unknowns_left},
             {"charlie_share", layer.charlie_share},
             {"head", layer.head},
             {"tied", layer.tied},
             {"whole_neighbours", layer.whole_neighbours},
             {"grid_share", grid_share}});
    }
    nlohmann::ordered_json attention = nullptr;
    if (report.attention) attention = name_of(*report.attention);
    const nlohmann::ordered_json json{
        {"set", report.set},
        {"attention", attention},
        {"strategy", name_of(report.strategy)},
        {"layers", layers},
        {"charlie_multiplications_per_token", report.costs.charlie_multiplications},
        {"david_multiplications_per_token", report.costs.david_multiplications},
        {"charlie_share", report.costs.charlie_share()},
        {"max_positions", report.positions},
        {"kv_cache_bytes", report.kv_cache_bytes},
        {"workspace_bytes", report.workspace_bytes},
        {"workspace_threads", report.workspace_threads},
        {"warnings", report.warnings}};
    std::cout << json.dump() << '\n';
}

std::string grid_column(const LayerReport& layer) {
    if (!layer.grid_share) return "-";
    return std::to_string(std::lround(100 * *layer.grid_share)) + "%";
}

/// What else helps David with this matrix.
std::string remarks_on(const LayerReport& layer) {
    std::string remarks;
    const auto remark = [&](const std::string& text) {
        remarks += (remarks.empty() ? "  " : ", ") + text;
    };
    if (layer.head) remark(layer.rank > 0 ? "head, split" : "head, whole");
    if (layer.tied) remark("tied to the embedding");
    if (lies_on_coarse_grid(layer)) remark("coarse grid");
    for (const std::size_t block : layer.whole_neighbours) {
        remark("whole in block " + std::to_string(block));
    }
    return remarks;
}

void print_table(const ArtifactReport& report) {
    std::printf("%-36s %13s %5s %5s %7s %14s %8s %5s\n", "matrix", "m x n", "rank", "bits",
                "margin", "unknowns left", "Charlie", "grid");
    for (const LayerReport& layer : report.layers) {
        const std::string shape = std::to_string(layer.shape->m) + " x " + std::to_string(layer.n);
        std::printf("%-36s %13s %5zu %5d %7.2f %14llu %7.2f%% %5s%s\n", layer.shape->tensor.c_str(),
                    shape.c_str(), layer.rank,
                    static_cast<int>(std::bit_width(static_cast<unsigned>(layer.activation_norm))),
                    layer.margin_bits, static_cast<unsigned long long>(layer.unknowns_left),
                    100 * layer.charlie_share, grid_column(layer).c_str(),
                    remarks_on(layer).c_str());
    }
    std::printf(
        "\nbits: of the activations' norm. margin: bits of the modulus to spare (ENC-4).\n"
        "grid: neighbouring weights that differ (DECO-13); it takes the checkpoint, --model.\n"
        "set %s, strategy %s. Charlie: the kept part's share of a matrix's multiplications; with "
        "quantising, "
        "checks\n"
        "and scales, %.2f%% of all online multiplications are Charlie's.\n",
        std::string(report.set).c_str(), name_of(report.strategy),
        100 * report.costs.charlie_share());
    if (report.positions > 0) {
        std::printf(
            "KV cache of a sequence of %zu positions: %.1f MB; its activations, with %zu threads: "
            "at "
            "most %.1f MB.\n",
            report.positions, 1e-6 * static_cast<double>(report.kv_cache_bytes),
            report.workspace_threads, 1e-6 * static_cast<double>(report.workspace_bytes));
    }
    for (const std::string& warning : report.warnings)
        std::printf("warning: %s\n", warning.c_str());
}

}  // namespace

int inspect(const Arguments& arguments) {
    Options options(
        "inspect --artifact OUT [--model DIR] [--json]",
        "Shows what each matrix of an artifact exposes to the untrusted machine (David) and "
        "costs the trusted one (Charlie).");
    options.example("slip inspect --artifact split");
    options.add("artifact", "OUT", "what 'slip split' wrote, with both halves");
    options.add("model", "DIR", "the checkpoint that was split: tells whether it lies on a grid");
    options.add_switch("json", "print one JSON object instead of a table");
    if (!options.parse(arguments)) return 0;
    const std::filesystem::path artifact = options.required("artifact");
    const CharlieArtifact charlie(artifact);
    if (charlie.set().hides_weights) {
        options.forbid("model", "with a hidden split, which shows no grid");
        inspect_hidden(charlie, options.has("json"));
        return 0;
    }
    std::vector<std::filesystem::path> halves;
    for (const std::string& name : artifact::layout::david_folders(charlie.shards().size())) {
        halves.push_back(artifact / name);
    }
    const artifact::DavidArtifact david(halves);
    artifact::require_same_split(charlie, david);
    std::vector<double> grids;
    if (options.has("model")) {
        grids = grid_shares(options.required("model"), charlie, david.weights());
    }
    const ArtifactReport report = report_on(charlie, david, grids);
    if (options.has("json")) {
        print_json(report);
    } else {
        print_table(report);
    }
    return 0;
}

}  // namespace slip::tool

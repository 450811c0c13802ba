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
#include "optimized/engines/engines.hpp"
#include "optimized/graph/batch.hpp"
#include "optimized/graph/kv_cache.hpp"
#include "optimized/graph/transformer.hpp"
#include "programs/slip/command.hpp"
#include "programs/slip/options.hpp"

namespace slip::tool {
namespace {

using artifact::CharlieArtifact;

/// What one offloaded matrix exposes and costs.
struct LayerReport {
    const base::MemberShape* shape = nullptr;
    std::size_t n = 0;
    std::optional<base::Convolution> convolution;
    std::size_t rank = 0;
    std::int32_t qa_max = 0;
    double margin_bits = 0;
    std::uint64_t unknowns_left = 0;
    double charlie_share = 0;
};

struct ArtifactReport {
    Profile profile = Profile::p31;
    std::optional<Attention> attention;  // a language model's
    Strategy strategy = Strategy::lsc;
    std::vector<LayerReport> layers;
    std::uint64_t charlie_multiplications = 0;  // per token or image, checks and scales included
    std::uint64_t david_multiplications = 0;
    std::size_t positions = 0;  // a language model's longest sequence, and its KV cache
    std::size_t kv_cache_bytes = 0;
    std::size_t workspace_bytes = 0;  // for its activations, at most, with so many threads
    std::size_t workspace_threads = 0;
    std::vector<std::string> warnings;

    double charlie_share() const {
        const auto charlie = static_cast<double>(charlie_multiplications);
        return charlie / (charlie + static_cast<double>(david_multiplications));
    }
};

/// max_i sum_j |W_D[i][j]|.
std::uint64_t largest_norm(base::MatrixView<const std::int8_t> w) {
    std::uint64_t largest = 0;
    for (std::size_t i = 0; i < w.rows(); ++i) {
        std::uint64_t norm = 0;
        for (const std::int8_t value : w.row(i)) {
            norm += static_cast<std::uint64_t>(std::abs(int{value}));
        }
        largest = std::max(largest, norm);
    }
    return largest;
}

/// log2 of how often the largest product of ENC-4 fits between 0 and (L - 1) / 2.
double margin_bits(Profile profile, std::int32_t qa_max, std::uint64_t norm) {
    const double bound =
        static_cast<double>(qa_max) * static_cast<double>(std::max<std::uint64_t>(norm, 1));
    return std::log2(static_cast<double>(artifact::largest_product(profile)) / bound);
}

LayerReport report_on(Profile profile, const artifact::CharlieGroup& group,
                      const artifact::CharlieMember& member, Strategy strategy,
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
    layer.qa_max = group.qa_max;
    layer.margin_bits = margin_bits(profile, group.qa_max, largest_norm(residual));
    layer.unknowns_left = artifact::unknowns_left(strategy, k, m, n);
    layer.charlie_share = low_rank / (low_rank + static_cast<double>(m * n));
    return layer;
}

std::vector<std::string> warnings_on(const CharlieArtifact& charlie,
                                     const std::vector<LayerReport>& layers) {
    std::vector<std::string> warnings;
    const auto whole = std::count_if(layers.begin(), layers.end(),
                                     [](const LayerReport& layer) { return layer.rank == 0; });
    if (whole > 0) {
        warnings.push_back(std::to_string(whole) + " of " + std::to_string(layers.size()) +
                           " matrices have rank 0: David holds them whole, rounded to int8");
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

ArtifactReport report_on(const CharlieArtifact& charlie, const artifact::DavidArtifact& david) {
    ArtifactReport report;
    report.profile = charlie.profile();
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
            report.layers.push_back(report_on(charlie.profile(), group, member, charlie.strategy(),
                                              stacked[g].rows_from(row, member.shape.m)));
            row += member.shape.m;
        }
        const std::uint64_t columns = shapes[g].columns_per_token;
        report.charlie_multiplications +=
            columns * engines::charlie_multiplications_per_column(group, charlie.profile());
        report.david_multiplications += columns * group.product().multiplications();
    }
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
        layers.push_back({{"tensor", layer.shape->tensor},
                          {"block", block},
                          {"layer_type", layer.shape->layer_type},
                          {"m", layer.shape->m},
                          {"n", layer.n},
                          {"convolution", convolution},
                          {"rank", layer.rank},
                          {"qa_max", layer.qa_max},
                          {"qa_max_bits", std::bit_width(static_cast<unsigned>(layer.qa_max))},
                          {"modulus_margin_bits", layer.margin_bits},
                          {"unknowns_left", layer.unknowns_left},
                          {"charlie_share", layer.charlie_share}});
    }
    nlohmann::ordered_json attention = nullptr;
    if (report.attention) attention = name_of(*report.attention);
    const nlohmann::ordered_json json{
        {"profile", name_of(report.profile)},
        {"attention", attention},
        {"strategy", name_of(report.strategy)},
        {"layers", layers},
        {"charlie_multiplications_a_token", report.charlie_multiplications},
        {"david_multiplications_a_token", report.david_multiplications},
        {"charlie_share", report.charlie_share()},
        {"max_positions", report.positions},
        {"kv_cache_bytes", report.kv_cache_bytes},
        {"workspace_bytes", report.workspace_bytes},
        {"workspace_threads", report.workspace_threads},
        {"warnings", report.warnings}};
    std::cout << json.dump() << '\n';
}

void print_table(const ArtifactReport& report) {
    std::printf("%-36s %13s %5s %5s %7s %14s %8s\n", "matrix", "m x n", "rank", "bits", "margin",
                "unknowns left", "Charlie");
    for (const LayerReport& layer : report.layers) {
        const std::string shape = std::to_string(layer.shape->m) + " x " + std::to_string(layer.n);
        std::printf("%-36s %13s %5zu %5d %7.2f %14llu %7.2f%%\n", layer.shape->tensor.c_str(),
                    shape.c_str(), layer.rank,
                    static_cast<int>(std::bit_width(static_cast<unsigned>(layer.qa_max))),
                    layer.margin_bits, static_cast<unsigned long long>(layer.unknowns_left),
                    100 * layer.charlie_share);
    }
    std::printf(
        "\nbits: of an activation's magnitude. margin: bits of the modulus to spare (ENC-4).\n"
        "strategy %s. Charlie: the kept part's share of a matrix's multiplications; with "
        "quantising, "
        "checks\n"
        "and scales, %.2f%% of all online multiplications are Charlie's.\n",
        name_of(report.strategy), 100 * report.charlie_share());
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
    Options options("inspect --artifact OUT [--json]",
                    "Shows what each matrix of an artifact exposes to David and costs Charlie.");
    options.add("artifact", "OUT", "what 'slip split' wrote, with both halves");
    options.add_switch("json", "print one JSON object instead of a table");
    if (!options.parse(arguments)) return 0;
    const std::filesystem::path artifact = options.required("artifact");
    const CharlieArtifact charlie(artifact);
    const artifact::DavidArtifact david(artifact / "david");
    artifact::require_same_split(charlie, david);
    const ArtifactReport report = report_on(charlie, david);
    if (options.has("json")) {
        print_json(report);
    } else {
        print_table(report);
    }
    return 0;
}

}  // namespace slip::tool

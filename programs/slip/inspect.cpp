#include <bit>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "optimized/api/exposure.hpp"
#include "optimized/api/model_files.hpp"
#include "programs/slip/command.hpp"
#include "programs/slip/support/inspect_hidden.hpp"
#include "programs/slip/support/options.hpp"

namespace slip::tool {
namespace {

using api::MatrixExposure;
using api::SplitExposure;

nlohmann::ordered_json sizes_of(const base::Convolution& shape) {
    return {{"image", {shape.H, shape.W, shape.C}},
            {"kernel", {shape.kH, shape.kW}},
            {"stride", shape.stride},
            {"padding", shape.padding},
            {"positions", shape.positions()}};
}

void print_json(const SplitExposure& exposure) {
    nlohmann::ordered_json layers = nlohmann::ordered_json::array();
    for (const MatrixExposure& layer : exposure.matrices) {
        nlohmann::ordered_json block = nullptr;
        if (layer.shape.block) block = *layer.shape.block;
        nlohmann::ordered_json convolution = nullptr;
        if (layer.convolution) convolution = sizes_of(*layer.convolution);
        nlohmann::ordered_json grid_share = nullptr;
        if (layer.grid_share) grid_share = *layer.grid_share;
        layers.push_back(
            {{"tensor", layer.shape.tensor},
             {"block", block},
             {"layer_type", layer.shape.layer_type},
             {"m", layer.shape.m},
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
    if (exposure.attention) attention = name_of(*exposure.attention);
    const nlohmann::ordered_json json{
        {"set", exposure.set},
        {"attention", attention},
        {"strategy", name_of(exposure.strategy)},
        {"layers", layers},
        {"charlie_multiplications_per_token", exposure.costs.charlie_multiplications},
        {"david_multiplications_per_token", exposure.costs.david_multiplications},
        {"charlie_share", exposure.costs.charlie_share()},
        {"max_positions", exposure.positions},
        {"kv_cache_bytes", exposure.kv_cache_bytes},
        {"workspace_bytes", exposure.workspace_bytes},
        {"workspace_threads", exposure.workspace_threads},
        {"warnings", exposure.warnings}};
    std::cout << json.dump() << '\n';
}

std::string grid_column(const MatrixExposure& layer) {
    if (!layer.grid_share) return "-";
    return std::to_string(std::lround(100 * *layer.grid_share)) + "%";
}

/// What else helps David with this matrix.
std::string remarks_on(const MatrixExposure& layer) {
    std::string remarks;
    const auto remark = [&](const std::string& text) {
        remarks += (remarks.empty() ? "  " : ", ") + text;
    };
    if (layer.head) remark(layer.rank > 0 ? "head, split" : "head, whole");
    if (layer.tied) remark("tied to the embedding");
    if (layer.coarse_grid) remark("coarse grid");
    for (const std::size_t block : layer.whole_neighbours) {
        remark("whole in block " + std::to_string(block));
    }
    return remarks;
}

void print_table(const SplitExposure& exposure) {
    std::printf("%-36s %13s %5s %5s %7s %14s %8s %5s\n", "matrix", "m x n", "rank", "bits",
                "margin", "unknowns left", "Charlie", "grid");
    for (const MatrixExposure& layer : exposure.matrices) {
        const std::string shape = std::to_string(layer.shape.m) + " x " + std::to_string(layer.n);
        std::printf("%-36s %13s %5zu %5d %7.2f %14llu %7.2f%% %5s%s\n", layer.shape.tensor.c_str(),
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
        std::string(exposure.set).c_str(), name_of(exposure.strategy),
        100 * exposure.costs.charlie_share());
    if (exposure.positions > 0) {
        std::printf(
            "KV cache of a sequence of %zu positions: %.1f MB; its activations, with %zu threads: "
            "at "
            "most %.1f MB.\n",
            exposure.positions, 1e-6 * static_cast<double>(exposure.kv_cache_bytes),
            exposure.workspace_threads, 1e-6 * static_cast<double>(exposure.workspace_bytes));
    }
    for (const std::string& warning : exposure.warnings)
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
    const api::SplitFiles files(artifact);
    if (files.hides_weights()) {
        options.forbid("model", "with a hidden split, which shows no grid");
        const api::HiddenExposure exposure = api::hidden_exposure_of(files);
        options.has("json") ? print_json(exposure) : print_table(exposure);
        return 0;
    }
    const std::filesystem::path checkpoint =
        options.has("model") ? options.required("model") : std::string();
    const SplitExposure exposure = api::exposure_of(files, checkpoint);
    options.has("json") ? print_json(exposure) : print_table(exposure);
    return 0;
}

}  // namespace slip::tool

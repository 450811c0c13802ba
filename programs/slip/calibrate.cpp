#include "programs/slip/calibrate.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>

#include "optimized/api/access.hpp"
#include "optimized/base/files.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/engines/engines.hpp"
#include "optimized/graph/evaluate.hpp"
#include "optimized/graph/transformer.hpp"
#include "optimized/import/tokenizer.hpp"
#include "optimized/kernels/group_weights.hpp"
#include "optimized/split/decomposition.hpp"
#include "optimized/split/selection.hpp"
#include "programs/slip/progress.hpp"

namespace slip::tool {
namespace {

using artifact::CharlieGroup;
using artifact::largest_activation;
using importing::Checkpoint;
using splitting::IntegerMatrix;

/// The integer model of a checkpoint, whatever the profile: the weights are the same in both.
class IntegerModel {
public:
    IntegerModel(const Checkpoint& checkpoint, const std::vector<base::GroupShape>& groups,
                 const SplitOptions& options)
        : options_(options), seed_(options.seed ? *options.seed : splitting::new_selection_seed()) {
        std::vector<std::string> notes;  // are given when the model is split
        const auto ranks = artifact::ranks_of(options.plan, groups, options.strategy, notes);
        Progress progress("slip split: groups");
        for (std::size_t g = 0; g < groups.size(); ++g) {
            decompose_group(checkpoint, groups[g], ranks[g]);
            progress.update(g + 1, groups.size());
        }
    }

    /// The groups with the activations that `profile` allows (ENC-3), or nothing if it refuses one
    /// of them.
    std::optional<std::vector<CharlieGroup>> groups_in(Profile profile) const {
        std::vector<CharlieGroup> groups = groups_;
        for (std::size_t g = 0; g < groups.size(); ++g) {
            groups[g].qa_max = largest_activation(profile, norms_[g]);
            const auto fits = [&](const IntegerMatrix& matrix) {
                return splitting::fits_64_bits(matrix, groups[g].qa_max);
            };
            if (groups[g].qa_max < base::parameters::smallest_qa_max ||
                !std::all_of(matrices_[g].begin(), matrices_[g].end(), fits)) {
                return std::nullopt;
            }
        }
        return groups;
    }

    /// Whether both profiles give every group the same activations, and so the same outputs.
    bool holds_in_p31_what_p61_allows() const {
        return std::all_of(norms_.begin(), norms_.end(), [](std::uint64_t norm) {
            return largest_activation(Profile::p31, norm) == largest_activation(Profile::p61, norm);
        });
    }

    kernels::OffloadedWeights stacked() const {
        kernels::OffloadedWeights views;
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            views.emplace_back(stacked_[g].data(), stacked_[g].size() / groups_[g].n, groups_[g].n);
        }
        return views;
    }

private:
    void decompose_group(const Checkpoint& checkpoint, const base::GroupShape& shape,
                         const std::vector<std::size_t>& ranks) {
        auto& matrices = matrices_.emplace_back();
        auto& stacked = stacked_.emplace_back();
        std::uint64_t& norm = norms_.emplace_back(0);
        for (std::size_t i = 0; i < shape.members.size(); ++i) {
            checkpoint.require_matrix(shape.members[i], shape.n);
            const auto w = checkpoint.matrix(shape.members[i], shape.n);
            const splitting::Method method{options_.strategy,
                                           splitting::selection_stream(seed_, finished_++),
                                           options_.weight_bits};  // DECO-10
            matrices.push_back(splitting::decompose({w.data(), shape.members[i].m, shape.n},
                                                    ranks[i], shape.members[i].name(), method,
                                                    options_.threads));
            const IntegerMatrix& matrix = matrices.back();
            stacked.insert(stacked.end(), matrix.residual.begin(), matrix.residual.end());
            norm = std::max(norm, splitting::largest_row_norm(matrix));
        }
        CharlieGroup& group = groups_.emplace_back();
        group.n = shape.n;
        for (std::size_t i = 0; i < matrices.size(); ++i) {
            const IntegerMatrix& matrix = matrices[i];
            group.members.push_back({shape.members[i],
                                     matrix.rank,
                                     matrix.left_factor(),
                                     {matrix.b.data(), matrix.rank, matrix.n},
                                     matrix.row_scale});
        }
    }

    const SplitOptions& options_;
    const SelectionSeed seed_;
    std::uint64_t finished_ = 0;
    std::vector<std::vector<IntegerMatrix>> matrices_;  // group, member
    std::vector<std::vector<std::int8_t>> stacked_;     // W_D of each group
    std::vector<std::uint64_t> norms_;                  // max_i ||W_D[i]||_1 of each group
    std::vector<CharlieGroup> groups_;                  // views of matrices_
};

double perplexity_of(const graph::Transformer& graph, graph::Engine& engine,
                     std::span<const TokenId> ids, const std::string& name) {
    Progress progress("slip split: tokens in " + name);
    const std::size_t context = graph.config().max_position_embeddings;
    return graph::perplexity(graph, engine, ids, api::before_texts(graph.config()),
                             {context, context},
                             [&](std::uint64_t done) { progress.update(done, ids.size()); })
        .perplexity();
}

ProfileQuality quality_of(Profile profile, const IntegerModel& model,
                          const graph::Transformer& graph, std::span<const TokenId> ids,
                          double in_float) {
    ProfileQuality quality;
    quality.profile = profile;
    auto groups = model.groups_in(profile);
    if (!groups) return quality;
    quality.least_qa_max =
        std::min_element(groups->begin(), groups->end(), [](const auto& a, const auto& b) {
            return a.qa_max < b.qa_max;
        })->qa_max;
    engines::UnsplitEngine engine(std::move(*groups), model.stacked());
    quality.perplexity = perplexity_of(graph, engine, ids, name_of(profile));
    quality.difference = *quality.perplexity / in_float - 1;
    return quality;
}

}  // namespace

std::vector<TokenId> tokens_of(const std::filesystem::path& checkpoint,
                               const std::filesystem::path& text, std::size_t most,
                               const char* flag) {
    const std::unique_ptr<importing::Tokenizer> tokenizer = importing::open_tokenizer(checkpoint);
    if (!tokenizer) {
        throw BadInput(std::string(flag) + " needs a tokenizer, and the model has none");
    }
    std::vector<TokenId> ids = tokenizer->encode(base::read_file(text));
    if (ids.empty()) throw BadInput(text.string() + ": the text has no token");
    ids.resize(std::min(ids.size(), most));
    return ids;
}

Calibration calibrate(const Checkpoint& checkpoint, const SplitOptions& options,
                      const std::filesystem::path& text, std::size_t most) {
    const std::vector<TokenId> ids = tokens_of(checkpoint.directory(), text, most, "--calibrate");
    const auto parameters = [&](std::string_view name, std::size_t elements) {
        return checkpoint.floats(name, elements);
    };
    const auto groups = graph::groups_of(checkpoint.config());
    const IntegerModel model(checkpoint, groups, options);
    const auto graph = graph::make_graph(checkpoint.config(), parameters);

    Calibration calibration;
    calibration.weight_bits = options.weight_bits;
    calibration.tokens = ids.size();
    {
        engines::FloatEngine in_float(groups, parameters);
        calibration.float_perplexity = perplexity_of(*graph, in_float, ids, "float32");
    }
    for (const Profile profile : {Profile::p31, Profile::p61}) {
        ProfileQuality quality;
        if (profile == Profile::p61 && model.holds_in_p31_what_p61_allows()) {
            quality = calibration.profiles.front();  // the same integers
            quality.profile = profile;
        } else {
            quality = quality_of(profile, model, *graph, ids, calibration.float_perplexity);
        }
        calibration.profiles.push_back(quality);
        if (!calibration.sufficient && quality.difference &&
            std::abs(*quality.difference) <= calibration_tolerance) {
            calibration.sufficient = profile;
        }
    }
    return calibration;
}

namespace {

void print_json(const Calibration& calibration) {
    using Json = nlohmann::ordered_json;
    const auto or_null = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
    Json profiles = Json::array();
    for (const ProfileQuality& quality : calibration.profiles) {
        profiles.push_back({{"profile", name_of(quality.profile)},
                            {"least_qa_max", quality.least_qa_max},
                            {"perplexity", or_null(quality.perplexity)},
                            {"difference", or_null(quality.difference)}});
    }
    const Json sufficient =
        calibration.sufficient ? Json(name_of(*calibration.sufficient)) : Json(nullptr);
    std::cout << Json({{"tokens", calibration.tokens},
                       {"weight_bits", calibration.weight_bits},
                       {"float_perplexity", calibration.float_perplexity},
                       {"profiles", profiles},
                       {"tolerance", calibration_tolerance},
                       {"sufficient", sufficient}})
                     .dump()
              << '\n';
}

void print_table(const Calibration& calibration) {
    std::printf("%-8s %12s %12s %13s\n", "", "least qa_max", "perplexity", "against float");
    std::printf("%-8s %12s %12.6f\n", "float32", "", calibration.float_perplexity);
    for (const ProfileQuality& quality : calibration.profiles) {
        if (quality.perplexity) {
            std::printf("%-8s %12d %12.6f %+12.4f%%\n", name_of(quality.profile),
                        quality.least_qa_max, *quality.perplexity, 100 * *quality.difference);
        } else {
            std::printf("%-8s %12s %12s %13s\n", name_of(quality.profile), "below 127", "refused",
                        "");
        }
    }
    std::printf(
        "\n%s, measured on %llu tokens. Rule: the narrowest profile whose perplexity is "
        "within %g%% of float32's.\n",
        calibration.sufficient
            ? (std::string(name_of(*calibration.sufficient)) + " suffices").c_str()
            : "No profile suffices",
        static_cast<unsigned long long>(calibration.tokens), 100 * calibration_tolerance);
    // P61 has room for activations of 16 bits under every W_D: 2^20 columns * 127 * 32767 < 2^60.
    // If it was measured and does not suffice, a wider profile would have the same integers.
    if (calibration.weight_bits == 4 && !calibration.sufficient &&
        calibration.profiles.back().perplexity) {
        std::printf(
            "The profiles are not the cause: P61 leaves every activation its 16 bits. Weights of 4 "
            "bits are coarse; --weight-bits 8 makes finer ones.\n");
    }
}

}  // namespace

void print(const Calibration& calibration, bool json) {
    if (json) {
        print_json(calibration);
    } else {
        print_table(calibration);
    }
}

}  // namespace slip::tool

#include "experiments/safety/share/share.hpp"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>

#include "experiments/measure/model_label.hpp"
#include "optimized/api/model_files.hpp"
#include "optimized/artifact/layout.hpp"
#include "optimized/base/error.hpp"
#include "optimized/base/files.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/import/tokenizer.hpp"

namespace slip::safety {
namespace {

using base::MatrixView;
using importing::Checkpoint;
using importing::DType;
using importing::Tensor;

/// The values of every tensor of the share by name, row-major as the checkpoint stores them.
using Values = std::map<std::string, std::vector<float>>;

bool ends_with(const std::string& name, std::string_view end) { return name.ends_with(end); }

bool is_embedding(const std::string& tensor) {
    return ends_with(tensor, "embed_tokens.weight") || ends_with(tensor, ".wte.weight") ||
           ends_with(tensor, ".wpe.weight");
}

/// What a model begins its training with: norms one, biases zero, everything else random.
std::vector<float> initial_values(const Tensor& tensor, std::mt19937_64& random) {
    std::vector<float> values(tensor.elements());
    if (tensor.shape.size() == 1) {
        std::fill(values.begin(), values.end(), ends_with(tensor.name, ".bias") ? 0.0F : 1.0F);
        return values;
    }
    std::normal_distribution<double> normal(0.0, random_deviation);
    for (float& value : values) value = static_cast<float>(normal(random));
    return values;
}

/// Row scales that give every row of W_D the deviation of random weights; zero rows stay zero.
std::vector<float> guessed_row_scales(MatrixView<const std::int8_t> residual) {
    std::vector<float> scales(residual.rows(), 1.0F);
    for (std::size_t i = 0; i < residual.rows(); ++i) {
        double squares = 0;
        for (const int w : residual.row(i)) squares += w * w;
        if (squares == 0) continue;
        const double deviation = std::sqrt(squares / static_cast<double>(residual.cols()));
        scales[i] = static_cast<float>(
            std::ldexp(random_deviation / deviation, -int{base::parameters::residual_shift}));
    }
    return scales;
}

std::vector<float> transposed(const std::vector<float>& values, std::size_t m, std::size_t n) {
    std::vector<float> turned(values.size());
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) turned[j * m + i] = values[i * n + j];
    }
    return turned;
}

/// The matrices of David's half at the size of weights, whichever split it is of.
class DavidsHalf {
public:
    DavidsHalf(const std::filesystem::path& folder, const artifact::CharlieArtifact& charlie,
               const ShareOptions& options)
        : charlie_(charlie), david_(folder), weights_(david_.weights()), options_(options) {
        artifact::require_same_split(charlie_, david_);
        const bool is_hidden = charlie_.set().hides_weights;
        if (is_hidden) hidden_.emplace(folder, david_);
        if (is_hidden && options_.rank == 0) {
            throw BadInput(folder.string() + ": a hidden split: expected --rank, of attackers");
        }
        if (!is_hidden && (options_.rows == Rows::uniform || options_.small_rows)) {
            throw BadInput(folder.string() + ": --rows, --norms: expected a hidden split");
        }
    }

    /// Rows `first`, ... of a group: those of one member, m x n.
    std::vector<float> rows(std::size_t group, std::size_t first, std::size_t member) {
        const artifact::CharlieGroup& own = charlie_.groups()[group];
        const std::size_t m = own.members[member].shape.m;
        const std::span<const float> scales = own.members[member].row_scale;
        const bool guesses = options_.known == Known::nothing;
        if (!hidden_) {
            const MatrixView<const std::int8_t> residual(weights_[group].row(first).data(), m,
                                                         own.n);
            return guesses ? dequantised(residual, guessed_row_scales(residual))
                           : dequantised(residual, scales);
        }
        const double guessed = random_deviation * std::sqrt(static_cast<double>(own.n));
        std::vector<double> norms(m, guessed);
        const bool told = !guesses && !options_.small_rows;
        for (std::size_t i = 0; i < m && told; ++i)
            norms[i] = double{scales[i]} * own.activation_norm;
        return with_norms(std::span(of_group(group)).subspan(first * own.n, m * own.n), own.n,
                          norms);
    }
    std::size_t rank(const artifact::CharlieMember& member) const {
        return hidden_ ? options_.rank : member.rank;
    }

private:
    /// Lifted; of the last group that was asked for, kept.
    const std::vector<double>& of_group(std::size_t group) {
        if (lifted_of_ == group) return lifted_;
        const std::span<const std::int8_t> davids = hidden_->planes(group);
        const std::size_t planes = hidden_->set().planes;
        std::seed_seq mixed{options_.seed, std::uint64_t{group}};
        std::mt19937_64 random(mixed);
        lifted_ = options_.rows == Rows::davids
                      ? lifted(davids, planes)
                      : lifted(uniform_residues(davids.size() / planes, planes, random), planes);
        lifted_of_ = group;
        return lifted_;
    }

    const artifact::CharlieArtifact& charlie_;
    artifact::DavidArtifact david_;
    kernels::OffloadedWeights weights_;
    ShareOptions options_;
    std::optional<HiddenHalf> hidden_;
    std::vector<double> lifted_;
    std::optional<std::size_t> lifted_of_;
};

/// Fills in what David's half says of the offloaded matrices.
std::vector<SharedMatrix> read_matrices(const Checkpoint& checkpoint,
                                        const artifact::CharlieArtifact& charlie, DavidsHalf& david,
                                        Known known, Values& values) {
    std::vector<SharedMatrix> matrices;
    for (std::size_t g = 0; g < charlie.groups().size(); ++g) {
        const artifact::CharlieGroup& group = charlie.groups()[g];
        std::size_t row = 0;
        for (std::size_t i = 0; i < group.members.size(); ++i) {
            const artifact::CharlieMember& member = group.members[i];
            const base::MemberShape& shape = member.shape;
            if (shape.m != shape.tensor_rows || group.width != 0) {
                throw BadInput(charlie.folder().string() + ": " + shape.tensor +
                               " was split in parts; expected a split with fused attention, and "
                               "at most 6144 columns of a hidden matrix");
            }
            const std::size_t first = row;
            row += shape.m;
            const std::string tensor = shape.tensor + ".weight";
            matrices.push_back({tensor, shape.m, group.n, david.rank(member)});
            if (is_embedding(tensor) && known == Known::embeddings_and_norms) continue;
            const std::vector<float> share = david.rows(g, first, i);
            values[tensor] =
                checkpoint.stored_transposed(tensor) ? transposed(share, shape.m, group.n) : share;
        }
    }
    return matrices;
}

void write_tensors(const std::filesystem::path& path, const Checkpoint& checkpoint,
                   const Values& values) {
    std::vector<Tensor> tensors;
    for (const auto& [name, stored] : checkpoint.tensors()) {
        const std::vector<float>& floats = values.at(name);
        tensors.push_back({name, DType::f32, stored.shape, std::as_bytes(std::span(floats))});
    }
    importing::write_safetensors(path, tensors, {{"format", "pt"}}, 0644);
}

std::string description(const Checkpoint& checkpoint, const artifact::CharlieArtifact& charlie,
                        const ShareOptions& options, const std::vector<SharedMatrix>& matrices) {
    nlohmann::ordered_json ranks = nlohmann::ordered_json::object();
    for (const SharedMatrix& matrix : matrices) ranks[matrix.tensor] = matrix.rank;
    const nlohmann::ordered_json json{{"model", measure::label_of(checkpoint)},
                                      {"strategy", strategy_of(charlie, options)},
                                      {"known", name_of(options.known)},
                                      {"seed", options.seed},
                                      {"ranks", ranks}};
    return json.dump(1) + "\n";
}

}  // namespace

const char* name_of(Known known) {
    return known == Known::nothing ? "nothing" : "embeddings-and-norms";
}

Known known_named(const std::string& name) {
    for (const Known known : {Known::embeddings_and_norms, Known::nothing}) {
        if (name == name_of(known)) return known;
    }
    throw BadInput("--known is embeddings-and-norms or nothing, not '" + name + "'");
}

std::vector<float> dequantised(MatrixView<const std::int8_t> residual,
                               std::span<const float> row_scale) {
    base::require(row_scale.size() == residual.rows(), "dequantised: a row scale per row");
    std::vector<float> values;
    values.reserve(residual.rows() * residual.cols());
    for (std::size_t i = 0; i < residual.rows(); ++i) {
        const double unit = std::ldexp(double{row_scale[i]}, int{base::parameters::residual_shift});
        for (const int w : residual.row(i)) values.push_back(static_cast<float>(unit * w));
    }
    return values;
}

std::string strategy_of(const artifact::CharlieArtifact& charlie, const ShareOptions& options) {
    if (!charlie.set().hides_weights) return slip::name_of(charlie.strategy());
    const std::string rows = options.rows == Rows::uniform ? "uniform" : "hidden";
    return options.small_rows ? rows + "-small" : rows;
}

std::vector<SharedMatrix> write_share(const std::filesystem::path& model,
                                      const std::filesystem::path& artifact,
                                      const std::filesystem::path& out,
                                      const ShareOptions& options) {
    const Checkpoint checkpoint(model);
    const artifact::CharlieArtifact charlie(artifact);
    DavidsHalf david(artifact / artifact::layout::david_folder, charlie, options);
    const std::filesystem::path config = charlie.folder() / artifact::layout::config;
    if (base::read_file(config) != checkpoint.config_text()) {
        throw BadInput(config.string() + ": the split is of another model than " + model.string());
    }
    api::require_groups_of_graph(charlie);
    Values values;
    const std::vector<SharedMatrix> matrices =
        read_matrices(checkpoint, charlie, david, options.known, values);
    std::mt19937_64 random(options.seed);
    for (const auto& [name, stored] : checkpoint.tensors()) {
        if (values.contains(name)) continue;
        values[name] = options.known == Known::nothing ? initial_values(stored, random)
                                                       : importing::to_floats(stored);
    }
    write_tensors(out / "model.safetensors", checkpoint, values);
    base::write_file(out / "config.json", checkpoint.config_text(), 0644);
    base::write_file(out / "share.json", description(checkpoint, charlie, options, matrices), 0644);
    for (const auto& file : importing::tokenizer_files(model)) {
        std::filesystem::copy_file(file, out / file.filename());
    }
    return matrices;
}

}  // namespace slip::safety

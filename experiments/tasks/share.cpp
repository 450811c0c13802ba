#include "experiments/tasks/share.hpp"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "optimized/api/access.hpp"
#include "optimized/base/error.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/engines/engines.hpp"

namespace slip::tasks {
namespace {

using Matrices = std::map<std::string, std::vector<float>, std::less<>>;

/// Rows `first` to first + m - 1 of the group's W_D, at the scale of the weights.
std::vector<float> share_of(const kernels::GroupWeights& stacked, std::size_t first,
                            const artifact::CharlieMember& member) {
    std::vector<float> values;
    const auto residual = stacked.rows_from(first, member.shape.m);
    for (std::size_t i = 0; i < residual.rows(); ++i) {
        const float scale = member.row_scale[i] *
                            static_cast<float>(std::int64_t{1} << base::parameters::residual_shift);
        for (const std::int8_t w : residual.row(i)) values.push_back(scale * w);
    }
    return values;
}

/// Every tensor of which offloaded matrices are rows, by name with ".weight".
Matrices share_of(const artifact::CharlieArtifact& charlie,
                  const kernels::OffloadedWeights& stacked) {
    Matrices matrices;
    for (std::size_t g = 0; g < stacked.size(); ++g) {
        std::size_t first = 0;
        for (const artifact::CharlieMember& member : charlie.groups()[g].members) {
            const std::vector<float> rows = share_of(stacked[g], first, member);
            std::vector<float>& tensor = matrices[member.shape.tensor + ".weight"];
            tensor.insert(tensor.end(), rows.begin(), rows.end());
            first += member.shape.m;
        }
    }
    return matrices;
}

class ShareRuntime : public api::Runtime {
public:
    explicit ShareRuntime(api::SplitFiles& files)
        : engine_(api::groups_in(files.charlie()),
                  [matrices = share_of(files.charlie(), files.david().weights())](
                      std::string_view name, std::size_t elements) {
                      const std::vector<float>& found = matrices.find(name)->second;
                      base::require(found.size() == elements, "open_share: a matrix is not whole");
                      return found;
                  }) {}
    base::Engine& engine() override { return engine_; }

private:
    engines::FloatEngine engine_;
};

}  // namespace

template <class Kind>
Kind open_share(const std::filesystem::path& artifact) {
    auto files = std::make_unique<api::SplitFiles>(artifact);
    api::SplitFiles& opened = *files;
    const auto start = [&opened] { return std::make_unique<ShareRuntime>(opened); };
    if constexpr (std::is_same_v<Kind, ImageClassifier>) {
        if (opened.network() != nullptr) return Access::image_classifier(std::move(files), start);
        throw BadInput(artifact.string() + ": expected a convolutional network");
    } else {
        if (opened.network() == nullptr) return Access::language_model(std::move(files), start);
        throw BadInput(artifact.string() + ": expected a language model");
    }
}

template LanguageModel open_share<LanguageModel>(const std::filesystem::path&);
template ImageClassifier open_share<ImageClassifier>(const std::filesystem::path&);

}  // namespace slip::tasks

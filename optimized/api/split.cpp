#include "slip/split.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "optimized/api/model_files.hpp"
#include "optimized/artifact/plan.hpp"
#include "optimized/base/error.hpp"
#include "optimized/import/checkpoint.hpp"
#include "optimized/import/tokenizer.hpp"
#include "optimized/split/split_checkpoint.hpp"

namespace slip {
namespace {

using importing::Checkpoint;
using importing::Tensor;

/// DECO-5, for a tensor of any size. Throws BadInput, naming it.
void require_finite(const Tensor& tensor) {
    constexpr std::size_t most = std::size_t{1} << 20;
    const std::size_t width = importing::size_of(tensor.dtype);
    for (std::size_t first = 0; first < tensor.elements(); first += most) {
        const std::size_t count = std::min(most, tensor.elements() - first);
        importing::to_floats({tensor.name,
                              tensor.dtype,
                              {count},
                              tensor.bytes.subspan(first * width, count * width)});
    }
}

/// The tensors that the model's graph and its matrices are made of. Throws BadInput for a parameter
/// that is missing, has another number of elements, or is not finite.
std::set<std::string> tensors_in_use(const Checkpoint& checkpoint,
                                     const std::vector<base::GroupShape>& groups) {
    std::set<std::string> used;
    for (const base::GroupShape& group : groups) {
        for (const base::MemberShape& member : group.members)
            used.insert(member.tensor + ".weight");
    }
    // The graph is thrown away, so it needs no values.
    graph::make_graph(checkpoint.config(), [&](std::string_view name, std::size_t elements) {
        const auto found = checkpoint.tensors().find(name);
        if (found == checkpoint.tensors().end() || found->second.elements() != elements) {
            return checkpoint.floats(name, elements);  // throws, and says why
        }
        require_finite(found->second);
        checkpoint.forget_pages();
        used.insert(std::string(name));
        return std::vector<float>();
    });
    return used;
}

/// Files of a tied head may hold it a second time.
bool repeats_embedding(const Checkpoint& checkpoint, const Tensor& head) {
    if (!checkpoint.config().tie_word_embeddings || head.name != "lm_head.weight") return false;
    const std::string embedding = checkpoint.config().family == base::Family::gpt2
                                      ? "transformer.wte.weight"
                                      : "model.embed_tokens.weight";
    const Tensor& other = checkpoint.tensors().at(embedding);
    return other.dtype == head.dtype && other.shape == head.shape &&
           std::equal(other.bytes.begin(), other.bytes.end(), head.bytes.begin(), head.bytes.end());
}

/// MODEL-10: hours of work are spent on a model only if it is the one that config.json describes,
/// whole, and if its tokenizer can be read.
void require_model_of_config(const Checkpoint& checkpoint,
                             const std::vector<base::GroupShape>& groups) {
    if (checkpoint.network()) {
        for (const auto& [name, tensor] : checkpoint.tensors()) require_finite(tensor);
        return;
    }
    const std::set<std::string> used = tensors_in_use(checkpoint, groups);
    for (const auto& [name, tensor] : checkpoint.tensors()) {
        if (used.count(name) != 0 || repeats_embedding(checkpoint, tensor)) continue;
        throw BadInput(checkpoint.directory().string() +
                       ": the model of config.json has no tensor " + name +
                       ": expected a checkpoint of exactly this model; num_hidden_layers is " +
                       std::to_string(checkpoint.config().num_hidden_layers));
    }
    importing::open_tokenizer(checkpoint.directory());
}

}  // namespace

Plan uniform_plan(const std::filesystem::path& model, std::size_t rank,
                  std::optional<std::size_t> first_and_last) {
    return artifact::uniform_plan(api::groups_in(Checkpoint(model)), rank, first_and_last);
}

std::vector<std::string> split_checkpoint(const std::filesystem::path& model,
                                          const SplitOptions& options) {
    const Checkpoint checkpoint(model, options.attention);
    const auto groups = api::groups_in(checkpoint);
    require_model_of_config(checkpoint, groups);
    return splitting::split_checkpoint(checkpoint, groups, options);
}

}  // namespace slip

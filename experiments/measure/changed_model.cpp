#include "experiments/measure/changed_model.hpp"

#include <algorithm>
#include <set>

#include "experiments/measure/model_label.hpp"
#include "optimized/api/access.hpp"
#include "optimized/base/files.hpp"
#include "optimized/engines/engines.hpp"
#include "optimized/graph/evaluate.hpp"

namespace slip::measure {
namespace {

/// "q_proj" is q in the figures.
std::string short_type(const std::string& layer_type) {
    const std::string ending = "_proj";
    const bool own = layer_type.find('.') == std::string::npos;  // "mlp.c_proj" needs its "mlp"
    if (!own || !layer_type.ends_with(ending)) return layer_type;
    return layer_type.substr(0, layer_type.size() - ending.size());
}

std::vector<Matrix> matrices_of(const std::vector<base::GroupShape>& groups) {
    std::vector<Matrix> matrices;
    std::set<std::string> seen;
    for (const base::GroupShape& group : groups) {
        for (const base::MemberShape& member : group.members) {
            if (!member.block || !seen.insert(member.tensor).second) continue;
            matrices.push_back({member.tensor, short_type(member.layer_type), *member.block,
                                member.tensor_rows, group.n});
        }
    }
    return matrices;
}

}  // namespace

ChangedModel::ChangedModel(const std::filesystem::path& folder)
    : checkpoint_(folder),
      groups_(graph::groups_of(checkpoint_.config())),
      matrices_(matrices_of(groups_)) {}

std::size_t ChangedModel::blocks() const { return checkpoint_.config().num_hidden_layers; }

std::size_t ChangedModel::context() const { return checkpoint_.config().max_position_embeddings; }

std::vector<std::string> ChangedModel::layer_types() const {
    std::vector<std::string> types;
    for (const Matrix& matrix : matrices_) {
        if (std::find(types.begin(), types.end(), matrix.type) == types.end()) {
            types.push_back(matrix.type);
        }
    }
    return types;
}

std::vector<float> ChangedModel::values(const Matrix& matrix) const {
    return checkpoint_.floats(matrix.tensor + ".weight", matrix.m * matrix.n);
}

std::vector<TokenId> ChangedModel::read(const std::filesystem::path& text, std::size_t most) const {
    const auto tokenizer = importing::open_tokenizer(checkpoint_.folder());
    if (!tokenizer) {
        throw BadInput(checkpoint_.folder().string() + ": has no tokenizer to read a text with");
    }
    std::vector<TokenId> ids = tokenizer->encode(base::read_file(text));
    if (ids.size() < most) {
        throw BadInput(text.string() + ": has " + std::to_string(ids.size()) +
                       " tokens, expected " + std::to_string(most));
    }
    ids.resize(most);
    return ids;
}

double ChangedModel::perplexity(const std::vector<TokenId>& ids, const Change& change) const {
    const auto changed = [&](std::string_view name, std::size_t elements) {
        std::vector<float> values = checkpoint_.floats(name, elements);
        if (change) change(name, values);
        return values;
    };
    const auto graph = graph::make_graph(checkpoint_.config(), changed);
    engines::FloatEngine engine(groups_, changed);
    return graph::perplexity(*graph, engine, ids, api::before_texts(checkpoint_.config()),
                             {context(), context()}, {})
        .perplexity();
}

nlohmann::ordered_json ChangedModel::label() const { return label_of(checkpoint_); }

}  // namespace slip::measure

#include "slip/language_model.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "optimized/api/access.hpp"
#include "optimized/base/error.hpp"
#include "optimized/base/parallel.hpp"
#include "optimized/graph/generate.hpp"

namespace slip {

LanguageModel::LanguageModel(std::unique_ptr<State> state) : state_(std::move(state)) {}
LanguageModel::LanguageModel(LanguageModel&&) noexcept = default;
LanguageModel& LanguageModel::operator=(LanguageModel&&) noexcept = default;
LanguageModel::~LanguageModel() = default;

const importing::Tokenizer& LanguageModel::State::required_tokenizer() const {
    if (tokenizer) return *tokenizer;
    throw BadInput(files->folder().string() +
                   ": has no tokenizer: expected tokenizer.json, tokenizer.model, or vocab.json "
                   "with merges.txt");
}

std::size_t LanguageModel::vocabulary_size() const { return state_->graph->config().vocab_size; }

std::size_t LanguageModel::max_positions() const {
    return state_->graph->config().max_position_embeddings;
}

bool LanguageModel::has_tokenizer() const { return state_->tokenizer != nullptr; }

std::vector<TokenId> LanguageModel::encode(std::string_view text) const {
    return state_->required_tokenizer().encode(text);
}

std::vector<TokenId> LanguageModel::encode_prompt(std::string_view text) const {
    const base::ModelConfig& config = state_->graph->config();
    std::vector<TokenId> ids;
    if (const auto stated = state_->required_tokenizer().before_texts()) {
        ids = *stated;
    } else if (config.bos_token_id && config.starts_with_bos()) {
        ids.push_back(*config.bos_token_id);
    }
    const std::vector<TokenId> text_ids = encode(text);
    ids.insert(ids.end(), text_ids.begin(), text_ids.end());
    // Where nothing stands before texts, BOS is still the only way to begin with nothing.
    if (ids.empty() && config.bos_token_id) ids.push_back(*config.bos_token_id);
    return ids;
}

std::string LanguageModel::decode(std::span<const TokenId> ids) const {
    return state_->required_tokenizer().decode(ids);
}

Token LanguageModel::token(TokenId id) const {
    const importing::Tokenizer& tokenizer = state_->required_tokenizer();
    graph::require_in_vocabulary(std::span(&id, 1), state_->graph->config());
    if (static_cast<std::size_t>(id) >= tokenizer.vocab_size()) return {{}, true};
    importing::TokenText token = tokenizer.token(id);
    return {std::move(token.text), token.special};
}

std::string LanguageModel::continuation(std::span<const TokenId> prompt,
                                        std::span<const TokenId> ids) const {
    std::vector<TokenId> all(prompt.begin(), prompt.end());
    all.insert(all.end(), ids.begin(), ids.end());
    const std::string text = decode(all);
    return text.substr(std::min(text.size(), decode(prompt).size()));
}

std::vector<TokenId> LanguageModel::generate(std::span<const TokenId> prompt,
                                             const SamplingOptions& options,
                                             const OnToken& on_token) {
    return graph::generate(*state_->graph, state_->runtime->engine(), prompt, options, on_token);
}

std::vector<float> LanguageModel::forward(std::span<const TokenId> ids) {
    const graph::Transformer& graph = *state_->graph;
    if (ids.empty()) throw BadInput("there are no token ids: expected at least one");
    graph::KvCache cache(graph.config());
    graph::Workspace workspace(base::available_threads());
    std::vector<float> logits;
    graph.forward(state_->runtime->engine(), workspace, {cache, ids, graph::Logits::every_position},
                  logits);
    return logits;
}

void LanguageModel::wait_for_masks(std::size_t masks_per_group) {
    state_->runtime->wait_for_masks(masks_per_group);
}

RunStatistics LanguageModel::statistics() const { return state_->runtime->statistics(); }

LanguageModel Access::language_model(std::unique_ptr<api::ModelFiles> files, const Start& start,
                                     Start reopen) {
    auto state = std::make_unique<LanguageModel::State>();
    state->files = std::move(files);
    state->graph =
        graph::make_graph(state->files->config(), state->files->parameters(), state->files->rows());
    state->tokenizer = importing::open_tokenizer(state->files->folder());
    state->runtime = start();
    state->reopen = std::move(reopen);
    return LanguageModel(std::move(state));
}

}  // namespace slip

namespace slip::api {

TokenId before_texts(const base::ModelConfig& config) {
    if (config.bos_token_id) return *config.bos_token_id;
    if (config.eos_token_id) return *config.eos_token_id;
    throw BadInput(
        "config.json names neither bos_token_id nor eos_token_id: nothing can stand "
        "before a text's first token");
}

}  // namespace slip::api

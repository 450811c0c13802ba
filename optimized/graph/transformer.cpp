#include "optimized/graph/transformer.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "optimized/graph/decoder.hpp"
#include "optimized/graph/gpt2.hpp"
#include "optimized/graph/phi.hpp"

namespace slip::graph {
namespace {

using base::Family;
using base::ModelConfig;
using base::require;

void require_sequences_of_their_own(std::span<const BatchEntry> batch) {
    require(!batch.empty(), "Transformer::forward: the batch is empty");
    for (std::size_t a = 0; a < batch.size(); ++a) {
        for (std::size_t b = 0; b < a; ++b) {
            require(&batch[a].cache != &batch[b].cache,
                    "Transformer::forward: a sequence is in the batch twice");
        }
    }
}

}  // namespace

std::vector<base::GroupShape> groups_of(const ModelConfig& config) {
    switch (config.family) {
        case Family::llama:
            return decoder_groups(config);
        case Family::gpt2:
            return gpt2_groups(config);
        case Family::phi:
            return phi_groups(config);
    }
    throw InternalError("groups_of: unknown family");
}

std::unique_ptr<Transformer> make_graph(const ModelConfig& config,
                                        const ParameterLookup& parameters, const RowLookup& rows) {
    switch (config.family) {
        case Family::llama:
            return std::make_unique<Decoder>(config, parameters, rows);
        case Family::gpt2:
            return std::make_unique<Gpt2>(config, parameters, rows);
        case Family::phi:
            return std::make_unique<Phi>(config, parameters, rows);
    }
    throw InternalError("make_graph: unknown family");
}

Transformer::Transformer(const ModelConfig& config) : config_(config) {
    require(config.num_key_value_heads > 0 &&
                config.num_attention_heads % config.num_key_value_heads == 0,
            "Transformer: the query heads must be a multiple of the key heads");
}

void Transformer::forward(base::Engine& engine, Workspace& workspace,
                          std::span<const BatchEntry> batch, std::vector<float>& logits) const {
    require_sequences_of_their_own(batch);
    for (const BatchEntry& entry : batch) check(entry);
    for (const BatchEntry& entry : batch) compute_keys_for(entry, engine, workspace);
    run(engine, workspace, batch, logits);
}

/// One pass through the graph, of entries that were checked and have the keys that they need.
void Transformer::run(base::Engine& engine, Workspace& workspace, std::span<const BatchEntry> batch,
                      std::vector<float>& logits) const {
    Pass pass(config_, engine, workspace, batch);
    embed(pass);
    for (std::size_t block = 0; block < config_.num_hidden_layers; ++block) {
        apply_block(block, pass);
    }
    const base::MatrixView<const float> wanted = pass.gather_wanted_rows();
    logits.resize(wanted.rows() * config_.vocab_size);
    if (wanted.rows() > 0) head(wanted, pass, {logits.data(), wanted.rows(), config_.vocab_size});
    pass.commit();
}

void Transformer::forward(base::Engine& engine, Workspace& workspace, const BatchEntry& entry,
                          std::vector<float>& logits) const {
    check(entry);
    compute_keys_for(entry, engine, workspace);
    run_in_steps(engine, workspace, entry, logits);
}

void Transformer::run_in_steps(base::Engine& engine, Workspace& workspace, const BatchEntry& entry,
                               std::vector<float>& logits) const {
    constexpr std::size_t largest = KvCache::tokens_at_once;
    if (entry.ids.size() <= largest) return run(engine, workspace, std::span(&entry, 1), logits);
    const std::size_t length = entry.cache.length();
    std::vector<float> all;
    try {
        for (std::size_t at = 0; at < entry.ids.size(); at += largest) {
            const auto ids = entry.ids.subspan(at, std::min(largest, entry.ids.size() - at));
            const bool last = at + ids.size() == entry.ids.size();
            const bool wanted = last || entry.logits == Logits::every_position;
            const BatchEntry step{entry.cache, ids, wanted ? entry.logits : Logits::none};
            run(engine, workspace, std::span(&step, 1), logits);
            all.insert(all.end(), logits.begin(), logits.end());
        }
    } catch (...) {
        entry.cache.truncate(length);
        throw;
    }
    logits = std::move(all);
}

/// Whether the keys are those of a sequence longer than the original context.
bool Transformer::longer_with(const BatchEntry& entry) const {
    const std::size_t length = entry.cache.length() + entry.ids.size() + entry.to_come;
    return longrope(config_) && length > config_.rope.scaling.original_positions;
}

bool Transformer::computes_keys_again(const BatchEntry& entry) const {
    return !entry.cache.has_keys_for(longer_with(entry));
}

/// MODEL-14: with longrope, the keys of a sequence as long as it will be. Where the cached ones are
/// those of a shorter or of a longer sequence, all its tokens are computed again. So they are where
/// windows have not kept what the next token sees (MODEL-16).
void Transformer::compute_keys_for(const BatchEntry& entry, base::Engine& engine,
                                   Workspace& workspace) const {
    KvCache& cache = entry.cache;
    const bool longer = longer_with(entry);
    if (cache.length() == 0) cache.begin_keys_for(longer);
    if (!computes_keys_again(entry)) return;
    const std::vector<TokenId> ids = cache.ids();
    base::require(ids.size() == cache.length(), "Transformer::forward: the cache has no tokens");
    cache.begin_keys_for(longer);
    try {
        std::vector<float> none;
        run_in_steps(engine, workspace, {cache, ids, Logits::none}, none);
    } catch (...) {
        cache.restore_without_keys(ids);
        throw;
    }
}

void Transformer::check(const BatchEntry& entry) const {
    const KvCache& cache = entry.cache;
    const std::span<const TokenId> ids = entry.ids;
    require(!ids.empty(), "Transformer::forward: no token");
    require(cache.fits(config_), "Transformer::forward: the cache belongs to another model");
    require_in_vocabulary(ids, config_);
    if (cache.length() + ids.size() > config_.max_position_embeddings) {
        throw BadInput("the sequence needs " + std::to_string(cache.length() + ids.size()) +
                       " positions, but the model has max_position_embeddings " +
                       std::to_string(config_.max_position_embeddings));
    }
}

void require_in_vocabulary(std::span<const TokenId> ids, const ModelConfig& config) {
    for (const TokenId id : ids) {
        if (id < 0 || static_cast<std::size_t>(id) >= config.vocab_size) {
            throw BadInput("token id " + std::to_string(id) +
                           " is outside the vocabulary: expected 0 to " +
                           std::to_string(config.vocab_size - 1));
        }
    }
}

LayerNorm read_layer_norm(const ParameterLookup& parameters, const std::string& name,
                          std::size_t width) {
    return {parameters(name + ".weight", width), parameters(name + ".bias", width)};
}

}  // namespace slip::graph

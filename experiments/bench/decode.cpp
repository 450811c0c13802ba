#include "experiments/bench/decode.hpp"

#include <string>
#include <vector>

#include "experiments/bench/int8_engine.hpp"
#include "experiments/bench/measure.hpp"
#include "optimized/engines/engines.hpp"
#include "optimized/graph/language_model.hpp"
#include "optimized/import/checkpoint.hpp"
#include "optimized/protocol/david.hpp"

namespace slip::bench {
namespace {

constexpr std::size_t prompt_tokens = 8;

/// `count` token ids, the same every time; what they say does not change the work.
std::vector<TokenId> some_ids(std::size_t count, std::size_t vocabulary) {
    std::vector<TokenId> ids(count);
    for (std::size_t i = 0; i < count; ++i) {
        ids[i] = static_cast<TokenId>((3 + 7 * i) % vocabulary);
    }
    return ids;
}

/// Seconds to decode options.tokens tokens, one at a time, after a prompt outside the clock.
double decode_seconds(const LanguageModel& graph, Engine& engine, std::size_t tokens) {
    const auto ids = some_ids(prompt_tokens + tokens, graph.config().vocab_size);
    const auto all = std::span<const TokenId>(ids);
    KvCache cache(graph.config());
    std::vector<float> logits;
    graph.forward(engine, cache, all.first(prompt_tokens), LanguageModel::Logits::last_position,
                  logits);
    return seconds_of([&] {
        for (std::size_t t = 0; t < tokens; ++t) {
            graph.forward(engine, cache, all.subspan(prompt_tokens + t, 1),
                          LanguageModel::Logits::last_position, logits);
        }
    });
}

}  // namespace

DecodeResult measure_decode(const DecodeOptions& options) {
    const Checkpoint checkpoint(options.model);
    const auto parameters = [&](std::string_view name, std::size_t elements) {
        return checkpoint.floats(name, elements);
    };
    const auto graph = make_graph(checkpoint.config(), parameters);
    Int8Engine unprotected(groups_of(checkpoint.config()), parameters);

    const CharlieArtifact charlie(options.artifact);
    const DavidArtifact david(options.artifact / "david");
    require_same_split(charlie, david);
    const DavidModel model{david.weights(), david.digest(), david.profile()};
    DavidSession david_session(model);
    InProcessTransport transport(david_session);
    CharlieSession::Options session_options;
    session_options.profile = charlie.profile();
    const std::size_t masks = prompt_tokens + options.tokens;
    // A batch as deep as the pool: the background thread works only when the masks are used up, so
    // between the repetitions and not beside them.
    session_options.pool.depth = masks;
    session_options.pool.batch = masks;
    CharlieSession session(model.weights, charlie.david_digest(), transport, session_options);
    HybridEngine hybrid(charlie, session);

    std::vector<double> hybrid_rates;
    std::vector<double> unprotected_rates;
    std::vector<double> ratios;
    const auto tokens = static_cast<double>(options.tokens);
    for (std::size_t i = 0; i < options.repetitions; ++i) {
        session.wait_until_ready(masks);
        hybrid_rates.push_back(tokens / decode_seconds(*graph, hybrid, options.tokens));
        session.wait_until_ready(masks);
        unprotected_rates.push_back(tokens / decode_seconds(*graph, unprotected, options.tokens));
        ratios.push_back(hybrid_rates.back() / unprotected_rates.back());
    }

    // The masks of every repetition are spent, and one more set is ready.
    const auto made = static_cast<double>(masks * (options.repetitions + 1));
    return {median(hybrid_rates), median(unprotected_rates), median(ratios),
            session.statistics().offline_seconds / made, prompt_tokens};
}

}  // namespace slip::bench

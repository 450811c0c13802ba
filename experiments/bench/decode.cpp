#include "experiments/bench/decode.hpp"

#include <string>
#include <thread>
#include <vector>

#include "experiments/bench/forked_david.hpp"
#include "experiments/bench/int8_engine.hpp"
#include "experiments/bench/machine.hpp"
#include "experiments/bench/round.hpp"
#include "optimized/engines/hybrid_engine.hpp"
#include "optimized/graph/transformer.hpp"
#include "optimized/import/checkpoint.hpp"

namespace slip::bench {
namespace {

constexpr std::size_t rounds_per_shape = 96;

/// `count` token ids, the same every time; what they say does not change the work.
std::vector<TokenId> some_ids(std::size_t count, std::size_t vocabulary) {
    std::vector<TokenId> ids(count);
    for (std::size_t i = 0; i < count; ++i) {
        ids[i] = static_cast<TokenId>((3 + 7 * i) % vocabulary);
    }
    return ids;
}

/// Seconds of every repetition for the prompt, in one batch, and for the tokens after it.
struct Timings {
    std::vector<double> prefill;
    std::vector<double> decode;
};

/// One repetition: the prompt, then token by token.
void run_model(const graph::Transformer& graph, graph::Engine& engine, const DecodeOptions& options,
               Timings& timings) {
    const auto ids = some_ids(options.prompt + options.tokens, graph.config().vocab_size);
    const auto all = std::span<const TokenId>(ids);
    graph::KvCache cache(graph.config());
    graph::Workspace workspace;
    std::vector<float> logits;
    const auto forward = [&](std::span<const TokenId> some) {
        graph.forward(engine, workspace, {cache, some, graph::Logits::last_position}, logits);
    };
    timings.prefill.push_back(seconds_of([&] { forward(all.first(options.prompt)); }));
    timings.decode.push_back(seconds_of([&] {
        for (std::size_t t = 0; t < options.tokens; ++t) {
            forward(all.subspan(options.prompt + t, 1));
        }
    }));
}

/// The median of a_i / b_i.
double median_ratio(const std::vector<double>& a, const std::vector<double>& b) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < a.size(); ++i) ratios.push_back(a[i] / b[i]);
    return median(ratios);
}

void add_rows(const std::string& name, const Timings& timings, const DecodeOptions& options,
              Report& report) {
    const double prefill = median(timings.prefill);
    const double decode = median(timings.decode) / static_cast<double>(options.tokens);
    report.rows.push_back({"decode, " + name, decode, 1 / decode, "tokens/s"});
    report.rows.push_back(
        {"prefill, " + name, prefill, static_cast<double>(options.prompt) / prefill, "tokens/s"});
}

/// In the profile of `charlie`.
template <class P>
DecodeResult measure(const DecodeOptions& options, const artifact::CharlieArtifact& charlie) {
    const std::size_t here = this_processor();
    bind_to_processor(here);
    const artifact::DavidArtifact david(options.artifact / "david");
    artifact::require_same_split(charlie, david);
    const protocol::DavidModel model{david.weights(), david.digest(), david.profile()};
    // Packs the weights, which the child then shares.
    const auto david_session = protocol::make_david_session(model);
    ForkedDavid elsewhere(model, (here + 1) % std::thread::hardware_concurrency());

    const importing::Checkpoint checkpoint(options.model);
    const auto parameters = [&](std::string_view name, std::size_t elements) {
        return checkpoint.floats(name, elements);
    };
    const auto graph = graph::make_graph(checkpoint.config(), parameters);
    Int8Engine unprotected(graph::groups_of(checkpoint.config()), parameters);

    // One more than a repetition spends: a group whose masks are used up wakes the thread that
    // makes them, beside the last token.
    const std::size_t masks = options.prompt + options.tokens + 1;
    protocol::SessionOptions session_options;
    // A batch as deep as the pool: the background thread works only when the masks are used up, so
    // between the repetitions and not beside them.
    session_options.pool.depth = masks;
    session_options.pool.batch = masks;
    protocol::InProcessTransport transport(*david_session);
    engines::HybridEngineOf<P> in_process(charlie, model.weights, transport, session_options);
    engines::HybridEngineOf<P> over_tls(charlie, model.weights, elsewhere.connection(),
                                        session_options);

    std::vector<double> reading;
    Timings of_unprotected, of_near, of_far;
    const auto all_masks_ready = [&] {  // else a pool refills itself beside the next contestant
        in_process.wait_until_ready(masks);
        over_tls.wait_until_ready(masks);
    };
    for (std::size_t i = 0; i < options.repetitions; ++i) {
        all_masks_ready();
        reading.push_back(seconds_of([&] { unprotected.read(); }));
        run_model(*graph, unprotected, options, of_unprotected);
        run_model(*graph, in_process, options, of_near);
        all_masks_ready();
        run_model(*graph, over_tls, options, of_far);
    }
    all_masks_ready();

    DecodeResult result;
    Report& report = result.report;
    // The masks of every repetition, and the set that is ready.
    const auto made = static_cast<double>((masks - 1) * options.repetitions + masks);
    result.offline_seconds_per_token = in_process.statistics().session.offline_seconds / made;
    const auto tokens = static_cast<double>(options.tokens);
    result.hybrid_tokens_per_second = tokens / median(of_near.decode);
    result.int8_tokens_per_second = tokens / median(of_unprotected.decode);
    result.ratio = median_ratio(of_unprotected.decode, of_near.decode);

    const auto bytes = static_cast<double>(unprotected.bytes());
    report.rows.push_back(
        {"plain read of the weights", median(reading), bytes / median(reading), "B/s"});
    add_rows("unprotected int8", of_unprotected, options, report);
    add_rows("hybrid in process", of_near, options, report);
    add_rows("hybrid over TLS", of_far, options, report);
    report.rows.push_back({"offline work for a token", result.offline_seconds_per_token,
                           1 / result.offline_seconds_per_token, "tokens/s"});
    report.figures.push_back(
        {"unprotected_read", tokens * median_ratio(reading, of_unprotected.decode)});
    report.figures.push_back({"decode_in_process", result.ratio});
    report.figures.push_back({"decode_tls", median_ratio(of_unprotected.decode, of_far.decode)});

    const auto rounds =
        measure_rounds(model.weights, over_tls.session(), in_process.session(), rounds_per_shape);
    for (const RoundResult& round : rounds) {
        const std::string shape = std::to_string(round.rows) + " x " + std::to_string(round.n);
        report.rows.push_back({"TLS alone, a round " + shape, 1e-6 * round.overhead_microseconds,
                               1e6 / round.overhead_microseconds, "rounds/s"});
    }
    report.figures.push_back({"tls_round_us", median_overhead(rounds)});
    return result;
}

}  // namespace

DecodeResult measure_decode(const DecodeOptions& options) {
    const artifact::CharlieArtifact charlie(options.artifact);
    return protocol::with_profile(charlie.profile(),
                                  [&]<class P>(P) { return measure<P>(options, charlie); });
}

}  // namespace slip::bench

#include "experiments/bench/decode.hpp"

#include <string>
#include <vector>

#include "experiments/bench/masks.hpp"
#include "experiments/bench/round.hpp"

namespace slip::bench {
namespace {

constexpr std::size_t rounds_per_shape = 96;

/// Seconds of every repetition for the prompt, in one batch, and for the tokens after it.
struct Timings {
    std::vector<double> prefill;
    std::vector<double> decode;
};

/// One repetition: the prompt, then token by token.
void run_model(const WholeModel& whole, base::Engine& engine, Timings& timings) {
    Sequences one(whole, 1);
    timings.prefill.push_back(seconds_of([&] { one.forward(engine, whole.options.prompt); }));
    timings.decode.push_back(seconds_of([&] {
        for (std::size_t t = 0; t < whole.options.tokens; ++t) one.forward(engine);
    }));
}

void add_rows(const std::string& name, const Timings& timings, const WholeModelOptions& options,
              Report& report) {
    const double prefill = median(timings.prefill);
    const double decode = median(timings.decode) / static_cast<double>(options.tokens);
    report.add_row("decode, " + name, decode, 1, "tokens/s");
    report.add_row("prefill, " + name, prefill, static_cast<double>(options.prompt), "tokens/s");
}

/// One more than a repetition spends: a group whose masks are used up wakes the thread that makes
/// them, beside the last token.
std::size_t masks_for(const WholeModelOptions& options) {
    return options.prompt + options.tokens + 1;
}

/// The hybrid engines of a decode.
struct Hybrids {
    explicit Hybrids(WholeModel& whole)
        : david(whole.offloaded),
          local(david),
          link(whole.server->connect()),
          memory(whole.server->connect_in_memory()),
          masks(masks_for(whole.options)),
          in_process(protected_by(whole, local, masks)),
          over_tls(protected_by(whole, *link, masks)),
          in_memory(protected_by(whole, *memory, masks)) {}

    /// Else one refills its masks beside the next contestant.
    void wait_until_ready() {
        in_process.wait_until_ready(masks);
        over_tls.wait_until_ready(masks);
        in_memory.wait_until_ready(masks);
    }

    protocol::DavidSession david;
    protocol::InProcessTransport local;
    const std::unique_ptr<Transport> link;
    const std::unique_ptr<Transport> memory;
    const std::size_t masks;
    engines::HybridEngine in_process;
    engines::HybridEngine over_tls;
    engines::HybridEngine in_memory;
};

/// Seconds of every repetition.
struct Decoded {
    std::vector<double> reading;
    Timings unprotected, in_process, over_tls, in_memory;
};

Decoded run_all(WholeModel& whole, Hybrids& hybrids) {
    Decoded decoded;
    for (std::size_t i = 0; i < whole.options.repetitions; ++i) {
        hybrids.wait_until_ready();
        decoded.reading.push_back(seconds_of([&] { whole.unprotected.read(); }));
        run_model(whole, whole.unprotected, decoded.unprotected);
        run_model(whole, hybrids.in_process, decoded.in_process);
        hybrids.wait_until_ready();
        run_model(whole, hybrids.over_tls, decoded.over_tls);
        hybrids.wait_until_ready();
        run_model(whole, hybrids.in_memory, decoded.in_memory);
    }
    hybrids.wait_until_ready();
    return decoded;
}

void report_decode(const WholeModel& whole, const Decoded& decoded, DecodeResult& result) {
    Report& report = result.report;
    const auto tokens = static_cast<double>(whole.options.tokens);
    const auto& yardstick = decoded.unprotected.decode;
    result.hybrid_tokens_per_second = tokens / median(decoded.in_process.decode);
    result.int8_tokens_per_second = tokens / median(yardstick);
    result.ratio = median_ratio(yardstick, decoded.in_process.decode);

    const double reading = median(decoded.reading);
    report.add_row("plain read of the weights", reading,
                   static_cast<double>(whole.unprotected.bytes()), "B/s");
    add_rows("unprotected int8", decoded.unprotected, whole.options, report);
    add_rows("hybrid in process", decoded.in_process, whole.options, report);
    add_rows("hybrid over TLS", decoded.over_tls, whole.options, report);
    add_rows("hybrid in shared memory", decoded.in_memory, whole.options, report);
    report.add_row("offline work for a token", result.offline_seconds_per_token, 1, "tokens/s");
    report.add_figure("unprotected_read", tokens * median_ratio(decoded.reading, yardstick));
    report.add_figure("decode_in_process", result.ratio);
    report.add_figure("decode_tls", median_ratio(yardstick, decoded.over_tls.decode));
    report.add_figure("decode_shm", median_ratio(yardstick, decoded.in_memory.decode));
    report.add_figure("prefill_tls",
                      median_ratio(decoded.unprotected.prefill, decoded.over_tls.prefill));
}

void report_rounds(const std::vector<RoundResult>& rounds, Report& report) {
    for (const RoundResult& round : rounds) {
        const std::string shape = std::to_string(round.rows) + " x " + std::to_string(round.n);
        report.add_row("TLS alone, a round " + shape, 1e-6 * round.overhead_microseconds, 1,
                       "rounds/s");
    }
    report.add_figure("tls_round_us", median_overhead(rounds));
}

/// Products that Charlie has made once a session is open: what a first message would wait for.
double products_at_opening(const WholeModel& whole) {
    protocol::DavidSession david(whole.offloaded);
    protocol::InProcessTransport local(david);
    protocol::SessionOptions without_stock;
    without_stock.stock.depth = 0;
    without_stock.shared = with_masks(whole, 0).shared;
    const engines::HybridEngine engine(whole.charlie, whole.offloaded.weights, whole.check, local,
                                       without_stock);
    const RunStatistics so_far = engine.statistics();
    return static_cast<double>(so_far.charlie_multiplications + so_far.david_multiplications +
                               so_far.offline_multiplications);
}

}  // namespace

DecodeResult measure_decode(WholeModel& whole) {
    Hybrids hybrids(whole);
    const Decoded decoded = run_all(whole, hybrids);
    DecodeResult result;
    // The masks of every repetition, and the set that is ready.
    const auto made =
        static_cast<double>((hybrids.masks - 1) * whole.options.repetitions + hybrids.masks);
    result.offline_seconds_per_token = whole.stock
                                           ? mask_seconds_per_token(whole)
                                           : hybrids.in_process.statistics().offline_seconds / made;
    report_decode(whole, decoded, result);
    result.report.add_figure("session_open_products", products_at_opening(whole));
    std::vector<base::ProductShape> shapes;
    for (const auto& group : whole.charlie.groups()) shapes.push_back(group.product());
    report_rounds(measure_rounds(shapes, hybrids.over_tls.session(), hybrids.in_process.session(),
                                 rounds_per_shape),
                  result.report);
    return result;
}

}  // namespace slip::bench

#include "experiments/bench/serve.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "optimized/api/access.hpp"
#include "optimized/base/error.hpp"
#include "optimized/engines/hybrid_engine.hpp"
#include "slip/scheduler.hpp"

namespace slip::bench {
namespace {

constexpr std::size_t together = 8;
constexpr std::size_t most_decoded = 32;

/// An engine that somebody else owns.
class Borrowed : public api::Runtime {
public:
    explicit Borrowed(graph::Engine& engine) : engine_(engine) {}
    graph::Engine& engine() override { return engine_; }

private:
    graph::Engine& engine_;
};

/// The model with no token that ends a text, so that all generations are equally long.
class Endless : public api::SplitFiles {
public:
    explicit Endless(const std::filesystem::path& artifact)
        : SplitFiles(artifact), config_(SplitFiles::config()) {
        config_.eos_token_id.reset();
        config_.further_eos_token_ids.clear();
    }
    const base::ModelConfig& config() const override { return config_; }

private:
    base::ModelConfig config_;
};

struct Lengths {
    explicit Lengths(const WholeModel& whole)
        : prompt(whole.options.prompt),
          decoded(std::min({whole.options.tokens, most_decoded,
                            whole.transformer->config().max_position_embeddings / 2})) {}
    /// Of eight generations: their prompts, and the tokens that are decoded, but the last of each,
    /// which is no input.
    std::size_t masks() const { return together * (prompt + decoded - 1) + 1; }

    std::size_t prompt;
    std::size_t decoded;  // of each generation, the first one among them
};

/// Generations that begin together. The clock runs from the step in which the last of them got its
/// first token to the end.
class Together {
public:
    Together(const WholeModel& whole, Scheduler& scheduler, const Lengths& lengths,
             std::size_t generations)
        : left_to_begin_(generations), left_to_end_(generations), lengths_(lengths) {
        const auto vocabulary = static_cast<TokenId>(whole.transformer->config().vocab_size);
        for (std::size_t i = 0; i < generations; ++i) {
            GenerationRequest request;
            for (std::size_t t = 0; t < lengths.prompt; ++t) {
                request.prompt.push_back(static_cast<TokenId>(3 + 7 * t + 11 * i) % vocabulary);
            }
            request.sampling.max_tokens = lengths.decoded;
            scheduler.submit(
                request, [this, first = true](TokenId, auto) mutable { return saw(first); },
                [this](const GenerationEnd& end) { ended(end); });
        }
    }
    /// Tokens per second. Throws InternalError if a generation did not give all its tokens.
    double wait() {
        if (!all_ended_.get_future().get()) throw InternalError("a generation ended too early");
        return static_cast<double>(tokens_) / std::chrono::duration<double>(last_ - start_).count();
    }

private:
    // In the scheduler's thread.
    bool saw(bool& first) {
        last_ = Clock::now();
        if (left_to_begin_ == 0) ++tokens_;
        if (first && --left_to_begin_ == 0) start_ = last_;
        first = false;
        return true;
    }
    void ended(const GenerationEnd& end) {
        good_ = good_ && end.receipt.generated_tokens == lengths_.decoded;
        if (--left_to_end_ == 0) all_ended_.set_value(good_);
    }

    std::size_t left_to_begin_;
    std::size_t left_to_end_;
    const Lengths lengths_;
    std::size_t tokens_ = 0;  // since start_
    bool good_ = true;
    Clock::time_point start_{}, last_{};
    std::promise<bool> all_ended_;
};

/// One engine behind a scheduler: the seconds per token of every repetition.
class Contestant {
public:
    Contestant(std::string name, const WholeModel& whole, graph::Engine& engine,
               const Lengths& lengths)
        : name_(std::move(name)),
          whole_(whole),
          lengths_(lengths),
          scheduler_(Access::language_model(std::make_unique<Endless>(whole.options.artifact),
                                            [&] { return std::make_unique<Borrowed>(engine); })) {}

    void run_alone() {
        double seconds = 0;
        for (std::size_t i = 0; i < together; ++i) {
            seconds += 1 / Together(whole_, scheduler_, lengths_, 1).wait();
        }
        alone.push_back(seconds / together);
        settle();
    }
    void run_together() {
        company.push_back(1 / Together(whole_, scheduler_, lengths_, together).wait());
        settle();
    }
    void report_in(Report& report) const {
        const auto row = [&](const std::string& what, const std::vector<double>& seconds) {
            if (seconds.empty()) return;
            const double token = median(seconds);
            report.rows.push_back({what + name_, token, 1 / token, "tokens/s"});
        };
        row("1 generation, ", alone);
        row("8 generations, ", company);
    }

    std::vector<double> alone, company;

private:
    /// Until the engine is at rest: the scheduler's thread has counted what it told.
    void settle() {
        expected_ += together;
        while (scheduler_.statistics().generations < expected_) std::this_thread::yield();
    }

    const std::string name_;
    const WholeModel& whole_;
    const Lengths lengths_;
    Scheduler scheduler_;
    std::uint64_t expected_ = 0;
};

template <class P>
Report measure(WholeModel& whole) {
    const Lengths lengths(whole);
    const std::unique_ptr<Transport> link = whole.first->connect();
    const std::unique_ptr<Transport> live_link = whole.first->connect();
    engines::HybridEngineOf<P> stocked(whole.charlie, whole.offloaded.weights, *link,
                                       whole.with_second_david(lengths.masks(), lengths.masks()));
    protocol::SessionOptions own;
    own.pool.depth = own.pool.batch = together;
    engines::HybridEngineOf<P> making(whole.charlie, whole.offloaded.weights, *live_link, own);
    Contestant open("unprotected int8", whole, whole.unprotected, lengths);
    Contestant tls("hybrid over TLS", whole, stocked, lengths);
    Contestant live("hybrid over TLS, masks made meanwhile", whole, making, lengths);
    for (std::size_t i = 0; i < whole.options.repetitions; ++i) {
        stocked.wait_until_ready(lengths.masks());
        open.run_alone();
        tls.run_alone();
        stocked.wait_until_ready(lengths.masks());
        open.run_together();
        tls.run_together();
        live.run_together();
        making.wait_until_ready(together);
    }
    Report report;
    for (const Contestant* one : {&open, &tls, &live}) one->report_in(report);
    report.figures.push_back({"batch8_over_batch1", median_ratio(tls.alone, tls.company)});
    report.figures.push_back({"batch8_over_unprotected", median_ratio(open.company, tls.company)});
    return report;
}

}  // namespace

Report measure_serve(WholeModel& whole) {
    return whole.with_profile([&]<class P>(P) { return measure<P>(whole); });
}

}  // namespace slip::bench

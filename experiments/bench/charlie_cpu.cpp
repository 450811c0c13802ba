#include "experiments/bench/charlie_cpu.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "experiments/bench/byte_server.hpp"
#include "experiments/bench/cost.hpp"
#include "optimized/base/error.hpp"
#include "optimized/engines/hybrid_engine.hpp"
#include "optimized/protocol/mask_stream.hpp"

namespace slip::bench {
namespace {

using base::require;

/// Columns of a message in the second figure, and of a REQUEST.
constexpr std::size_t together = 16;
/// Waits sleep at once.
constexpr TimeLimits asleep{.awake = std::chrono::microseconds(0)};

/// Processor time of this process so far.
struct ProcessTime {
    double user = 0;
    double system = 0;
    double total() const { return user + system; }

    static ProcessTime now() {
        rusage usage{};
        require(::getrusage(RUSAGE_SELF, &usage) == 0, "getrusage() has failed");
        const auto seconds = [](const timeval& time) {
            return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
        };
        return {seconds(usage.ru_utime), seconds(usage.ru_stime)};
    }
};

/// Of one contestant in every repetition, for one token.
struct TokenTimes {
    std::vector<double> user, system, total;

    template <class Work>
    void add(std::size_t tokens, const Work& work) {
        const ProcessTime start = ProcessTime::now();
        work();
        const ProcessTime end = ProcessTime::now();
        const auto count = static_cast<double>(tokens);
        user.push_back((end.user - start.user) / count);
        system.push_back((end.system - start.system) / count);
        total.push_back((end.total() - start.total()) / count);
    }
    void report_as(const std::string& name, Report& report) const {
        const auto row = [&](const std::string& what, const std::vector<double>& seconds) {
            const double middle = median(seconds);
            report.rows.push_back({"CPU, " + name + what, middle, middle > 0 ? 1 / middle : 0,
                                   "tokens per CPU second"});
        };
        row("", total);
        row(", user", user);
        row(", system", system);
    }
};

/// Sequences, and steps of one token each.
struct Decode {
    std::size_t sequences;
    std::size_t steps;
    std::size_t tokens() const { return sequences * steps; }

    void run(const WholeModel& whole, graph::Engine& engine) const {
        Sequences all(whole, sequences);
        for (std::size_t i = 0; i < steps; ++i) all.forward(engine);
    }
};

/// Of D1 and of D2, who are one here.
constexpr int answers_per_message = 2;

/// What Charlie cannot do without: bytes and masks of steps of 16 columns.
template <class P>
class Bound {
public:
    explicit Bound(const WholeModel& whole)
        : weights_(whole.offloaded.weights),
          bytes_(message_bytes<P>(weights_, together)),
          server_(ServerRole::david, whole.another_processor,
                  [this] { return answer_bytes(bytes_, answers_per_message); }),
          link_(server_.connect(asleep)) {}

    void step() {
        for (std::size_t g = 0; g < weights_.size(); ++g) {
            const std::size_t n = weights_[g].shape().inputs();
            masks_.resize(n);
            for (std::size_t c = 0; c < together; ++c) {
                keys_.draw<P>(protocol::StreamTag::mask, next_index_++, std::span(masks_));
            }
            frame_.resize(bytes_[g].up);
            link_->send(frame_);
            frame_.resize(bytes_[g].down);
            for (int i = 0; i < answers_per_message; ++i) {
                link_->await_frame();
                link_->receive(frame_);
            }
        }
    }

private:
    const kernels::OffloadedWeights& weights_;
    const std::vector<MessageBytes> bytes_;
    const ForkedServer server_;
    const std::unique_ptr<Transport> link_;
    protocol::KeyStream keys_;
    std::uint64_t next_index_ = 0;
    std::vector<typename P::Residue> masks_;
    std::vector<std::byte> frame_;
};

/// Charlie with D1 and D2, whose stock is full between two decodes.
template <class P>
class Charlie {
public:
    Charlie(const WholeModel& whole, std::size_t depth)
        : whole_(whole),
          depth_(depth),
          link_(whole.first->connect(asleep)),
          engine_(whole.charlie, whole.offloaded.weights, *link_,
                  whole.with_second_david(depth, together, asleep)) {
        engine_.wait_until_ready(depth_);
    }

    /// Throws InternalError unless as many cancellations were accepted as masks were spent.
    void run(const Decode& decode) {
        const auto columns = [&] {
            const protocol::SessionStatistics session = engine_.statistics().session;
            return session.supply.columns - session.columns;
        };
        const std::uint64_t more = columns();
        decode.run(whole_, engine_);
        engine_.wait_until_ready(depth_);
        require(columns() == more, "the stock was not filled again");
    }
    engines::HybridStatistics statistics() const { return engine_.statistics(); }

private:
    const WholeModel& whole_;
    const std::size_t depth_;
    const std::unique_ptr<Transport> link_;
    engines::HybridEngineOf<P> engine_;
};

std::size_t whole_batches(std::size_t columns) {
    return (columns + together - 1) / together * together;
}

template <class P>
Report measure(WholeModel& whole) {
    Bound<P> bound(whole);  // forks
    const Decode one{1, whole.options.tokens};
    const Decode many{together, std::max<std::size_t>(whole.options.tokens / together, 1)};
    Charlie<P> charlie(whole, whole_batches(std::max(one.tokens(), many.tokens())));
    TokenTimes unprotected, hybrid, unprotected_many, hybrid_many, bytes;
    const ScheduleShape schedule = schedule_of(whole.charlie);
    Multiplications token;
    for (std::size_t i = 0; i < whole.options.repetitions; ++i) {
        unprotected.add(one.tokens(), [&] { one.run(whole, whole.unprotected); });
        const auto before = charlie.statistics();
        hybrid.add(one.tokens(), [&] { charlie.run(one); });
        token = counted_per_token(before, charlie.statistics(), schedule, one.tokens());
        unprotected_many.add(many.tokens(), [&] { many.run(whole, whole.unprotected); });
        hybrid_many.add(many.tokens(), [&] { charlie.run(many); });
        bytes.add(many.tokens(), [&] {
            for (std::size_t step = 0; step < many.steps; ++step) bound.step();
        });
    }
    Report report;
    report_epsilon(schedule, token, report);
    unprotected.report_as("unprotected int8", report);
    hybrid.report_as("Charlie", report);
    unprotected_many.report_as("unprotected int8, 16 columns", report);
    hybrid_many.report_as("Charlie, 16 columns", report);
    bytes.report_as("bytes and AES, 16 columns", report);
    const auto figure = [&](const char* name, const TokenTimes& a, const TokenTimes& b) {
        report.figures.push_back({name, median_ratio(a.total, b.total)});
    };
    figure("charlie_cpu_share", hybrid, unprotected);
    figure("charlie_cpu_share_16", hybrid_many, unprotected_many);
    figure("charlie_cpu_share_16_bound", bytes, unprotected_many);
    figure("charlie_cpu_share_16_of_1", hybrid_many, unprotected);
    return report;
}

}  // namespace

Report measure_charlie_cpu(WholeModel& whole) {
    return whole.with_profile([&]<class P>(P) { return measure<P>(whole); });
}

}  // namespace slip::bench

#include "experiments/bench/serving/serve.hpp"

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "experiments/bench/serving/bound.hpp"
#include "experiments/bench/serving/contestant.hpp"
#include "experiments/bench/serving/http.hpp"
#include "optimized/engines/hybrid_engine.hpp"

namespace slip::bench {
namespace {

/// Seconds of every repetition.
struct ServeTimes {
    std::vector<double> alone, company, first;  // of a token, of a token, of a first token
};

/// A token per median of `seconds`.
void add_tokens(const std::string& name, const std::vector<double>& seconds, Report& report) {
    report.add_row(name, median(seconds), 1, "tokens/s");
}

void report_as(const std::string& name, const ServeTimes& times, Report& report) {
    add_tokens("1 generation, " + name, times.alone, report);
    add_tokens("8 generations, " + name, times.company, report);
    add_tokens("first token, " + name, times.first, report);
}

/// From a full stock to a full one, so that every mask that was spent has been replaced in the
/// time. Lattice masks come in blocks that outlast a repetition: measure_masks() has their steady
/// state.
class SteadyState {
public:
    SteadyState(const WholeModel& whole, const ServeLengths& lengths)
        : tokens_(static_cast<double>(together * lengths.tokens)),
          link_(whole.server->connect()),
          engine_(whole.charlie, whole.offloaded.weights, whole.check, *link_, {}),
          contestant_(whole, engine_, lengths) {}

    void run() {
        engine_.wait_until_ready(depth);
        seconds_.push_back(seconds_of([&] {
                               contestant_.decode(together);
                               engine_.wait_until_ready(depth);
                           }) /
                           tokens_);
    }
    const std::vector<double>& seconds_per_token() const { return seconds_; }

private:
    static constexpr std::size_t depth = masks::StockOptions{}.depth;

    const double tokens_;
    const std::unique_ptr<Transport> link_;
    engines::HybridEngine engine_;
    ServeContestant contestant_;
    std::vector<double> seconds_;
};

/// All contestants of one run.
class ServeContest {
public:
    explicit ServeContest(WholeModel& whole)
        : whole_(whole),
          lengths_(whole),
          bound_(bound_of(whole)),  // forks, so it comes first
          products_(whole, together),
          products_of_half_(whole, together / 2),
          products_of_prompt_(whole, lengths_.prompt),
          link_(whole.server->connect()),
          memory_(whole.server->connect_in_memory()),
          engine_(protected_by(whole, *link_, lengths_.masks())),
          in_memory_(protected_by(whole, *memory_, lengths_.masks())),
          open_(whole, whole.unprotected, lengths_),
          hybrid_(whole, engine_, lengths_),
          local_(whole, in_memory_, lengths_),
          http_(whole, open_, lengths_),
          steady_(whole.charlie.set().lattice ? nullptr
                                              : std::make_unique<SteadyState>(whole, lengths_)) {}

    void repeat() {
        if (bound_) bound_->measure();
        davids_.push_back(mean_seconds([&] { products_.multiply(); }));
        davids_twice_.push_back(2 * mean_seconds([&] { products_of_half_.multiply(); }));
        davids_first_.push_back(seconds_of([&] { products_of_prompt_.multiply(); }));
        unprotected_.alone.push_back(open_.decode(1));
        with_stock([&] { protected_.alone.push_back(hybrid_.decode(1)); });
        unprotected_.company.push_back(open_.decode(together));
        over_http_.push_back(http_.decode(together));
        with_stock([&] { protected_.company.push_back(hybrid_.decode(together)); });
        with_stock([&] { beside_.alone.push_back(local_.decode(1)); });
        with_stock([&] { beside_.company.push_back(local_.decode(together)); });
        unprotected_.first.push_back(open_.first_token());
        with_stock([&] { protected_.first.push_back(hybrid_.first_token()); });
        with_stock([&] { beside_.first.push_back(local_.first_token()); });
        if (steady_) steady_->run();
    }

    Report report() const {
        Report report;
        report_as("unprotected int8", unprotected_, report);
        report_as("hybrid over TLS", protected_, report);
        report_as("hybrid in shared memory", beside_, report);
        add_tokens("8 streams over HTTP, unprotected int8", over_http_, report);
        if (steady_)
            add_tokens("8 generations, masks made meanwhile", steady_->seconds_per_token(), report);
        if (bound_) bound_->report_in(report);
        add_tokens("David's products alone, per token of 8", per_token(davids_), report);
        add_tokens("the same in two batches of 4", per_token(davids_twice_), report);
        add_tokens("David's products alone, of a prompt", davids_first_, report);
        const auto figure = [&](const char* name, const auto& a, const auto& b) {
            report.add_figure(name, median_ratio(a, b));
        };
        figure("batch8_over_batch1", protected_.alone, protected_.company);
        figure("batch8_over_batch1_shm", beside_.alone, beside_.company);
        figure("batch8_over_unprotected", unprotected_.company, protected_.company);
        figure("first_token", protected_.first, unprotected_.first);
        const double factor = davids_factor(whole_);
        const auto of_bound = [&](const char* name, const auto& a, const auto& b) {
            report.add_figure(name, factor * median_ratio(a, b));
        };
        of_bound("batch8_bound", unprotected_.company, protected_.company);
        of_bound("batch8_bound_shm", unprotected_.company, beside_.company);
        of_bound("first_token_bound", unprotected_.first, protected_.first);
        of_bound("first_token_bound_shm", unprotected_.first, beside_.first);
        figure("first_token_share", davids_first_, protected_.first);
        figure("first_token_share_shm", davids_first_, beside_.first);
        figure("davids_share", per_token(davids_), protected_.company);
        figure("davids_share_shm", per_token(davids_), beside_.company);
        figure("two_batches", protected_.company, per_token(davids_twice_));
        figure("two_batches_shm", beside_.company, per_token(davids_twice_));
        figure("endpoint_over_library", unprotected_.company, over_http_);
        return report;
    }

private:
    static std::unique_ptr<ServeBound> bound_of(WholeModel& whole) {
        if (whole.charlie.set().hides_weights) return nullptr;  // Charlie works otherwise
        return std::make_unique<ServeBound>(whole);
    }
    static std::vector<double> per_token(std::vector<double> of_a_step) {
        for (double& seconds : of_a_step) seconds /= static_cast<double>(together);
        return of_a_step;
    }
    /// All begin alike: with a full stock, and nothing under way.
    template <class Work>
    void with_stock(const Work& work) {
        constexpr std::size_t all = std::numeric_limits<std::size_t>::max();
        engine_.wait_until_ready(all);
        in_memory_.wait_until_ready(all);
        work();
    }

    const WholeModel& whole_;
    const ServeLengths lengths_;
    const std::unique_ptr<ServeBound> bound_;  // of the paper's split
    DavidsProducts products_, products_of_half_, products_of_prompt_;
    const std::unique_ptr<Transport> link_, memory_;
    engines::HybridEngine engine_, in_memory_;
    ServeContestant open_, hybrid_, local_;
    HttpContestant http_;
    const std::unique_ptr<SteadyState> steady_;  // of uniform masks
    ServeTimes unprotected_, protected_, beside_;
    std::vector<double> over_http_, davids_, davids_twice_, davids_first_;
};

}  // namespace

std::string serve_processors(const WholeModel& whole) {
    return "unprotected: processor " + std::to_string(whole.processor) +
           "; hybrid: Charlie and the endpoint processor " + std::to_string(whole.processor) +
           ", David and clients together processor " + std::to_string(whole.another_processor);
}

Report measure_serve(WholeModel& whole, const std::function<void(const std::string&)>& tell) {
    ServeContest contest(whole);
    tell("all sessions are open");
    const std::string all = std::to_string(whole.options.repetitions);
    for (std::size_t i = 0; i < whole.options.repetitions; ++i) {
        contest.repeat();
        tell("repetition " + std::to_string(i + 1) + " of " + all);
    }
    return contest.report();
}

}  // namespace slip::bench

#include "experiments/bench/hidden.hpp"

#include <map>
#include <random>
#include <string>

#include "experiments/bench/machine.hpp"
#include "experiments/bench/masks.hpp"
#include "optimized/artifact/layout.hpp"

namespace slip::bench {
namespace {

/// Inputs and outputs of a group of the graph, for `count` columns.
class Columns {
public:
    Columns(const base::GroupShape& group, std::size_t count)
        : n_(group.n), count_(count), input_(count * group.n) {
        std::mt19937 random(1);
        std::normal_distribution<float> normal;
        for (float& value : input_) value = normal(random);
        for (const base::MemberShape& member : group.members) {
            outputs_.emplace_back(count * member.m);
        }
        for (std::size_t i = 0; i < outputs_.size(); ++i) {
            views_.emplace_back(outputs_[i].data(), count, group.members[i].m);
        }
    }
    void apply(base::Engine& engine, base::GroupId group) {
        engine.apply(group, {input_.data(), count_, n_}, views_);
    }

private:
    std::size_t n_, count_;
    std::vector<float> input_;
    std::vector<std::vector<float>> outputs_;
    std::vector<base::MatrixView<float>> views_;
};

std::vector<Columns> columns_of(const WholeModel& whole, std::size_t count) {
    std::vector<Columns> all;
    for (const base::GroupShape& group : graph::groups_of(whole.charlie.config())) {
        all.emplace_back(group, count);
    }
    return all;
}

void apply_all(base::Engine& engine, std::vector<Columns>& columns) {
    for (base::GroupId g = 0; g < columns.size(); ++g) columns[g].apply(engine, g);
}

/// Another transport, and this thread's processor time in it: here that of a David in this process,
/// all he does, and of the copies between him and Charlie.
class TimedTransport : public Transport {
public:
    explicit TimedTransport(Transport& inner) : inner_(inner) {}
    void send(std::span<const std::byte> bytes) override {
        seconds += processor_seconds_of([&] { inner_.send(bytes); });
    }
    void receive(std::span<std::byte> bytes) override {
        seconds += processor_seconds_of([&] { inner_.receive(bytes); });
    }
    double seconds = 0;

private:
    Transport& inner_;
};

/// Seconds of every repetition, for all groups once.
struct Times {
    std::vector<double> unprotected, david, charlie;
};

Times run_all(WholeModel& whole, std::size_t count) {
    protocol::DavidSession david(whole.offloaded);
    protocol::InProcessTransport local(david);
    TimedTransport timed(local);
    engines::HybridEngine hybrid = protected_by(whole, timed, count);
    std::vector<Columns> columns = columns_of(whole, count);
    Times times;
    for (std::size_t r = 0; r < whole.options.repetitions + 1; ++r) {
        hybrid.wait_until_ready(count);
        const double before = david.seconds(), before_transport = timed.seconds;
        const double both = processor_seconds_of([&] { apply_all(hybrid, columns); });
        const double davids = david.seconds() - before;
        const double others = timed.seconds - before_transport;
        const double open = seconds_of([&] { apply_all(whole.unprotected, columns); });
        if (r == 0) continue;  // memory is reserved, and caches are cold
        times.david.push_back(davids);
        times.charlie.push_back(both - others);
        times.unprotected.push_back(open);
    }
    return times;
}

/// _1b and _7b for the widths of TinyLlama and Llama 2.
std::string model_suffix(const WholeModel& whole) {
    const std::size_t width = whole.charlie.config().hidden_size;
    return width == 2048 ? "_1b" : width == 4096 ? "_7b" : "";
}

void report_charlie(const WholeModel& whole, const std::map<std::size_t, Times>& all,
                    Report& report) {
    const double masks = mask_seconds_per_token(whole);
    report.add_row("masks of a column, processor time", masks, 1, "columns/s");
    for (const std::size_t count : {hidden_columns.front(), hidden_columns.back()}) {
        const Times& times = all.at(count);
        const auto columns = static_cast<double>(count);
        const double online = median(times.charlie) / columns;
        report.add_row("Charlie without masks, " + std::to_string(count) + " columns", online, 1,
                       "columns/s");
        report.add_figure("charlie_hidden_" + std::to_string(count) + model_suffix(whole),
                          (online + masks) * columns / median(times.unprotected));
    }
    const Times& one = all.at(hidden_columns.front());
    report.add_figure("charlie_over_david", (median(one.charlie) + masks) / median(one.david));
}

double hint_bytes(const WholeModel& whole) {
    const auto& set = whole.charlie.set();
    std::size_t bytes = 1;
    for (const std::size_t extent : artifact::layout::hint_shape(set, 1)) bytes *= extent;
    return static_cast<double>(bytes) /
           static_cast<double>(set.lattice->rank * set.lattice->degree);
}

}  // namespace

Report measure_hidden(WholeModel& whole) {
    Report report;
    if (!whole.charlie.set().hides_weights) return report;
    const double factor = davids_factor(whole);
    std::map<std::size_t, Times> all;
    for (const std::size_t count : hidden_columns) {
        const Times& times = all[count] = run_all(whole, count);
        const std::string at = ", " + std::to_string(count) + " columns";
        const double open = median(times.unprotected), david = median(times.david);
        report.add_row("unprotected int8" + at, open, static_cast<double>(count), "columns/s");
        report.add_row("David" + at, david, static_cast<double>(count), "columns/s");
        report.add_figure("david_hidden_" + std::to_string(count),
                          median_ratio(times.david, times.unprotected) / factor);
    }
    report.add_figure("davids_factor", factor);
    report_charlie(whole, all, report);
    report.add_figure("hint_bytes", hint_bytes(whole));
    return report;
}

}  // namespace slip::bench

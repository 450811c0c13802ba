#include "experiments/bench/serving/bound.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "experiments/bench/serving/contestant.hpp"
#include "experiments/bench/serving/davids.hpp"
#include "optimized/engines/low_rank_factors.hpp"
#include "optimized/kernels/registry.hpp"
#include "optimized/protocol/integrity.hpp"

namespace slip::bench {
namespace {

/// Steps whose mean is one repetition.
constexpr std::size_t steps = 4;

/// Passes products on and measures how long they take.
class TimedEngine : public base::Engine {
public:
    explicit TimedEngine(base::Engine& engine) : engine_(engine) {}
    void apply(base::GroupId group, base::MatrixView<const float> input,
               std::span<const base::MatrixView<float>> outputs) override {
        seconds_ += seconds_of([&] { engine_.apply(group, input, outputs); });
    }
    double seconds() const { return seconds_; }

private:
    base::Engine& engine_;
    double seconds_ = 0;
};

/// Charlie's work on eight columns of every group.
class CharliesColumns {
public:
    explicit CharliesColumns(const WholeModel& whole)
        : planes_(whole.charlie.set().planes),
          groups_(whole.charlie.groups()),
          check_(whole.check),
          factors_(whole.charlie.groups()) {
        std::size_t inputs = 0;
        std::size_t outputs = 0;
        std::size_t ranks = 0;
        for (const artifact::CharlieGroup& group : groups_) {
            inputs = std::max(inputs, group.product().inputs());
            outputs = std::max(outputs, group.product().outputs());
            std::size_t rank = 0;
            for (const auto& member : group.members) rank += member.rank;
            ranks = std::max(ranks, rank);
        }
        q_.resize(inputs);
        x_.resize(planes_ * inputs);
        y_.resize(planes_ * outputs);
        lifted_.resize(outputs);
        integers_.resize(outputs);
        z_.resize(ranks);
        zeros_.resize(planes_ * std::max(inputs, outputs));
    }

    void work() {
        for (base::GroupId g = 0; g < groups_.size(); ++g) {
            for (std::size_t c = 0; c < together; ++c) work_on(g);
        }
    }

private:
    void work_on(base::GroupId g) {
        const kernels::Backend& backend = kernels::active();
        const base::ProductShape shape = groups_[g].product();
        const auto x = std::span(x_).first(planes_ * shape.n);
        const auto y = std::span(y_).first(planes_ * shape.rows);
        backend.mask(q_.data(), zeros_.data(), shape.n, planes_, x.data());
        base::require(check_.accepts(g, x, y), "zeros are the product of zeros");
        backend.unmask(y.data(), zeros_.data(), shape.rows, planes_, lifted_.data());
        std::size_t row = 0;
        for (std::size_t i = 0; i < groups_[g].members.size(); ++i) {
            factors_.inner(g, i, q_.data(), z_.data());
            factors_.outer(g, i, z_.data(), lifted_.data() + row, integers_.data() + row);
            row += groups_[g].members[i].shape.m;
        }
    }

    const std::size_t planes_;
    const std::vector<artifact::CharlieGroup>& groups_;
    const protocol::IntegrityCheck& check_;
    const engines::LowRankFactors factors_;
    std::vector<std::int16_t> q_;
    std::vector<std::uint8_t> x_, y_, zeros_;
    std::vector<std::int64_t> lifted_, z_, integers_;
};

/// Messages of eight columns to a process that only answers.
class Wire {
public:
    Wire(std::vector<MessageBytes> groups, std::size_t processor)
        : groups_(std::move(groups)),
          server_(processor, [this] { return answer_bytes(groups_); }),
          link_(server_.connect()) {}

    void exchange() {
        for (const MessageBytes& group : groups_) {
            frame_.resize(group.up);
            link_->send(frame_);
            frame_.resize(group.down);
            link_->await_frame();
            link_->receive(frame_);
        }
    }

private:
    const std::vector<MessageBytes> groups_;
    const ForkedServer server_;
    const std::unique_ptr<Transport> link_;
    std::vector<std::byte> frame_;
};

}  // namespace

DavidsProducts::DavidsProducts(const WholeModel& whole, std::size_t columns)
    : weights_(whole.offloaded.weights),
      residues_(columns * whole.charlie.set().planes),
      planes_(whole.charlie.set().planes) {
    std::size_t inputs = 0, outputs = 0;
    for (const kernels::GroupWeights& w : weights_) {
        inputs = std::max(inputs, w.shape().inputs());
        outputs = std::max(outputs, w.shape().outputs());
    }
    x_.resize(residues_ * inputs);
    y_.resize(residues_ * outputs);
}

void DavidsProducts::multiply() {
    for (const kernels::GroupWeights& w : weights_) {
        w.apply(std::span(x_).first(residues_ * w.shape().inputs()),
                std::span(y_).first(residues_ * w.shape().outputs()), planes_);
    }
}

double mean_seconds(const std::function<void()>& work) {
    return seconds_of([&] {
               for (std::size_t i = 0; i < steps; ++i) work();
           }) /
           static_cast<double>(steps);
}

struct ServeBound::Parts {
    explicit Parts(WholeModel& model)
        : whole(model),
          wire(message_bytes(model.offloaded.weights, model.charlie.set().planes, together),
               model.another_processor),
          products(model, together),
          columns(model) {}

    WholeModel& whole;
    Wire wire;
    DavidsProducts products;
    CharliesColumns columns;
};

ServeBound::ServeBound(WholeModel& whole) : parts_(std::make_unique<Parts>(whole)) {}

ServeBound::~ServeBound() = default;

void ServeBound::measure() {
    TimedEngine timed(parts_->whole.unprotected);
    Sequences sequences(parts_->whole, together);
    sequences.forward(timed);
    const double before = timed.seconds();
    step_.push_back(mean_seconds([&] { sequences.forward(timed); }));
    rest_.push_back(step_.back() - (timed.seconds() - before) / static_cast<double>(steps));
    products_.push_back(mean_seconds([&] { parts_->products.multiply(); }));
    kernels_.push_back(mean_seconds([&] { parts_->columns.work(); }));
    wire_.push_back(mean_seconds([&] { parts_->wire.exchange(); }));
}

void ServeBound::report_in(Report& report) const {
    std::vector<double> least;
    for (std::size_t i = 0; i < step_.size(); ++i) {
        least.push_back(rest_[i] + products_[i] + wire_[i] + kernels_[i]);
    }
    const auto row = [&](const std::string& name, const std::vector<double>& seconds) {
        report.add_row("a step of 8, " + name, median(seconds), 1, "steps/s");
    };
    row("unprotected int8", step_);
    row("without products", rest_);
    row("David's products alone", products_);
    row("bytes over TLS alone", wire_);
    row("Charlie's kernels alone", kernels_);
    row("the least over TLS", least);
    report.add_figure("batch8_in_turn", median_ratio(step_, least));
}

}  // namespace slip::bench

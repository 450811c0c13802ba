#include "experiments/bench/offline_rate.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "optimized/base/error.hpp"
#include "optimized/protocol/frames.hpp"
#include "optimized/protocol/thread_clock.hpp"

namespace slip::bench {
namespace {

namespace wire = protocol::wire;
using base::GroupId;
using base::require;
using kernels::GroupWeights;

/// Of a REQUEST, as a stock asks by default.
constexpr std::size_t columns = protocol::PoolOptions{}.batch;
constexpr std::size_t window = 4;  // REQUESTs that are unanswered (OFF-5)

/// A Charlie who asks for cancellations and looks at none.
template <class P>
class Receiver {
public:
    explicit Receiver(const WholeModel& whole)
        : weights_(whole.offloaded.weights), link_(whole.second->connect()) {
        std::array<std::byte, wire::length_bytes + wire::key_frame_bytes> frame{};
        const std::array<std::uint8_t, base::parameters::session_key_bytes> key{1, 2, 3};
        wire::encode_key(
            {base::parameters::protocol_version, protocol::profile_of<P>, whole.offloaded.digest},
            key, frame);
        link_->send(frame);
        receive(wire::FrameType::ready);
    }

    /// CANCELLATIONS of every group.
    void receive_all() {
        for (GroupId g = 0; g < weights_.size(); ++g) {
            ask(g);
            if (g + 1 >= window) receive(wire::FrameType::cancellations);
        }
        for (std::size_t i = 1; i < std::min(window, weights_.size() + 1); ++i) {
            receive(wire::FrameType::cancellations);
        }
    }

private:
    void ask(GroupId group) {
        std::array<std::byte, wire::columns_header_bytes> frame{};
        wire::encode_request({next_index_, group, columns}, frame);
        next_index_ += columns;
        link_->send(frame);
    }
    void receive(wire::FrameType expected) {
        std::array<std::byte, wire::length_bytes> length{};
        link_->await_frame();
        link_->receive(length);
        payload_.resize(wire::decode_length(length, wire::max_frame_length));
        link_->receive(payload_);
        require(wire::offline_frame_type(payload_) == expected, "D2 sends another frame");
    }

    const kernels::OffloadedWeights& weights_;
    const std::unique_ptr<Transport> link_;
    std::uint64_t next_index_ = 0;
    std::vector<std::byte> payload_;
};

/// The products alone.
template <class P>
class Products {
public:
    explicit Products(const kernels::OffloadedWeights& weights) : weights_(weights) {
        std::size_t inputs = 0, outputs = 0;
        for (const GroupWeights& w : weights) {
            inputs = std::max(inputs, w.shape().inputs());
            outputs = std::max(outputs, w.shape().outputs());
        }
        std::mt19937_64 random(1);
        std::uniform_int_distribution<typename P::Residue> any(0, P::p - 1);
        for (std::size_t i = 0; i < columns * inputs; ++i) x_.push_back(any(random));
        y_.resize(columns * outputs);
    }
    void multiply_all() {
        for (const GroupWeights& w : weights_) {
            w.apply<P>(std::span(std::as_const(x_)).first(columns * w.shape().inputs()),
                       std::span(y_).first(columns * w.shape().outputs()));
        }
    }

private:
    const kernels::OffloadedWeights& weights_;
    std::vector<typename P::Residue> x_, y_;
};

template <class P>
Report measure(const WholeModel& whole) {
    Receiver<P> receiver(whole);
    Products<P> products(whole.offloaded.weights);
    receiver.receive_all();  // warm
    products.multiply_all();
    std::vector<double> multiplying, multiplying_cpu, answering, answering_cpu;
    for (std::size_t i = 0; i < whole.options.repetitions; ++i) {
        const double own = protocol::thread_seconds();
        multiplying.push_back(seconds_of([&] { products.multiply_all(); }));
        multiplying_cpu.push_back(protocol::thread_seconds() - own);
        const double his = whole.second->seconds();
        answering.push_back(seconds_of([&] { receiver.receive_all(); }));
        answering_cpu.push_back(whole.second->seconds() - his);
    }
    Report report;
    const auto row = [&](const char* name, const std::vector<double>& seconds) {
        report.rows.push_back({name, median(seconds) / columns, columns / median(seconds),
                               "cancellations of all groups/s"});
    };
    row("D2 over TLS, 16 columns", answering);
    row("D2 over TLS, 16 columns, CPU", answering_cpu);
    row("products alone, 16 columns", multiplying);
    row("products alone, 16 columns, CPU", multiplying_cpu);
    report.figures.push_back({"offline_rate", median_ratio(multiplying, answering)});
    report.figures.push_back({"offline_rate_cpu", median_ratio(multiplying_cpu, answering_cpu)});
    return report;
}

}  // namespace

Report measure_offline_rate(const WholeModel& whole) {
    return whole.with_profile([&]<class P>(P) { return measure<P>(whole); });
}

}  // namespace slip::bench

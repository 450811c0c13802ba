// What a session's seconds count: processor time where the work is done, and waiting apart. Bounds
// compare clocks of one kind, so that no machine is too slow or too busy for them.
// test: threads
#include <gtest/gtest.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "optimized/base/thread_clock.hpp"
#include "property_tests/masks/lattice_fixture.hpp"

namespace slip::testing {
namespace {

using namespace masks;
using namespace protocol;
using namespace std::chrono_literals;

constexpr double burnt_at_once = 0.05;

/// Uses the calling thread's processor; returns for how many seconds of its time.
double burn() {
    const double start = base::thread_seconds();
    while (base::thread_seconds() - start < burnt_at_once) {
    }
    return base::thread_seconds() - start;
}

/// Of all threads that this process has had.
double process_seconds() {
    timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// The only group of `model`, its hint in chunks of four rows, each opened after `before()`.
std::vector<LatticeGroup> opened_after(const LatticeModel& model, std::function<void()> before) {
    LatticeGroup group = model.groups().front();
    const std::span<const std::uint8_t> plain = group.hint;
    group.chunk_rows = 4;
    const std::size_t chunk = plain.size() / group.shape.rows * group.chunk_rows;
    group.open_hint = [=](std::size_t c, std::span<std::uint8_t> rows) {
        before();
        std::copy_n(plain.begin() + static_cast<std::ptrdiff_t>(c * chunk), rows.size(),
                    rows.begin());
    };
    return {group};
}

/// For the only group, within the norm of activations.
Columns small_column(const LatticeModel& model) {
    Columns column = some_columns(model);
    for (std::int16_t& entry : column.q) entry = static_cast<std::int16_t>(entry % 880);
    return column;
}

/// Spends the caller's time in every call, as TLS does that encrypts, or a wait that spins.
class BusyTransport : public Transport {
public:
    explicit BusyTransport(DavidSession& david) : inner_(david) {}
    void send(std::span<const std::byte> bytes) override {
        burnt += burn();
        inner_.send(bytes);
    }
    void await_frame() override { burnt += burn(); }
    void receive(std::span<std::byte> bytes) override {
        burnt += burn();
        inner_.receive(bytes);
    }

    double burnt = 0;

private:
    RecordingTransport inner_;
};

/// Two threads, each of which has a chunk of the first block's hint.
TEST(Costs, MODEL_6_the_seconds_of_a_block_are_those_of_all_threads_that_make_it) {
    const LatticeModel model({{8, 7}});
    for (const bool ahead : {false, true}) {
        std::atomic<int> opened = 0;
        std::atomic<double> burnt = 0;
        const auto busy = [&] {
            if (++opened > 2) return;                      // a later block
            while (opened < 2) std::this_thread::yield();  // for the other thread
            burnt += burn();
        };
        LatticeOptions options;
        options.ahead = ahead;
        options.threads = 2;
        const double before = process_seconds();
        SupplyStatistics found;
        {
            LatticeStock stock(lattice_set, public_seed(), opened_after(model, busy), options);
            std::vector<Mask> masks;
            if (ahead) stock.wait_until_ready(1);
            if (!ahead) stock.take(0, 1, masks);
            found = stock.statistics();
        }
        EXPECT_GE(burnt.load(), 2 * burnt_at_once);
        EXPECT_GE(found.seconds, burnt.load());
        EXPECT_LE(found.seconds, process_seconds() - before);
        EXPECT_EQ(found.late_seconds, ahead ? 0 : found.seconds);
    }
}

TEST(Costs, MODEL_6_neither_masks_made_late_nor_transports_are_charlies_online_work) {
    const LatticeModel model({{4, 7}});
    double burnt = 0;
    LatticeStock stock(lattice_set, public_seed(), opened_after(model, [&] { burnt += burn(); }),
                       on_demand());
    DavidSession david(model.david);
    BusyTransport transport(david);
    Charlie charlie(model, transport, options_for(model, stock));
    EXPECT_EQ(charlie.clock().seconds(), 0);
    transport.burnt = 0;

    const double before = base::thread_seconds();
    {
        const base::WorkClock::Run working(charlie.clock());
        round(charlie, 0, small_column(model), 4);
    }
    const double spent = base::thread_seconds() - before;

    const RunStatistics statistics = charlie.statistics();
    EXPECT_GE(burnt, burnt_at_once);
    EXPECT_GE(transport.burnt, 4 * burnt_at_once);
    EXPECT_GT(charlie.clock().seconds(), 0);
    EXPECT_LE(charlie.clock().seconds() + burnt + transport.burnt, spent);
    EXPECT_GE(statistics.late_seconds, burnt);
    EXPECT_EQ(statistics.offline_seconds, statistics.late_seconds);
    EXPECT_GT(statistics.mask_wait_seconds, 0);
    EXPECT_EQ(statistics.masks_waited_for, 1U);
}

TEST(Costs, MODEL_6_waiting_for_a_block_under_way_is_counted_apart) {
    constexpr auto held = 200ms;
    const LatticeModel model({{4, 7}});
    std::atomic<LatticeStock*> stock = nullptr;
    std::atomic<bool> under_way = false;
    const auto hold = [&] {  // until a message waits, and then a while
        if (under_way.exchange(true)) return;
        while (stock.load() == nullptr || stock.load()->statistics().used == 0) {
            std::this_thread::sleep_for(1ms);
        }
        std::this_thread::sleep_for(held);
    };
    LatticeStock own(lattice_set, public_seed(), opened_after(model, hold), {});
    stock = &own;
    Connection connection(model, options_for(model, own));
    while (!under_way) std::this_thread::sleep_for(1ms);

    const double before = base::thread_seconds();
    {
        const base::WorkClock::Run working(connection.charlie.clock());
        round(connection.charlie, 0, small_column(model), 4);
    }
    const double spent = base::thread_seconds() - before;

    const RunStatistics statistics = connection.charlie.statistics();
    EXPECT_LE(connection.charlie.clock().seconds(), spent);
    EXPECT_GE(statistics.mask_wait_seconds, std::chrono::duration<double>(held).count());
    EXPECT_EQ(statistics.masks_waited_for, 1U);
    EXPECT_EQ(statistics.late_seconds, 0);
    EXPECT_GT(statistics.offline_seconds, 0);
}

TEST(Costs, MODEL_6_a_clock_counts_its_runs_and_not_their_pauses) {
    base::WorkClock clock;
    {
        const base::WorkClock::Pause nothing(clock);
        burn();
    }
    EXPECT_EQ(clock.seconds(), 0);
    double outside = 0;
    const double before = base::thread_seconds();
    double inside = 0;
    for (int i = 0; i < 2; ++i) {
        outside += burn();
        const base::WorkClock::Run working(clock);
        inside += burn();
        const base::WorkClock::Pause waiting(clock);
        outside += burn();
    }
    const double spent = base::thread_seconds() - before;
    EXPECT_GE(clock.seconds(), inside);
    EXPECT_LE(clock.seconds() + outside, spent);
}

}  // namespace
}  // namespace slip::testing

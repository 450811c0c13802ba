// SERVE-1: what a receipt says; SERVE-3: whose columns a message held.
#include "optimized/serving/shared_costs.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "optimized/base/error.hpp"

namespace slip::testing {
namespace {

using serving::Participant;
using serving::SharedCosts;

constexpr base::GroupId head = 9;

/// Messages of at most `largest` columns; each costs odd numbers, so that shares are rounded. The
/// reply to message `wrong` fails.
class CountingRuntime : public api::Runtime, private base::Engine {
public:
    explicit CountingRuntime(std::size_t largest) : largest_(largest) {}
    base::Engine& engine() override { return *this; }
    RunStatistics statistics() const override { return run; }
    std::size_t columns_per_message(base::GroupId) const override { return largest_; }

    RunStatistics run;
    std::size_t wrong = std::numeric_limits<std::size_t>::max();
    std::vector<std::size_t> messages;  // their columns

private:
    void apply(base::GroupId, base::MatrixView<const float> input,
               std::span<const base::MatrixView<float>> outputs) override {
        base::require(outputs.size() == 1 && outputs[0].rows() == input.rows(), "other rows");
        std::copy(input.elements().begin(), input.elements().end(), outputs[0].data());
        messages.push_back(input.rows());
        if (messages.size() == wrong + 1) throw IntegrityError("wrong");
        run.rounds += 1;
        run.checks += 1;
        run.bytes_up += 7 * input.rows() + 3;
        run.bytes_down += 5 * input.rows() + 2;
        run.charlie_multiplications += 11 * input.rows() + 1;
        run.david_multiplications += 13 * input.rows();
    }

    const std::size_t largest_;
};

/// One product whose rows are 0, 1, 2, ...; they come back in order.
void multiply(SharedCosts& costs, base::GroupId group, std::size_t rows) {
    std::vector<float> input(rows);
    for (std::size_t i = 0; i < rows; ++i) input[i] = static_cast<float>(i);
    std::vector<float> output(rows);
    const std::array outputs{base::MatrixView<float>(output.data(), rows, 1)};
    static_cast<base::Engine&>(costs).apply(group, {input.data(), rows, 1}, outputs);
    RC_ASSERT(output == input);
}

RC_GTEST_PROP(SharedCosts, SERVE_1_shares_of_all_messages_add_up, ()) {
    const auto any = [](std::size_t least, std::size_t most) {
        return rc::gen::inRange<std::size_t>(least, most + 1);
    };
    const auto sharing = *any(1, 8).as("participants");
    const auto rows = *rc::gen::container<std::vector<std::size_t>>(sharing, any(1, 5)).as("rows");
    const auto per_token = *any(1, 3).as("columns per token");
    CountingRuntime runtime(*any(1, 20).as("columns per message"));
    std::vector<Receipt> receipts(rows.size());
    std::vector<Participant> participants;
    std::size_t all = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        participants.push_back({&receipts[i], rows[i], i % 2 == 0 ? 1U : 0U});
        all += rows[i];
    }
    SharedCosts costs(head);
    costs.begin(runtime, participants);
    multiply(costs, 0, all * per_token);
    std::size_t first = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        // Messages that overlap the participant's columns.
        const std::size_t end = first + rows[i] * per_token;
        const std::size_t largest = runtime.columns_per_message(0);
        RC_ASSERT(receipts[i].rounds == (end - 1) / largest - first / largest + 1);
        first = end;
    }
    multiply(costs, head, (rows.size() + 1) / 2);
    Receipt sum;
    for (const Receipt& receipt : receipts) {
        RC_ASSERT(receipt.checks == receipt.rounds);
        sum.add(receipt);
    }
    RC_ASSERT(sum.bytes_up == runtime.run.bytes_up);
    RC_ASSERT(sum.bytes_down == runtime.run.bytes_down);
    RC_ASSERT(sum.charlie_multiplications == runtime.run.charlie_multiplications);
    RC_ASSERT(sum.david_multiplications == runtime.run.david_multiplications);
}

/// Columns of three: 0 to 1, 2 to 4 and 5; messages of four.
TEST(SharedCosts, SERVE_3_whose_columns_the_last_message_held) {
    CountingRuntime runtime(4);
    std::array<Receipt, 3> receipts;
    SharedCosts costs(head);
    const auto begin = [&] {
        costs.begin(runtime, {{receipts.data(), 2, 1}, {&receipts[1], 3, 0}, {&receipts[2], 1, 1}});
    };
    const auto held = [&] {
        return std::vector{costs.in_last_message(0), costs.in_last_message(1),
                           costs.in_last_message(2)};
    };
    begin();
    EXPECT_EQ(held(), (std::vector{false, false, false}));
    runtime.wrong = 1;
    EXPECT_THROW(multiply(costs, 0, 6), IntegrityError);
    EXPECT_EQ(held(), (std::vector{false, true, true}));
    EXPECT_EQ(receipts[0].rounds, 1U);
    EXPECT_EQ(receipts[1].rounds, 1U) << "the second message was not accepted";
    EXPECT_EQ(receipts[2].rounds, 0U);

    begin();
    multiply(costs, head, 2);
    EXPECT_EQ(held(), (std::vector{true, false, true}));
    begin();
    EXPECT_EQ(held(), (std::vector{false, false, false})) << "no message of this step yet";
    EXPECT_THROW(multiply(costs, 0, 5), InternalError) << "columns of nobody";
}

TEST(SharedCosts, SERVE_1_a_generation_that_is_alone_pays_for_all) {
    CountingRuntime runtime(100);
    Receipt receipt;
    SharedCosts costs(head);
    costs.begin(runtime, {{&receipt, 2, 1}});
    multiply(costs, 0, 40);  // tokens that are computed again
    multiply(costs, head, 1);
    EXPECT_EQ(receipt.rounds, 2U);
    EXPECT_EQ(receipt.bytes_up, runtime.run.bytes_up);
}

}  // namespace
}  // namespace slip::testing

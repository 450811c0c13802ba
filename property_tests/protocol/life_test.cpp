// Verdicts of one life from several threads.
#include <gtest/gtest.h>

#include <functional>
#include <span>
#include <utility>

#include "property_tests/protocol/key_stream_fixture.hpp"
#include "property_tests/protocol/session_fixture.hpp"
#include "property_tests/protocol/tampering.hpp"

namespace slip::fixture {
namespace {

using namespace protocol;

/// An answer whose comparison calls a function of the test.
template <class P>
class Interrupted {
public:
    using Opener = Interrupted;
    Interrupted(Residues<P> x, Residues<P> y, std::function<void()> meanwhile)
        : x_(std::move(x)), y_(std::move(y)), meanwhile_(std::move(meanwhile)) {}
    Interrupted(Interrupted&&) noexcept = default;
    Interrupted& operator=(Interrupted&&) noexcept = default;
    base::GroupId group() const { return 0; }
    std::size_t parts() const { return x_.empty() ? 0 : 1; }
    std::span<const typename P::Residue> inputs(std::size_t) const { return x_; }
    std::span<const typename P::Residue> outputs(std::size_t) const {
        if (meanwhile_) meanwhile_();
        return y_;
    }

private:
    Residues<P> x_, y_;
    std::function<void()> meanwhile_;
};

/// A right answer whose comparison overlaps with a reject is not accepted; the life names the peer
/// of the wrong answer.
PROFILE_TEST(Life, OFF_10_no_verdict_is_released_after_a_reject) {
    const Model model({{3, 2}}, Fill::random, 1, profile_of<P>);
    KeyStream keys;
    Life life;
    const IntegrityCheck<P> check(model.weights()[0], 0, keys, life);
    const Residues<P> x{1, 2};
    Residues<P> right(3);
    model.weights()[0].template multiply<P>(x, right);
    Residues<P> wrong = right;
    wrong[2] = add<P>(wrong[2], 1);
    EXPECT_TRUE(check.check(Interrupted<P>(x, right, {})));
    bool rejected = false;
    const auto reject = [&] {
        rejected = !check.check(Interrupted<P>(x, wrong, {}), {"offline:7"});
    };
    EXPECT_FALSE(check.check(Interrupted<P>(x, right, reject), {"David"}));
    EXPECT_TRUE(rejected);
    EXPECT_TRUE(life.over());
    EXPECT_EQ(life.rejected_by(), "offline:7");
    EXPECT_THROW(check.check(Interrupted<P>(x, right, {})), InternalError);
}

TEST(Verdicts, OFF_10_an_answer_compared_before_a_reject_is_not_accepted_after_it) {
    Life life;
    Life::Verdict right(life), wrong(life);
    EXPECT_FALSE(wrong.release(1, {"offline:7"}));
    EXPECT_FALSE(right.release(0, {"David"}));
    EXPECT_EQ(life.pending(), 2U);
    EXPECT_EQ(life.rejected_by(), "offline:7");
}

}  // namespace
}  // namespace slip::fixture

// The check of optimized/ against reference/, against mutants of itself, and within a session.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>

#include "optimized/kernels/registry.hpp"
#include "optimized/protocol/integrity.hpp"
#include "property_tests/protocol_fixture.hpp"
#include "reference/integrity.hpp"

namespace slip::fixture {
namespace {

constexpr std::size_t kappa = 2;

/// One group with a key that both implementations know.
struct Checked {
    Checked(const Shape& s, Kind kind, std::uint64_t seed, std::uint32_t id = 0)
        : shape(s),
          group(id),
          key(counting_key(40)),
          model({s}, kind, seed),
          keys({.test_keys = key}),
          check(model.weights()[0], group, keys),
          secret(reference::draw_integrity_key(ring().modulus(), to_reference_key(key), group,
                                               model.matrices[0], kappa)) {}

    std::vector<std::uint32_t> honest_reply(const std::vector<std::uint32_t>& masked) const {
        const std::size_t b = masked.size() / shape.n;
        std::vector<std::uint32_t> reply(b * shape.rows);
        kernels::active().p31.gemm(model.storage[0].data(), shape.rows, shape.n, masked.data(), b,
                                   reply.data());
        return reply;
    }
    bool reference_accepts(const std::vector<std::uint32_t>& masked,
                           const std::vector<std::uint32_t>& reply) const {
        const auto columns = [](const auto& residues, std::size_t n) {
            return columns_to_reference(
                MatrixView<const std::uint32_t>(residues.data(), residues.size() / n, n));
        };
        return reference::accepts(ring().modulus(), secret, columns(masked, shape.n),
                                  columns(reply, shape.rows));
    }
    std::uint32_t rho(std::size_t row, std::size_t repetition) const {
        return secret.rho(row, repetition).convert_to<std::uint32_t>();
    }

    Shape shape;
    std::uint32_t group;
    std::vector<std::uint8_t> key;
    Model model;
    KeyStream keys;
    IntegrityCheck check;
    reference::IntegrityKey secret;
};

std::uint32_t add(std::uint32_t a, std::uint32_t b) {
    return static_cast<std::uint32_t>((std::uint64_t{a} + b) % p31);
}
std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
    return static_cast<std::uint32_t>(std::uint64_t{a} * b % p31);
}
std::uint32_t negate(std::uint32_t a) { return a == 0 ? 0 : p31 - a; }

Kind arbitrary_kind() {
    return *rc::gen::elementOf(std::vector<Kind>(std::begin(kinds), std::end(kinds)));
}

/// The cross product of the columns of rho for three rows: an error that both repetitions accept.
/// It shows that the two implementations agree on every entry of rho, and on which entry is which.
std::vector<std::uint32_t> undetectable_error(const Checked& group, std::size_t first) {
    const auto minor = [&](std::size_t i, std::size_t j) {
        return add(multiply(group.rho(first + i, 0), group.rho(first + j, 1)),
                   negate(multiply(group.rho(first + j, 0), group.rho(first + i, 1))));
    };
    std::vector<std::uint32_t> error(group.shape.rows, 0);
    error[first] = minor(1, 2);
    error[first + 1] = minor(2, 0);
    error[first + 2] = minor(0, 1);
    return error;
}

void add_error(std::vector<std::uint32_t>& reply, std::size_t column,
               const std::vector<std::uint32_t>& error) {
    for (std::size_t i = 0; i < error.size(); ++i) {
        std::uint32_t& residue = reply[column * error.size() + i];
        residue = add(residue, error[i]);
    }
}

// ---- verdicts

RC_GTEST_PROP(Check, INTEG_3_INTEG_4_honest_replies_are_accepted_over_all_shapes, ()) {
    const Shape shape{*rc::gen::inRange<std::size_t>(1, 200),
                      *rc::gen::inRange<std::size_t>(1, 200)};
    const Checked group(shape, arbitrary_kind(), *rc::gen::arbitrary<std::uint64_t>());
    Random random(*rc::gen::arbitrary<std::uint64_t>());
    for (const Kind kind : kinds) {
        const auto masked = numbers<std::uint32_t>(
            kind, shape.n * uniform<std::size_t>(random, 1, 6), 0, p31 - 1, random);
        RC_ASSERT(group.check.accepts(masked, group.honest_reply(masked)));
    }
}

RC_GTEST_PROP(Check, INTEG_1_INTEG_2_INTEG_3_verdicts_equal_the_reference, ()) {
    const Shape shape{*rc::gen::inRange<std::size_t>(3, 9), *rc::gen::inRange<std::size_t>(1, 9)};
    const auto id = *rc::gen::arbitrary<std::uint32_t>();
    const Checked group(shape, arbitrary_kind(), *rc::gen::arbitrary<std::uint64_t>(), id);
    Random random(*rc::gen::arbitrary<std::uint64_t>());
    const std::size_t b = uniform<std::size_t>(random, 1, 3);
    const auto masked = numbers<std::uint32_t>(arbitrary_kind(), b * shape.n, 0, p31 - 1, random);
    const auto honest = group.honest_reply(masked);
    RC_ASSERT(group.reference_accepts(masked, honest) && group.check.accepts(masked, honest));

    auto wrong = honest;
    wrong[random() % wrong.size()] = static_cast<std::uint32_t>(random() % p31);
    RC_ASSERT(group.check.accepts(masked, wrong) == group.reference_accepts(masked, wrong));

    // INTEG-1: an error made from the reference's rho passes both, at every place of it.
    for (std::size_t first = 0; first + 3 <= shape.rows; ++first) {
        auto undetectable = honest;
        add_error(undetectable, random() % b, undetectable_error(group, first));
        RC_ASSERT(undetectable != honest);
        RC_ASSERT(group.reference_accepts(masked, undetectable));
        RC_ASSERT(group.check.accepts(masked, undetectable));
    }
}

TEST(Check, INTEG_4_every_error_in_one_coordinate_is_refused) {
    const Checked group({33, 17}, Kind::random, 5);
    Random random(6);
    const auto masked = numbers<std::uint32_t>(Kind::random, 3 * 17, 0, p31 - 1, random);
    const auto honest = group.honest_reply(masked);
    for (std::size_t at = 0; at < honest.size(); ++at) {
        for (const std::uint32_t error : {1U, 2U, p31 - 1, p31 / 2, 1U << 30,
                                          static_cast<std::uint32_t>(random() % (p31 - 1)) + 1}) {
            auto wrong = honest;
            wrong[at] = add(wrong[at], error);
            EXPECT_FALSE(group.check.accepts(masked, wrong)) << at << " " << error;
        }
    }
}

TEST(Check, INTEG_3_a_reply_to_another_message_is_refused) {
    const Checked group({12, 7}, Kind::random, 5);
    Random random(6);
    const auto one = numbers<std::uint32_t>(Kind::random, 2 * 7, 0, p31 - 1, random);
    auto other = one;
    std::swap_ranges(other.begin(), other.begin() + 7, other.begin() + 7);
    EXPECT_TRUE(group.check.accepts(other, group.honest_reply(other)));
    EXPECT_FALSE(group.check.accepts(one, group.honest_reply(other)));
}

TEST(Check, INTEG_1_another_group_or_session_has_another_rho) {
    const Model model({{12, 7}, {12, 7}}, Kind::random, 5);
    KeyStream one({.test_keys = {}});
    KeyStream other({.test_keys = {}});
    Random random(6);
    const auto masked = numbers<std::uint32_t>(Kind::random, 7, 0, p31 - 1, random);
    const Checked known({12, 7}, Kind::random, 5);
    auto reply = known.honest_reply(masked);
    add_error(reply, 0, undetectable_error(known, 2));
    ASSERT_TRUE(known.check.accepts(masked, reply));
    const auto w = known.model.weights()[0];
    KeyStream same_key({.test_keys = known.key});
    EXPECT_TRUE(IntegrityCheck(w, 0, same_key).accepts(masked, reply));
    EXPECT_FALSE(IntegrityCheck(w, 1, same_key).accepts(masked, reply));
    EXPECT_FALSE(IntegrityCheck(w, 0, one).accepts(masked, reply));
    EXPECT_FALSE(IntegrityCheck(w, 0, other).accepts(masked, reply));
}

TEST(Check, INTEG_3_wrong_sizes_are_a_defect_and_no_verdict) {
    const Checked group({3, 2}, Kind::random, 5);
    const auto accepts = [&](std::size_t sent, std::size_t received) {
        return group.check.accepts(std::vector<std::uint32_t>(sent),
                                   std::vector<std::uint32_t>(received));
    };
    EXPECT_TRUE(accepts(4, 6));
    EXPECT_THROW(accepts(3, 3), InternalError);
    EXPECT_THROW(accepts(4, 3), InternalError);
    EXPECT_THROW(accepts(4, 9), InternalError);
}

// ---- mutants: weaker checks, each with an error that it accepts and the real one refuses

using Verdict = bool (*)(const Checked&, const std::vector<std::uint32_t>&,
                         const std::vector<std::uint32_t>&);

/// rho_k^T y - s_k^T x of one column, from the reference's secrets.
std::uint32_t difference(const Checked& group, const std::vector<std::uint32_t>& masked,
                         const std::vector<std::uint32_t>& reply, std::size_t column,
                         std::size_t repetition) {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < group.shape.rows; ++i) {
        sum = add(sum, multiply(group.rho(i, repetition), reply[column * group.shape.rows + i]));
    }
    for (std::size_t j = 0; j < group.shape.n; ++j) {
        const auto s = group.secret.s(j, repetition).convert_to<std::uint32_t>();
        sum = add(sum, negate(multiply(s, masked[column * group.shape.n + j])));
    }
    return sum;
}

bool only_first_repetition(const Checked& group, const std::vector<std::uint32_t>& masked,
                           const std::vector<std::uint32_t>& reply) {
    for (std::size_t c = 0; c < masked.size() / group.shape.n; ++c) {
        if (difference(group, masked, reply, c, 0) != 0) return false;
    }
    return true;
}
bool only_second_repetition(const Checked& group, const std::vector<std::uint32_t>& masked,
                            const std::vector<std::uint32_t>& reply) {
    for (std::size_t c = 0; c < masked.size() / group.shape.n; ++c) {
        if (difference(group, masked, reply, c, 1) != 0) return false;
    }
    return true;
}
bool only_first_column(const Checked& group, const std::vector<std::uint32_t>& masked,
                       const std::vector<std::uint32_t>& reply) {
    return difference(group, masked, reply, 0, 0) == 0 &&
           difference(group, masked, reply, 0, 1) == 0;
}
bool sum_of_columns(const Checked& group, const std::vector<std::uint32_t>& masked,
                    const std::vector<std::uint32_t>& reply) {
    for (std::size_t k = 0; k < kappa; ++k) {
        std::uint32_t sum = 0;
        for (std::size_t c = 0; c < masked.size() / group.shape.n; ++c) {
            sum = add(sum, difference(group, masked, reply, c, k));
        }
        if (sum != 0) return false;
    }
    return true;
}
bool sum_of_repetitions(const Checked& group, const std::vector<std::uint32_t>& masked,
                        const std::vector<std::uint32_t>& reply) {
    for (std::size_t c = 0; c < masked.size() / group.shape.n; ++c) {
        if (add(difference(group, masked, reply, c, 0), difference(group, masked, reply, c, 1)) !=
            0) {
            return false;
        }
    }
    return true;
}
bool no_check(const Checked&, const std::vector<std::uint32_t>&,
              const std::vector<std::uint32_t>&) {
    return true;
}

/// An error in rows 0 and 1 of a column that a secret vector v does not see: v_0 e_0 + v_1 e_1 = 0.
std::vector<std::uint32_t> orthogonal_to(const Checked& group, std::uint32_t v0, std::uint32_t v1) {
    std::vector<std::uint32_t> error(group.shape.rows, 0);
    error[0] = v1;
    error[1] = negate(v0);
    return error;
}

TEST(Check, INTEG_3_kills_every_mutant) {
    const Checked group({6, 5}, Kind::random, 9);
    Random random(10);
    const auto masked = numbers<std::uint32_t>(Kind::random, 3 * 5, 0, p31 - 1, random);
    const auto honest = group.honest_reply(masked);
    std::vector<std::uint32_t> unit(6, 0);
    unit[4] = 1;
    std::vector<std::uint32_t> minus_unit(6, 0);
    minus_unit[4] = p31 - 1;

    struct Mutant {
        const char* name;
        Verdict verdict;
        std::vector<std::pair<std::size_t, std::vector<std::uint32_t>>> errors;  // column, error
    };
    const std::vector<Mutant> mutants = {
        {"no check", no_check, {{1, unit}}},
        {"only the first repetition",
         only_first_repetition,
         {{1, orthogonal_to(group, group.rho(0, 0), group.rho(1, 0))}}},
        {"only the second repetition",
         only_second_repetition,
         {{1, orthogonal_to(group, group.rho(0, 1), group.rho(1, 1))}}},
        {"only the first column", only_first_column, {{2, unit}}},
        {"the sum of the columns", sum_of_columns, {{0, unit}, {2, minus_unit}}},
        {"the sum of the repetitions",
         sum_of_repetitions,
         {{1, orthogonal_to(group, add(group.rho(0, 0), group.rho(0, 1)),
                            add(group.rho(1, 0), group.rho(1, 1)))}}},
    };
    for (const Mutant& mutant : mutants) {
        SCOPED_TRACE(mutant.name);
        auto wrong = honest;
        for (const auto& [column, error] : mutant.errors) add_error(wrong, column, error);
        EXPECT_NE(wrong, honest);
        EXPECT_TRUE(mutant.verdict(group, masked, honest));
        EXPECT_TRUE(mutant.verdict(group, masked, wrong)) << "the error does not show the mutant";
        EXPECT_FALSE(group.check.accepts(masked, wrong));
        EXPECT_FALSE(group.reference_accepts(masked, wrong));
    }
}

// ---- within a session

/// A David who adds `error` to one residue of one reply.
DavidSession::Tamper tamper_with(std::uint64_t sequence, std::size_t at, std::uint32_t error) {
    return [=](const wire::ColumnsHeader& header, std::span<std::uint32_t> product) {
        if (header.sequence == sequence) product[at] = add(product[at], error);
    };
}

TEST(Session, INTEG_4_every_tampered_residue_is_caught) {
    const Model model({{9, 4}}, Kind::random, 1);
    Random random(2);
    const Tokens tokens = random_tokens(model.matrices[0], 2, Kind::random, random);
    for (std::size_t at = 0; at < 18; ++at) {
        for (const std::uint32_t error : {1U, p31 - 1, 1U << 20}) {
            DavidSession david(model.david, tamper_with(1, at, error));
            InProcessTransport transport(david);
            CharlieSession charlie(model.weights(), model.david.digest, transport,
                                   Connection::small_pool());
            EXPECT_NO_THROW(round(charlie, 0, tokens, 9));
            EXPECT_THROW(round(charlie, 0, tokens, 9), IntegrityError);
            EXPECT_FALSE(charlie.alive());
            EXPECT_TRUE(david.finished());
        }
    }
}

TEST(Session, INTEG_5_nothing_of_a_rejected_reply_is_stored_counted_or_sent) {
    const Model model({{9, 4}}, Kind::random, 1);
    Random random(2);
    const Tokens tokens = random_tokens(model.matrices[0], 2, Kind::random, random);
    DavidSession david(model.david, tamper_with(1, 3, 77));
    RecordingTransport transport(david);
    CharlieSession charlie(model.weights(), model.david.digest, transport,
                           Connection::small_pool());
    round(charlie, 0, tokens, 9);
    const SessionStatistics before = charlie.statistics();

    std::vector<std::int32_t> products(18, 12345);
    charlie.send(0, tokens.view());
    EXPECT_THROW(charlie.receive({products.data(), 2, 9}), IntegrityError);
    EXPECT_EQ(products, std::vector<std::int32_t>(18, 12345));
    const SessionStatistics after = charlie.statistics();
    EXPECT_EQ(after.rounds, before.rounds);
    EXPECT_EQ(after.columns, before.columns);
    EXPECT_EQ(after.checks, before.checks);
    EXPECT_EQ(after.bytes_down, before.bytes_down);
    EXPECT_EQ(after.waiting_seconds, before.waiting_seconds);
    // HELLO, APPLY, APPLY, and the constant ABORT.
    ASSERT_EQ(transport.sent.size(), 4U);
    EXPECT_EQ(transport.sent.back(), wire::encode_empty(wire::FrameType::abort));
}

TEST(Session, INTEG_6_ABORT_is_the_same_whatever_was_wrong) {
    const Model model({{9, 4}, {3, 8}}, Kind::random, 1);
    Random random(2);
    std::set<Bytes> last_frames;
    std::set<std::string> messages;
    for (std::uint32_t group = 0; group < 2; ++group) {
        for (std::size_t at = 0; at < 3; ++at) {
            DavidSession david(model.david, tamper_with(0, at, 5));
            RecordingTransport transport(david);
            CharlieSession charlie(model.weights(), model.david.digest, transport,
                                   Connection::small_pool());
            const Tokens tokens = random_tokens(model.matrices[group], 1, Kind::random, random);
            try {
                round(charlie, group, tokens, model.matrices[group].rows());
                ADD_FAILURE() << "accepted";
            } catch (const IntegrityError& error) {
                messages.insert(error.what());
            }
            last_frames.insert(transport.sent.back());
        }
    }
    EXPECT_EQ(last_frames, std::set<Bytes>{wire::encode_empty(wire::FrameType::abort)});
    EXPECT_EQ(messages.size(), 1U) << "THREAT-3: a message says nothing about the reply";
}

// ---- the rate limit

struct FakeTime {
    ReconnectLimiter::Clock::time_point now{};
    ReconnectLimiter limiter{[this] { return now; }};

    bool allowed(const std::string& peer) const {
        try {
            limiter.require_allowed(peer);
        } catch (const ProtocolError&) {
            return false;
        }
        return true;
    }
};

TEST(RateLimit, INTEG_7_the_delay_doubles_from_1_to_64_seconds) {
    using std::chrono::milliseconds;
    using std::chrono::seconds;
    FakeTime time;
    EXPECT_TRUE(time.allowed("david"));
    for (const int delay : {1, 2, 4, 8, 16, 32, 64, 64, 64}) {
        time.limiter.record_reject("david");
        EXPECT_FALSE(time.allowed("david"));
        EXPECT_TRUE(time.allowed("another")) << "a peer is limited for himself";
        time.now += seconds(delay) - milliseconds(1);
        EXPECT_FALSE(time.allowed("david"));
        time.now += milliseconds(1);
        EXPECT_TRUE(time.allowed("david"));
        time.now += std::chrono::hours(10);  // time heals the wait and not the count
    }
}

TEST(RateLimit, INTEG_7_the_error_says_how_long_to_wait) {
    FakeTime time;
    time.limiter.record_reject("david:1234");
    time.now += std::chrono::milliseconds(300);
    try {
        time.limiter.require_allowed("david:1234");
        FAIL();
    } catch (const ProtocolError& error) {
        EXPECT_NE(std::string(error.what()).find("david:1234"), std::string::npos);
        EXPECT_NE(std::string(error.what()).find("700 ms"), std::string::npos);
    }
}

TEST(RateLimit, INTEG_7_a_session_too_early_is_refused_and_sends_nothing) {
    const Model model({{9, 4}}, Kind::random, 1);
    Random random(2);
    const Tokens tokens = random_tokens(model.matrices[0], 1, Kind::random, random);
    FakeTime time;
    CharlieSession::Options options = Connection::small_pool();
    options.peer = "david";
    options.limiter = &time.limiter;
    {
        DavidSession david(model.david, tamper_with(0, 0, 1));
        InProcessTransport transport(david);
        CharlieSession charlie(model.weights(), model.david.digest, transport, options);
        EXPECT_THROW(round(charlie, 0, tokens, 9), IntegrityError);
    }
    DavidSession david(model.david);
    RecordingTransport transport(david);
    EXPECT_THROW(CharlieSession(model.weights(), model.david.digest, transport, options),
                 ProtocolError);
    EXPECT_TRUE(transport.sent.empty());
    time.now += std::chrono::seconds(1);
    CharlieSession charlie(model.weights(), model.david.digest, transport, options);
    EXPECT_NO_THROW(round(charlie, 0, tokens, 9));
}

TEST(RateLimit, INTEG_7_only_a_reject_counts) {
    const Model model({{9, 4}}, Kind::random, 1);
    Random random(2);
    const Tokens tokens = random_tokens(model.matrices[0], 1, Kind::random, random);
    FakeTime time;
    CharlieSession::Options options = Connection::small_pool();
    options.peer = "david";
    options.limiter = &time.limiter;
    Connection connection(model, options, [](Bytes answer) {
        if (answer.size() > 5) answer.pop_back();
        return answer;
    });
    EXPECT_THROW(round(connection.charlie, 0, tokens, 9), ProtocolError);
    EXPECT_TRUE(time.allowed("david"));
}

}  // namespace
}  // namespace slip::fixture

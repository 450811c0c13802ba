// The check of optimized/ against reference/, against mutants of itself, and within a session.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <utility>

#include "optimized/kernels/registry.hpp"
#include "optimized/protocol/integrity.hpp"
#include "property_tests/protocol/tampering.hpp"
#include "reference/integrity.hpp"

namespace slip::fixture {
namespace {

using namespace protocol;
using base::GroupId;

/// One group with a key that both implementations know.
template <class P>
struct KnownGroup {
    using Residue = typename P::Residue;

    KnownGroup(const Shape& s, Fill kind, std::uint64_t seed, std::uint32_t id = 0)
        : KnownGroup(s, Model::filled({s}, kind, seed), id) {}
    KnownGroup(const Shape& s, std::vector<std::vector<std::int8_t>> weights, std::uint32_t id)
        : shape(s),
          group(id),
          key(counting_key(40)),
          model({s}, std::move(weights)),
          keys({.test_keys = key}),
          check(model.weights()[0], group, keys),
          secret(reference::draw_integrity_key(ring<P>().modulus(), to_reference_key(key), group,
                                               model.matrices[0], kappa<P>)) {}

    Residues<P> honest_reply(const Residues<P>& masked) const {
        const std::size_t b = masked.size() / shape.n;
        Residues<P> reply(b * shape.rows);
        model.weights()[0].template multiply<P>(masked, reply);
        return reply;
    }
    bool reference_accepts(const Residues<P>& masked, const Residues<P>& reply) const {
        const auto columns = [](const auto& residues, std::size_t n) {
            return columns_to_reference(
                base::MatrixView<const Residue>(residues.data(), residues.size() / n, n));
        };
        return reference::accepts(ring<P>().modulus(), secret, columns(masked, shape.n),
                                  columns(reply, shape.rows));
    }
    Residue rho(std::size_t row, std::size_t repetition) const {
        return secret.rho(row, repetition).template convert_to<Residue>();
    }

    Shape shape;
    GroupId group;
    std::vector<std::uint8_t> key;
    Model model;
    KeyStream keys;
    IntegrityCheck<P> check;
    reference::IntegrityKey secret;
};

template <class P>
typename P::Residue multiply(typename P::Residue a, typename P::Residue b) {
    return static_cast<typename P::Residue>(UInt128{a} * b % P::p);
}
template <class P>
typename P::Residue negate(typename P::Residue a) {
    return a == 0 ? 0 : P::p - a;
}

/// An error in three rows that every repetition accepts: what is orthogonal to the columns of rho,
/// their cross product. It shows that the two implementations agree on every entry of rho, and on
/// which entry is which.
template <class P>
Residues<P> undetectable_error(const KnownGroup<P>& group, std::size_t first) {
    static_assert(kappa<P> == 2);
    const auto minor = [&](std::size_t i, std::size_t j) {
        return add<P>(multiply<P>(group.rho(first + i, 0), group.rho(first + j, 1)),
                      negate<P>(multiply<P>(group.rho(first + j, 0), group.rho(first + i, 1))));
    };
    Residues<P> error(group.shape.rows, 0);
    error[first] = minor(1, 2);
    error[first + 1] = minor(2, 0);
    error[first + 2] = minor(0, 1);
    return error;
}

template <class P>
void add_error(Residues<P>& reply, std::size_t column, const Residues<P>& error) {
    for (std::size_t i = 0; i < error.size(); ++i) {
        auto& residue = reply[column * error.size() + i];
        residue = add<P>(residue, error[i]);
    }
}

// ---- verdicts

PROFILE_PROP(Check, INTEG_3_INTEG_4_honest_replies_are_accepted_over_all_shapes) {
    const Shape shape{*any_size(1, 199).as("rows"), *any_size(1, 199).as("n")};
    const KnownGroup<P> group(shape, drawn_weights({shape}), 0);
    for (int message = 0; message < 4; ++message) {
        const auto masked = drawn_residues<P>(shape.n * *any_size(1, 6).as("columns"));
        RC_ASSERT(group.check.accepts(masked, group.honest_reply(masked)));
    }
}

PROFILE_PROP(Check, INTEG_1_INTEG_2_INTEG_3_verdicts_equal_the_reference) {
    const Shape shape{*any_size(3, 8).as("rows"), *any_size(1, 8).as("n")};
    const auto id = *rc::gen::arbitrary<std::uint32_t>().as("group");
    const KnownGroup<P> group(shape, drawn_weights({shape}), id);
    const std::size_t b = *any_size(1, 3).as("columns");
    const auto masked = drawn_residues<P>(b * shape.n);
    const auto honest = group.honest_reply(masked);
    RC_ASSERT(group.reference_accepts(masked, honest) && group.check.accepts(masked, honest));

    auto wrong = honest;
    const auto at = *any_size(0, wrong.size() - 1).as("place of the error");
    wrong[at] = drawn_residues<P>(1)[0];
    RC_ASSERT(group.check.accepts(masked, wrong) == group.reference_accepts(masked, wrong));

    // INTEG-1: an error made from the reference's rho passes both, at every place of it.
    for (std::size_t first = 0; first + 3 <= shape.rows; ++first) {
        auto undetectable = honest;
        const auto column = *any_size(0, b - 1).as("column of the error");
        add_error<P>(undetectable, column, undetectable_error(group, first));
        RC_ASSERT(undetectable != honest);
        RC_ASSERT(group.reference_accepts(masked, undetectable));
        RC_ASSERT(group.check.accepts(masked, undetectable));
    }
}

PROFILE_TEST(Check, INTEG_4_every_error_in_one_coordinate_is_refused) {
    const KnownGroup<P> group({33, 17}, Fill::random, 5);
    Random random(6);
    const auto masked = fill<typename P::Residue>(Fill::random, 3 * 17, 0, P::p - 1, random);
    const auto honest = group.honest_reply(masked);
    for (std::size_t at = 0; at < honest.size(); ++at) {
        const auto any = static_cast<typename P::Residue>(random() % (P::p - 1) + 1);
        for (const auto error : Residues<P>{1, 2, P::p - 1, P::p / 2, P::p / 2 + 1, any}) {
            auto wrong = honest;
            wrong[at] = add<P>(wrong[at], error);
            EXPECT_FALSE(group.check.accepts(masked, wrong)) << at << " " << error;
        }
    }
}

/// More rows, or more columns, than a kernel takes at a time.
PROFILE_TEST(Check, INTEG_3_INTEG_4_an_error_in_any_residue_of_a_large_group_is_refused) {
    for (const Shape& shape : {Shape{2500, 3}, Shape{3, 2500}}) {
        const KnownGroup<P> group(shape, Fill::random, 5);
        Random random(6);
        auto masked = fill<typename P::Residue>(Fill::random, 2 * shape.n, 0, P::p - 1, random);
        auto reply = group.honest_reply(masked);
        ASSERT_TRUE(group.check.accepts(masked, reply));
        for (Residues<P>* const residues : {&masked, &reply}) {
            for (std::size_t at = 0; at < residues->size(); ++at) {
                auto& residue = (*residues)[at];
                const auto honest = std::exchange(residue, add<P>(residue, 1));
                EXPECT_FALSE(group.check.accepts(masked, reply)) << shape.rows << " " << at;
                residue = honest;
            }
        }
    }
}

PROFILE_TEST(Check, INTEG_3_a_reply_to_another_message_is_refused) {
    const KnownGroup<P> group({12, 7}, Fill::random, 5);
    Random random(6);
    const auto one = fill<typename P::Residue>(Fill::random, 2 * 7, 0, P::p - 1, random);
    auto other = one;
    std::swap_ranges(other.begin(), other.begin() + 7, other.begin() + 7);
    EXPECT_TRUE(group.check.accepts(other, group.honest_reply(other)));
    EXPECT_FALSE(group.check.accepts(one, group.honest_reply(other)));
}

PROFILE_TEST(Check, INTEG_1_another_group_or_session_has_another_rho) {
    const Model model({{12, 7}, {12, 7}}, Fill::random, 5);
    KeyStream one({.test_keys = {}});
    KeyStream other({.test_keys = {}});
    Random random(6);
    const auto masked = fill<typename P::Residue>(Fill::random, 7, 0, P::p - 1, random);
    const KnownGroup<P> known({12, 7}, Fill::random, 5);
    auto reply = known.honest_reply(masked);
    add_error<P>(reply, 0, undetectable_error(known, 2));
    ASSERT_TRUE(known.check.accepts(masked, reply));
    const auto w = known.model.weights()[0];
    KeyStream same_key({.test_keys = known.key});
    EXPECT_TRUE(IntegrityCheck<P>(w, 0, same_key).accepts(masked, reply));
    EXPECT_FALSE(IntegrityCheck<P>(w, 1, same_key).accepts(masked, reply));
    EXPECT_FALSE(IntegrityCheck<P>(w, 0, one).accepts(masked, reply));
    EXPECT_FALSE(IntegrityCheck<P>(w, 0, other).accepts(masked, reply));
}

PROFILE_TEST(Check, INTEG_3_wrong_sizes_are_a_defect_and_no_verdict) {
    const KnownGroup<P> group({3, 2}, Fill::random, 5);
    const auto accepts = [&](std::size_t sent, std::size_t received) {
        return group.check.accepts(Residues<P>(sent), Residues<P>(received));
    };
    EXPECT_TRUE(accepts(4, 6));
    EXPECT_THROW(accepts(3, 3), InternalError);
    EXPECT_THROW(accepts(4, 3), InternalError);
    EXPECT_THROW(accepts(4, 9), InternalError);
}

// ---- mutants: weaker checks, each with an error that it accepts and the real one refuses

template <class P>
using Verdict = bool (*)(const KnownGroup<P>&, const Residues<P>&, const Residues<P>&);

/// rho_k^T y - s_k^T x of one column, from the reference's secrets.
template <class P>
typename P::Residue difference(const KnownGroup<P>& group, const Residues<P>& masked,
                               const Residues<P>& reply, std::size_t column,
                               std::size_t repetition) {
    typename P::Residue sum = 0;
    for (std::size_t i = 0; i < group.shape.rows; ++i) {
        sum = add<P>(sum,
                     multiply<P>(group.rho(i, repetition), reply[column * group.shape.rows + i]));
    }
    for (std::size_t j = 0; j < group.shape.n; ++j) {
        const auto s = group.secret.s(j, repetition).template convert_to<typename P::Residue>();
        sum = add<P>(sum, negate<P>(multiply<P>(s, masked[column * group.shape.n + j])));
    }
    return sum;
}

template <class P>
bool only_first_repetition(const KnownGroup<P>& group, const Residues<P>& masked,
                           const Residues<P>& reply) {
    for (std::size_t c = 0; c < masked.size() / group.shape.n; ++c) {
        if (difference<P>(group, masked, reply, c, 0) != 0) return false;
    }
    return true;
}
template <class P>
bool only_second_repetition(const KnownGroup<P>& group, const Residues<P>& masked,
                            const Residues<P>& reply) {
    for (std::size_t c = 0; c < masked.size() / group.shape.n; ++c) {
        if (difference<P>(group, masked, reply, c, 1) != 0) return false;
    }
    return true;
}
template <class P>
bool only_first_column(const KnownGroup<P>& group, const Residues<P>& masked,
                       const Residues<P>& reply) {
    for (std::size_t k = 0; k < kappa<P>; ++k) {
        if (difference<P>(group, masked, reply, 0, k) != 0) return false;
    }
    return true;
}
template <class P>
bool sum_of_columns(const KnownGroup<P>& group, const Residues<P>& masked,
                    const Residues<P>& reply) {
    for (std::size_t k = 0; k < kappa<P>; ++k) {
        typename P::Residue sum = 0;
        for (std::size_t c = 0; c < masked.size() / group.shape.n; ++c) {
            sum = add<P>(sum, difference<P>(group, masked, reply, c, k));
        }
        if (sum != 0) return false;
    }
    return true;
}
template <class P>
bool sum_of_repetitions(const KnownGroup<P>& group, const Residues<P>& masked,
                        const Residues<P>& reply) {
    for (std::size_t c = 0; c < masked.size() / group.shape.n; ++c) {
        if (add<P>(difference<P>(group, masked, reply, c, 0),
                   difference<P>(group, masked, reply, c, 1)) != 0) {
            return false;
        }
    }
    return true;
}
template <class P>
bool no_check(const KnownGroup<P>&, const Residues<P>&, const Residues<P>&) {
    return true;
}

/// An error in rows 0 and 1 of a column that a secret vector v does not see: v_0 e_0 + v_1 e_1 = 0.
template <class P>
Residues<P> orthogonal_to(const KnownGroup<P>& group, typename P::Residue v0,
                          typename P::Residue v1) {
    Residues<P> error(group.shape.rows, 0);
    error[0] = v1;
    error[1] = negate<P>(v0);
    return error;
}

/// A weaker check, and an error that it accepts: (column, error of the column) of each.
template <class P>
struct Mutant {
    const char* name;
    Verdict<P> verdict;
    std::vector<std::pair<std::size_t, Residues<P>>> errors;
};

template <class P>
std::vector<Mutant<P>> mutants_against(const KnownGroup<P>& group) {
    Residues<P> unit(group.shape.rows, 0);
    unit[4] = 1;
    Residues<P> minus_unit(group.shape.rows, 0);
    minus_unit[4] = P::p - 1;
    const auto rho = [&](std::size_t i, std::size_t k) { return group.rho(i, k); };
    const auto unseen_by = [&](auto v0, auto v1) {
        return std::vector{std::pair(std::size_t{1}, orthogonal_to<P>(group, v0, v1))};
    };
    return {
        {"no check", no_check<P>, {{1, unit}}},
        {"only the first column", only_first_column<P>, {{2, unit}}},
        {"the sum of the columns", sum_of_columns<P>, {{0, unit}, {2, minus_unit}}},
        {"only the first repetition", only_first_repetition<P>, unseen_by(rho(0, 0), rho(1, 0))},
        {"only the second repetition", only_second_repetition<P>, unseen_by(rho(0, 1), rho(1, 1))},
        {"the sum of the repetitions", sum_of_repetitions<P>,
         unseen_by(add<P>(rho(0, 0), rho(0, 1)), add<P>(rho(1, 0), rho(1, 1)))}};
}

PROFILE_TEST(Check, INTEG_3_kills_every_mutant) {
    const KnownGroup<P> group({6, 5}, Fill::random, 9);
    Random random(10);
    const auto masked = fill<typename P::Residue>(Fill::random, 3 * 5, 0, P::p - 1, random);
    const auto honest = group.honest_reply(masked);
    for (const Mutant<P>& mutant : mutants_against(group)) {
        SCOPED_TRACE(mutant.name);
        auto wrong = honest;
        for (const auto& [column, error] : mutant.errors) add_error<P>(wrong, column, error);
        EXPECT_NE(wrong, honest);
        EXPECT_TRUE(mutant.verdict(group, masked, honest));
        EXPECT_TRUE(mutant.verdict(group, masked, wrong)) << "the error does not show the mutant";
        EXPECT_FALSE(group.check.accepts(masked, wrong));
        EXPECT_FALSE(group.reference_accepts(masked, wrong));
    }
}

// ---- what was checked (INTEG-5): bound to its message and its session, spent once. That nothing
// else can be unmasked is for the compiler: order_of_types.cpp.

/// Charlie without a connection, and the answers of David.
template <class P>
struct Columnwise {
    explicit Columnwise(const Model& m) : model(m) { charlie.open_pool({.depth = 0, .batch = 1}); }

    /// An APPLY to `group` and its REPLY, with `error` added to one residue.
    Answered<P> answered(GroupId group, typename P::Residue error = 0) {
        const kernels::GroupWeights& w = model.weights()[group];
        const std::vector<std::int16_t> q(2 * w.cols(), 1);
        const wire::ColumnsHeader header{0, group, 2};
        Sent<P> sent = charlie.mask(header, {q.data(), 2, w.cols()});
        const auto apply = charlie.encode(sent).subspan(wire::length_bytes);
        Residues<P> masked(q.size()), reply(2 * w.rows());
        wire::decode_residues<P>(apply, header, w.cols(), masked);
        w.multiply<P>(masked, reply);
        reply.back() = add<P>(reply.back(), error);
        Bytes frame(wire::columns_frame_bytes(std::span(reply).size_bytes()));
        wire::encode_columns<P>(wire::FrameType::reply, header, reply, frame);
        return charlie.decode_reply(std::move(sent), std::span(frame).subspan(wire::length_bytes));
    }
    void unmask(Checked<P>&& reply) {
        charlie.unmask(std::move(reply), {products.data(), 2, products.size() / 2});
    }

    const Model& model;
    KeyStream keys;
    CharlieColumns<P> charlie{model.weights(), keys};
    Products<P> products = Products<P>(2 * model.weights()[0].rows());
};

PROFILE_TEST(Checked, INTEG_5_a_reply_is_unmasked_once_in_its_session) {
    const Model model({{3, 2}, {3, 2}}, Fill::random, 1);
    Columnwise<P> one(model), other(model);
    auto reply = one.charlie.check(one.answered(0));
    ASSERT_TRUE(reply);
    EXPECT_THROW(other.unmask(std::move(*reply)), InternalError) << "another session";
    EXPECT_THROW(one.unmask(std::move(*reply)), InternalError) << "spent by the attempt";

    reply = one.charlie.check(one.answered(1));
    one.unmask(std::move(*reply));
    const auto w = model.weights()[1];
    EXPECT_EQ(one.products.back(), w.row(2)[0] + w.row(2)[1]) << "W q with q of ones";
    EXPECT_THROW(one.unmask(std::move(*reply)), InternalError) << "twice";

    reply = one.charlie.check(one.answered(0));
    one.charlie.wipe_secrets();
    EXPECT_THROW(one.unmask(std::move(*reply)), InternalError) << "after the end";
}

PROFILE_TEST(Checked, INTEG_6_a_reject_ends_the_session_for_every_message) {
    const Model model({{3, 2}, {3, 2}}, Fill::random, 1);
    Columnwise<P> one(model);
    auto good = one.charlie.check(one.answered(0));
    auto later = one.answered(1);
    ASSERT_TRUE(good);
    EXPECT_FALSE(one.charlie.check(one.answered(1, 1)));
    EXPECT_THROW(one.charlie.check(std::move(later)), InternalError) << "no second verdict";
    EXPECT_THROW(one.unmask(std::move(*good)), InternalError) << "no product after a reject";
    EXPECT_EQ(one.products, Products<P>(6));
}

PROFILE_TEST(Checked, INTEG_3_only_a_whole_answer_of_its_group_is_checked) {
    const Model model({{3, 2}, {3, 2}}, Fill::random, 1);
    Columnwise<P> one(model);
    KeyStream keys;
    const IntegrityCheck<P> of_group_1(model.weights()[1], 1, keys);
    EXPECT_THROW(of_group_1.check(one.answered(0)), InternalError);
    auto answered = one.answered(0);
    EXPECT_TRUE(one.charlie.check(std::move(answered)));
    EXPECT_THROW(one.charlie.check(std::move(answered)), InternalError) << "moved from";
}

// ---- within a session

PROFILE_TEST(Session, INTEG_4_every_tampered_residue_is_caught) {
    const Model model({{9, 4}}, Fill::random, 1);
    Random random(2);
    const Columns columns = random_columns(model.matrices[0], 2, Fill::random, random);
    for (std::size_t at = 0; at < 18; ++at) {
        for (const auto error : Residues<P>{1, P::p - 1, 1U << 20}) {
            const auto david = make_david_session(model.david, tamper_with<P>(1, at, error));
            InProcessTransport transport(*david);
            CharlieSession<P> charlie(model.weights(), model.david.digest, transport, small_pool());
            EXPECT_NO_THROW(round<P>(charlie, 0, columns, 9));
            EXPECT_THROW(round<P>(charlie, 0, columns, 9), IntegrityError);
            EXPECT_FALSE(charlie.alive());
            EXPECT_TRUE(david->finished());
        }
    }
}

TEST(Session, INTEG_5_nothing_of_a_rejected_reply_is_stored_counted_or_sent) {
    const Model model({{9, 4}}, Fill::random, 1);
    Random random(2);
    const Columns columns = random_columns(model.matrices[0], 2, Fill::random, random);
    const auto david = make_david_session(model.david, tamper_with(1, 3, 77));
    RecordingTransport transport(*david);
    CharlieSession<kernels::P31> charlie(model.weights(), model.david.digest, transport,
                                         small_pool());
    round(charlie, 0, columns, 9);
    const SessionStatistics before = charlie.statistics();

    std::vector<std::int32_t> products(18, 12345);
    charlie.send(0, columns.view());
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
    const Model model({{9, 4}, {3, 8}}, Fill::random, 1);
    Random random(2);
    std::set<Bytes> last_frames;
    std::set<std::string> messages;
    for (GroupId group = 0; group < 2; ++group) {
        for (std::size_t at = 0; at < 3; ++at) {
            const auto david = make_david_session(model.david, tamper_with(0, at, 5));
            RecordingTransport transport(*david);
            CharlieSession<kernels::P31> charlie(model.weights(), model.david.digest, transport,
                                                 small_pool());
            const Columns columns = random_columns(model.matrices[group], 1, Fill::random, random);
            try {
                round(charlie, group, columns, model.matrices[group].rows());
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

}  // namespace
}  // namespace slip::fixture

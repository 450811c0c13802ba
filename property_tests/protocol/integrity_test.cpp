// The check of optimized/ against its definition, against mutants of itself, and within a session.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "optimized/protocol/integrity.hpp"
#include "optimized/protocol/residue_exchange.hpp"
#include "optimized/secrets/draw_check.hpp"
#include "property_tests/generators/protocol_fixture.hpp"
#include "property_tests/protocol/tampering.hpp"
#include "property_tests/secrets/defined_secret.hpp"

namespace slip::testing {
namespace {

using namespace protocol;
using base::GroupId;
using masks::Keystream;

/// One group, its check, and its secret by the definition.
struct KnownGroup {
    KnownGroup(const Shape& shape, std::vector<std::vector<std::int8_t>> weights,
               std::size_t planes_of_set = paper_planes)
        : planes(planes_of_set),
          rows(shape.rows),
          n(shape.n),
          model({shape}, std::move(weights), planes),
          secret(counting_key(100), model.weights()[0], planes) {}
    KnownGroup(const Shape& shape, std::uint64_t seed, std::size_t planes_of_set = paper_planes)
        : KnownGroup(shape, WeightGroups::filled({shape}, Fill::random, seed), planes_of_set) {}

    Residues honest_reply(const Residues& masked) const {
        Residues reply(masked.size() / n * rows);
        model.weights()[0].multiply(masked, reply, planes);
        return reply;
    }
    bool accepts(const Residues& masked, const Residues& reply) const {
        return model.check->accepts(0, masked, reply);
    }
    /// Entry i of combination a in plane p.
    unsigned w(std::size_t a, std::size_t p, std::size_t i) const {
        return secret.w[(a * planes + p) * rows + i];
    }
    /// w y - s x of combination a and plane p in one column.
    unsigned difference(const Residues& masked, const Residues& reply, std::size_t c, std::size_t a,
                        std::size_t p) const {
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < rows; ++i) {
            sum += std::int64_t{w(a, p, i)} * reply[(c * planes + p) * rows + i];
        }
        for (std::size_t j = 0; j < n; ++j) {
            sum -=
                std::int64_t{secret.s[(a * planes + p) * n + j]} * masked[(c * planes + p) * n + j];
        }
        return mod(sum, primes[p]);
    }
    bool accepts_by_definition(const Residues& masked, const Residues& reply) const {
        for (std::size_t c = 0; c < columns(masked); ++c) {
            for (std::size_t p = 0; p < planes; ++p) {
                for (std::size_t a = 0; a < kappa; ++a) {
                    if (difference(masked, reply, c, a, p) != 0) return false;
                }
            }
        }
        return true;
    }
    std::size_t columns(const Residues& masked) const { return masked.size() / (planes * n); }

    /// Adds an error to plane p of a column.
    void add_error(Residues& reply, std::size_t c, std::size_t p,
                   const std::vector<unsigned>& error) const {
        for (std::size_t i = 0; i < rows; ++i) {
            std::uint8_t& byte = reply[(c * planes + p) * rows + i];
            byte = static_cast<std::uint8_t>((byte + error[i]) % primes[p]);
        }
    }

    std::size_t planes, rows, n;
    Model model;
    DefinedSecret secret;
};

unsigned inverse(unsigned a, unsigned p) {
    unsigned b = 1;
    while (a * b % p != 1) ++b;
    return b;
}

/// A vector of k + 1 numbers, not all zero, that each of k rows of k + 1 numbers is orthogonal to
/// modulo p: Gauss's elimination.
std::vector<unsigned> orthogonal_to(std::vector<std::vector<unsigned>> matrix, unsigned p) {
    const std::size_t k = matrix.size();
    std::vector<std::size_t> pivots;
    std::size_t free = k;  // a column without a pivot
    for (std::size_t column = 0; column <= k; ++column) {
        std::size_t row = pivots.size();
        while (row < k && matrix[row][column] == 0) ++row;
        if (row == k) {
            free = column;
            break;
        }
        std::swap(matrix[row], matrix[pivots.size()]);
        auto& pivot = matrix[pivots.size()];
        const unsigned scale = inverse(pivot[column], p);
        for (unsigned& entry : pivot) entry = entry * scale % p;
        for (auto& other : matrix) {
            if (&other == &pivot) continue;
            const unsigned factor = other[column];
            for (std::size_t j = 0; j <= k; ++j) {
                other[j] = (other[j] + (p - factor) * pivot[j]) % p;
            }
        }
        pivots.push_back(column);
    }
    std::vector<unsigned> result(k + 1, 0);
    result[free] = 1;
    for (std::size_t i = 0; i < pivots.size(); ++i) {
        result[pivots[i]] = (p - matrix[i][free]) % p;
    }
    return result;
}

/// An error in rows first, ..., first + kappa of plane p that every combination accepts. It shows
/// that the check uses every entry of w that the definition names, each in its place.
std::vector<unsigned> undetectable_error(const KnownGroup& group, std::size_t p,
                                         std::size_t first) {
    std::vector<std::vector<unsigned>> matrix(kappa);
    for (std::size_t a = 0; a < kappa; ++a) {
        for (std::size_t i = 0; i <= kappa; ++i) matrix[a].push_back(group.w(a, p, first + i));
    }
    const auto found = orthogonal_to(std::move(matrix), primes[p]);
    std::vector<unsigned> error(group.rows, 0);
    std::copy(found.begin(), found.end(), error.begin() + static_cast<std::ptrdiff_t>(first));
    return error;
}

// ---- the secret that a check takes

TEST(Check, INTEG_3_a_check_takes_the_secret_of_its_model_only) {
    const Model model({{3, 2}, {4, 5}}, Fill::random, 1);
    const CheckFile file(model.weights(), paper_planes);
    const auto made_of = [&](const std::function<void(base::CheckSecret&)>& change) {
        base::CheckSecret secret = file.secret();
        change(secret);
        return IntegrityCheck(secret, kernels::shapes_of(model.weights()), paper_planes);
    };
    EXPECT_NO_THROW(made_of([](base::CheckSecret&) {}));
    EXPECT_THROW(made_of([](base::CheckSecret& s) { s.companions.pop_back(); }), InternalError);
    EXPECT_THROW(made_of([](base::CheckSecret& s) { s.companions[0] = s.companions[1]; }),
                 InternalError);
    EXPECT_THROW(made_of([](base::CheckSecret& s) { s.seed = s.seed.first(31); }), InternalError);
    EXPECT_THROW(IntegrityCheck(file.secret(), kernels::shapes_of(model.weights()), 3),
                 InternalError);
    const Residues no_residues(file.companions[0].size(), 233);
    EXPECT_THROW(made_of([&](base::CheckSecret& s) { s.companions[0] = no_residues; }),
                 InternalError);
}

// ---- verdicts

RC_GTEST_PROP(Check, INTEG_3_INTEG_4_honest_replies_are_accepted_over_all_shapes, ()) {
    const Shape shape{*any_size(1, 199).as("rows"), *any_size(1, 199).as("n")};
    const std::size_t planes = drawn_planes();
    const Model model({shape}, drawn_weights({shape}), planes);
    for (int message = 0; message < 4; ++message) {
        const std::size_t b = *any_size(1, 40).as("columns");
        Random random(*any_number<std::uint64_t>(0, 99).as("seed"));
        const auto masked = random_residues(b, shape.n, planes, random);
        Residues reply(b * planes * shape.rows);
        model.weights()[0].multiply(masked, reply, planes);
        RC_ASSERT(model.check->accepts(0, masked, reply));
    }
}

RC_GTEST_PROP(Check, INTEG_1_INTEG_2_INTEG_3_verdicts_equal_the_definition, ()) {
    const Shape shape{*any_size(9, 14).as("rows"), *any_size(1, 8).as("n")};
    const KnownGroup group(shape, drawn_weights({shape}), drawn_planes());
    const std::size_t b = *any_size(1, 3).as("columns");
    const auto masked = drawn_residues(b, shape.n, group.planes);
    const auto honest = group.honest_reply(masked);
    RC_ASSERT(group.accepts_by_definition(masked, honest) && group.accepts(masked, honest));

    auto wrong = honest;
    const auto at = *any_size(0, wrong.size() - 1).as("place of the error");
    const std::uint8_t prime = primes[at / shape.rows % group.planes];
    wrong[at] = *any_number<std::uint8_t>(0, static_cast<std::uint8_t>(prime - 1)).as("byte");
    RC_ASSERT(group.accepts(masked, wrong) == group.accepts_by_definition(masked, wrong));

    // INTEG-1: an error made from w passes both, at every place of it, in every plane.
    for (std::size_t first = 0; first + kappa < shape.rows; ++first) {
        auto undetectable = honest;
        for (std::size_t p = 0; p < group.planes; ++p) {
            const auto column = *any_size(0, b - 1).as("column of the error");
            group.add_error(undetectable, column, p, undetectable_error(group, p, first));
        }
        RC_ASSERT(undetectable != honest);
        RC_ASSERT(group.accepts_by_definition(masked, undetectable));
        RC_ASSERT(group.accepts(masked, undetectable));
    }
}

TEST(Check, INTEG_4_every_error_in_one_byte_is_refused) {
    const KnownGroup group({33, 17}, 5);
    Random random(6);
    const auto masked = random_residues(3, 17, group.planes, random);
    const auto honest = group.honest_reply(masked);
    for (std::size_t at = 0; at < honest.size(); ++at) {
        const unsigned prime = primes[at / 33 % group.planes];
        for (unsigned error = 1; error < prime; ++error) {
            auto wrong = honest;
            wrong[at] = static_cast<std::uint8_t>((wrong[at] + error) % prime);
            ASSERT_FALSE(group.accepts(masked, wrong)) << at << " " << error;
        }
    }
}

/// More rows, or more columns, than a kernel takes at a time.
TEST(Check, INTEG_3_INTEG_4_an_error_in_any_byte_of_a_large_message_is_refused) {
    for (const Shape& shape : {Shape{1500, 3}, Shape{3, 1500}, Shape{5, 4}}) {
        const KnownGroup group(shape, 5);
        Random random(6);
        const std::size_t b = shape.rows == 5 ? 83 : 2;
        auto masked = random_residues(b, shape.n, group.planes, random);
        auto reply = group.honest_reply(masked);
        ASSERT_TRUE(group.accepts(masked, reply));
        const auto every_byte_counts = [&](Residues& residues, std::size_t rows) {
            for (std::size_t at = 0; at < residues.size(); ++at) {
                const std::uint8_t honest = residues[at];
                residues[at] =
                    static_cast<std::uint8_t>((honest + 1) % primes[at / rows % group.planes]);
                ASSERT_FALSE(group.accepts(masked, reply)) << shape.rows << " " << at;
                residues[at] = honest;
            }
        };
        every_byte_counts(masked, shape.n);
        every_byte_counts(reply, shape.rows);
    }
}

TEST(Check, INTEG_3_a_reply_to_another_message_is_refused) {
    const KnownGroup group({12, 7}, 5);
    Random random(6);
    const auto one = random_residues(2, 7, group.planes, random);
    auto other = one;
    std::swap_ranges(other.begin(), other.begin() + 28, other.begin() + 28);
    EXPECT_TRUE(group.accepts(other, group.honest_reply(other)));
    EXPECT_FALSE(group.accepts(one, group.honest_reply(other)));
}

/// INTEG-10: the verdict on an error is the same for every message, group of this height, session
/// and host, and another one under another seed.
TEST(Check, INTEG_10_a_verdict_depends_on_the_error_and_on_w_alone) {
    const KnownGroup group({12, 7}, 5);
    const auto error = undetectable_error(group, 2, 3);
    Random random(6);
    for (std::uint64_t weights = 0; weights < 4; ++weights) {
        const KnownGroup other({12, 5 + weights}, weights);
        const auto masked = random_residues(3, other.n, other.planes, random);
        auto reply = other.honest_reply(masked);
        other.add_error(reply, 1, 2, error);
        EXPECT_TRUE(other.accepts(masked, reply));
        other.add_error(reply, 1, 1, error);
        EXPECT_FALSE(other.accepts(masked, reply)) << "in another plane";
    }
    const auto masked = random_residues(1, 7, group.planes, random);
    auto reply = group.honest_reply(masked);
    group.add_error(reply, 0, 2, error);
    const auto& weights = group.model.weights();
    for (const auto first : std::array<std::uint8_t, 3>{100, 101, 102}) {
        const auto seed = counting_key(first);
        const auto s = secrets::companion(secrets::draw_combinations(seed, 4, 12), weights[0], 4);
        const IntegrityCheck check({seed, {s.span()}, {}}, kernels::shapes_of(weights), 4);
        EXPECT_EQ(check.accepts(0, masked, reply), first == 100);
        EXPECT_TRUE(check.accepts(0, masked, group.honest_reply(masked)));
    }
}

TEST(Check, INTEG_3_wrong_sizes_are_a_defect_and_no_verdict) {
    const KnownGroup group({3, 2}, 5);
    const auto accepts = [&](std::size_t sent, std::size_t received, GroupId id = 0) {
        return group.model.check->accepts(id, Residues(4 * sent), Residues(4 * received));
    };
    EXPECT_TRUE(accepts(4, 6));
    EXPECT_THROW(accepts(3, 3), InternalError);
    EXPECT_THROW(accepts(4, 3), InternalError);
    EXPECT_THROW(accepts(4, 9), InternalError);
    EXPECT_THROW(accepts(0, 0), InternalError);
    EXPECT_THROW(accepts(4, 6, 1), InternalError);
    EXPECT_THROW(group.model.check->accepts(0, Residues(15), Residues(24)), InternalError);
}

// ---- mutants: weaker checks, each with an error that it accepts and the real one refuses

/// A weaker check, and an error that it accepts.
struct Mutant {
    const char* name;
    std::function<bool(const Residues& masked, const Residues& reply)> verdict;
    std::function<void(Residues& reply)> damage;
};

/// Whether the differences of these columns, planes and combinations are zero.
bool accepts_part(const KnownGroup& group, const Residues& masked, const Residues& reply,
                  std::size_t columns, std::size_t first_plane, std::size_t combinations) {
    for (std::size_t c = 0; c < columns; ++c) {
        for (std::size_t p = first_plane; p < group.planes; ++p) {
            for (std::size_t a = 0; a < combinations; ++a) {
                if (group.difference(masked, reply, c, a, p) != 0) return false;
            }
        }
    }
    return true;
}

/// Whether the differences add up to zero over columns or over combinations.
bool accepts_sums(const KnownGroup& group, const Residues& masked, const Residues& reply,
                  bool over_columns) {
    const std::size_t columns = group.columns(masked);
    for (std::size_t p = 0; p < group.planes; ++p) {
        for (std::size_t i = 0; i < (over_columns ? kappa : columns); ++i) {
            unsigned sum = 0;
            for (std::size_t k = 0; k < (over_columns ? columns : kappa); ++k) {
                sum += over_columns ? group.difference(masked, reply, k, i, p)
                                    : group.difference(masked, reply, i, k, p);
            }
            if (sum % primes[p] != 0) return false;
        }
    }
    return true;
}

std::vector<Mutant> mutants_against(const KnownGroup& group) {
    const auto unit = [&](unsigned value) {
        std::vector<unsigned> error(group.rows, 0);
        error[4] = value;
        return error;
    };
    // What the first kappa - 1 combinations do not see, and what their sum does not.
    const auto unseen = [&](bool by_sum) {
        std::vector<std::vector<unsigned>> matrix(by_sum ? 1 : kappa - 1);
        for (std::size_t i = 0; i <= matrix.size(); ++i) {
            unsigned sum = 0;
            for (std::size_t a = 0; a < kappa; ++a) {
                sum += group.w(a, 1, i);
                if (!by_sum && a < kappa - 1) matrix[a].push_back(group.w(a, 1, i));
            }
            if (by_sum) matrix[0].push_back(sum % primes[1]);
        }
        auto error = orthogonal_to(std::move(matrix), primes[1]);
        error.resize(group.rows, 0);
        return error;
    };
    return {
        {"no check", [](const auto&, const auto&) { return true; },
         [=, &group](Residues& y) { group.add_error(y, 1, 0, unit(1)); }},
        {"all columns but the last",
         [&](const auto& x, const auto& y) { return accepts_part(group, x, y, 2, 0, kappa); },
         [=, &group](Residues& y) { group.add_error(y, 2, 0, unit(1)); }},
        {"all planes but the first",
         [&](const auto& x, const auto& y) { return accepts_part(group, x, y, 3, 1, kappa); },
         [=, &group](Residues& y) { group.add_error(y, 1, 0, unit(1)); }},
        {"all combinations but the last",
         [&](const auto& x, const auto& y) { return accepts_part(group, x, y, 3, 0, kappa - 1); },
         [=, &group](Residues& y) { group.add_error(y, 1, 1, unseen(false)); }},
        {"the sum of the columns",
         [&](const auto& x, const auto& y) { return accepts_sums(group, x, y, true); },
         [=, &group](Residues& y) {
             group.add_error(y, 0, 1, unit(1));
             group.add_error(y, 2, 1, unit(primes[1] - 1));
         }},
        {"the sum of the combinations",
         [&](const auto& x, const auto& y) { return accepts_sums(group, x, y, false); },
         [=, &group](Residues& y) { group.add_error(y, 1, 1, unseen(true)); }}};
}

TEST(Check, INTEG_3_kills_every_mutant) {
    const KnownGroup group({12, 5}, 9);
    Random random(10);
    const auto masked = random_residues(3, 5, group.planes, random);
    const auto honest = group.honest_reply(masked);
    for (const Mutant& mutant : mutants_against(group)) {
        SCOPED_TRACE(mutant.name);
        auto wrong = honest;
        mutant.damage(wrong);
        EXPECT_NE(wrong, honest);
        EXPECT_TRUE(mutant.verdict(masked, honest));
        EXPECT_TRUE(mutant.verdict(masked, wrong)) << "the error does not show the mutant";
        EXPECT_FALSE(group.accepts(masked, wrong));
        EXPECT_FALSE(group.accepts_by_definition(masked, wrong));
    }
}

// ---- what was checked (INTEG-5): bound to its message and its session, spent once. That nothing
// else can be unmasked is for the compiler: order_of_types.cpp.

/// Charlie without a connection, and the answers of David.
struct Columnwise {
    explicit Columnwise(const Model& m) : model(m) { charlie.open_stock({.depth = 0, .batch = 1}); }

    /// An APPLY to `group` and its REPLY, with `error` added to one byte.
    Replied answered(GroupId group, std::uint8_t error = 0) {
        const kernels::GroupWeights& w = model.weights()[group];
        const std::vector<std::int16_t> q(2 * w.cols(), 1);
        const wire::ColumnsHeader header{0, group, 2};
        Sent sent = charlie.mask(header.group, header, {q.data(), 2, w.cols()});
        Residues reply(2 * paper_planes * w.rows());
        w.multiply(wire::residues_of(sent.frame()), reply, paper_planes);
        reply.back() = static_cast<std::uint8_t>((reply.back() + error) % primes[3]);
        return charlie.decode_reply(std::move(sent),
                                    payload_of(message(FrameType::reply, header, reply)));
    }
    void unmask(Checked&& reply) {
        charlie.unmask(std::move(reply), {products.data(), 2, products.size() / 2});
    }

    const Model& model;
    Keystream keys;
    ResidueExchange charlie{model.weights(), *model.check, keys};
    Products products = Products(2 * model.weights()[0].rows());
};

TEST(Checked, INTEG_5_a_reply_is_unmasked_once_in_its_session) {
    const Model model({{3, 2}, {3, 2}}, Fill::random, 1);
    Columnwise one(model), other(model);
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

TEST(Checked, INTEG_6_a_reject_ends_the_session_for_every_message) {
    const Model model({{3, 2}, {3, 2}}, Fill::random, 1);
    Columnwise one(model);
    auto good = one.charlie.check(one.answered(0));
    auto later = one.answered(1);
    ASSERT_TRUE(good);
    EXPECT_FALSE(one.charlie.check(one.answered(1, 1)));
    EXPECT_THROW(one.charlie.check(std::move(later)), InternalError) << "no second verdict";
    EXPECT_THROW(one.unmask(std::move(*good)), InternalError) << "no product after a reject";
    EXPECT_EQ(one.products, Products(6));
}

TEST(Checked, INTEG_3_an_answer_is_checked_once) {
    const Model model({{3, 2}, {3, 2}}, Fill::random, 1);
    Columnwise one(model);
    auto answered = one.answered(0);
    EXPECT_TRUE(one.charlie.check(std::move(answered)));
    EXPECT_THROW(one.charlie.check(std::move(answered)), InternalError) << "moved from";
}

/// INTEG-6, INTEG-10: what a reject wipes is the session's. Other sessions go on with the check.
TEST(Checked, INTEG_6_a_reject_leaves_the_check_to_the_other_sessions) {
    const Model model({{3, 2}}, Fill::random, 1);
    Columnwise one(model), other(model);
    EXPECT_FALSE(one.charlie.check(one.answered(0, 1)));
    auto good = other.charlie.check(other.answered(0));
    ASSERT_TRUE(good);
    EXPECT_NO_THROW(other.unmask(std::move(*good)));
    EXPECT_FALSE(other.charlie.check(other.answered(0, 1)));
}

TEST(Checked, INTEG_3_a_check_of_another_model_or_set_opens_no_session) {
    const Model model({{3, 2}}, Fill::random, 1), wider({{3, 3}}, Fill::random, 1),
        two({{3, 2}, {3, 2}}, Fill::random, 1);
    Keystream keys;
    for (const Model* other : {&wider, &two}) {
        EXPECT_THROW(ResidueExchange(model.weights(), *other->check, keys), InternalError);
    }
    DavidSession david(model.david);
    InProcessTransport transport(david);
    EXPECT_THROW(CharlieSession(model.weights(), *model.check, set_of(5), model.david.digest,
                                transport, small_stock()),
                 InternalError);
}

// ---- within a session

TEST(Session, INTEG_4_every_tampered_residue_is_caught) {
    const Model model({{9, 4}}, Fill::random, 1);
    Random random(2);
    const Columns columns = random_columns(model.matrices[0], 2, Fill::random, random);
    for (std::size_t at = 0; at < 2 * paper_planes * 9; ++at) {
        for (const unsigned error : {1U, 100U, 232U}) {
            DavidSession david(model.david, tamper_with(1, at, error, 9));
            InProcessTransport transport(david);
            Charlie charlie(model, transport, small_stock());
            EXPECT_NO_THROW(round(charlie, 0, columns, 9));
            EXPECT_THROW(round(charlie, 0, columns, 9), IntegrityError);
            EXPECT_FALSE(charlie.alive());
            EXPECT_TRUE(david.finished());
        }
    }
}

TEST(Session, INTEG_5_nothing_of_a_rejected_reply_is_stored_counted_or_sent) {
    const Model model({{9, 4}}, Fill::random, 1);
    Random random(2);
    const Columns columns = random_columns(model.matrices[0], 2, Fill::random, random);
    DavidSession david(model.david, tamper_with(1, 3, 77, 9));
    RecordingTransport transport(david);
    Charlie charlie(model, transport, small_stock());
    round(charlie, 0, columns, 9);
    const RunStatistics before = charlie.statistics();

    Products products(18, 12345);
    charlie.send(0, columns.view());
    EXPECT_THROW(charlie.receive({products.data(), 2, 9}), IntegrityError);
    EXPECT_EQ(products, Products(18, 12345));
    const RunStatistics after = charlie.statistics();
    EXPECT_EQ(after.rounds, before.rounds);
    EXPECT_EQ(after.columns, before.columns);
    EXPECT_EQ(after.checks, before.checks);
    EXPECT_EQ(after.bytes_down, before.bytes_down);
    EXPECT_EQ(after.round_times.counts, before.round_times.counts);
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
            DavidSession david(model.david, tamper_with(0, at, 5, model.matrices[group].rows()));
            RecordingTransport transport(david);
            Charlie charlie(model, transport, small_stock());
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
}  // namespace slip::testing

// The hidden split: the table of its widths, David's matrix, and products that are exact, each
// against a definition of its own, at toy sizes and at those of the set.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <set>

#include "property_tests/reference/drawn_values.hpp"
#include "reference/error.hpp"
#include "reference/hiding.hpp"
#include "reference/session.hpp"

namespace slip::reference {
namespace {

/// The set with small blocks; modulus and table are those of `hidden`.
ParameterSet small_set(std::size_t N, std::size_t d) {
    ParameterSet set = hidden();
    set.lattice->N = N;
    set.lattice->d = d;
    return set;
}

/// Rows of n entries whose 2-norm is at most B.
Matrix any_rows(std::size_t m, std::size_t n) {
    std::size_t root = 1;
    while (root * root < n) ++root;
    return any_matrix(m, n, (hidden_width(n).B / root).convert_to<int>());
}

/// Entries that make up a 2-norm of B as closely as integers do, with the signs of `pattern`.
Vector longest(std::size_t n, const Vector& pattern) {
    const Integer B = hidden_width(n).B;
    Vector q;
    Integer left = B * B;
    for (std::size_t j = 0; j < n; ++j) {
        const Integer entry = sqrt(Integer(left / (n - j)));
        left -= entry * entry;
        q.push_back(pattern[j] < 0 ? Integer(-entry) : entry);
    }
    return q;
}

// -------------------------------------------------------------------------------------- the table

TEST(HiddenWidths, HIDE_2_every_row_decodes_and_no_wrong_one) {
    const ParameterSet set = hidden();
    const Integer Delta = set.lattice->Delta;
    for (const HiddenWidth& width : hidden_widths()) {
        EXPECT_TRUE(decodes(width, Delta, set.ring())) << width.n;
        HiddenWidth wrong = width;
        wrong.B += wrong.B / 20;
        EXPECT_FALSE(decodes(wrong, Delta, set.ring())) << width.n << ": longer rows";
        wrong = width;
        wrong.tau += 1;
        EXPECT_FALSE(decodes(wrong, Delta, set.ring())) << width.n << ": another root";
        wrong = width;
        wrong.u[1] = wrong.u[0], wrong.v[1] = wrong.v[0];
        EXPECT_FALSE(decodes(wrong, Delta, set.ring())) << width.n << ": one multiplier";
        wrong = width;
        wrong.v[0] += 1;
        EXPECT_FALSE(decodes(wrong, Delta, set.ring())) << width.n << ": v is not u tau";
    }
    EXPECT_FALSE(decodes(hidden_widths().front(), Delta, paper_lattice().ring()));
}

TEST(HiddenWidths, HIDE_2_a_row_of_E_is_longer_with_a_probability_of_2_to_the_minus_128) {
    // ||E_i||^2 counts the entries that are not 0: n coins. Outcomes with more than R^2 heads, of
    // 2^n.
    for (const HiddenWidth& width : hidden_widths()) {
        Integer outcomes = 1, above = 0;  // n choose n
        for (std::size_t heads = width.n; heads > width.R_square; --heads) {
            above += outcomes;
            outcomes = outcomes * heads / (width.n - heads + 1);
        }
        const Integer all = Integer(1) << static_cast<unsigned>(width.n);
        EXPECT_LE(above << 128, all) << width.n;
        EXPECT_GT((above + outcomes) << 128, all) << width.n << ": a smaller one would do";
    }
}

TEST(HiddenWidths, HIDE_2_the_class_of_a_width_is_the_narrowest_that_has_it) {
    EXPECT_EQ(hidden_width(1).n, 64U);
    EXPECT_EQ(hidden_width(64).n, 64U);
    EXPECT_EQ(hidden_width(65).n, 96U);
    EXPECT_EQ(hidden_width(2048).n, 2048U);
    EXPECT_EQ(hidden_width(2049).n, 3072U);
    EXPECT_EQ(hidden_width(6144).n, 6144U);
    EXPECT_THROW(hidden_width(0), PreconditionError);
    EXPECT_THROW(hidden_width(6145), PreconditionError);
    EXPECT_THROW(at_width(paper_lattice(), 64), PreconditionError);
}

TEST(HiddenWidths, HIDE_7_wide_matrices_are_split_into_equal_parts) {
    EXPECT_EQ(part_bounds(1), (std::vector<std::size_t>{0, 1}));
    EXPECT_EQ(part_bounds(6144), (std::vector<std::size_t>{0, 6144}));
    EXPECT_EQ(part_bounds(6145), (std::vector<std::size_t>{0, 3072, 6145}));
    EXPECT_EQ(part_bounds(28672), (std::vector<std::size_t>{0, 5734, 11468, 17203, 22937, 28672}));
    EXPECT_THROW(part_bounds(0), PreconditionError);
    for (std::size_t n = 1; n < 40'000; n += 97) {
        const auto bounds = part_bounds(n);
        ASSERT_EQ(bounds.front(), 0U);
        ASSERT_EQ(bounds.back(), n);
        for (std::size_t p = 1; p < bounds.size(); ++p) {
            const std::size_t width = bounds[p] - bounds[p - 1], parts = bounds.size() - 1;
            ASSERT_LE(width, 6144U) << n;
            ASSERT_TRUE(width == n / parts || width == n / parts + 1) << n;
        }
    }
}

RC_GTEST_PROP(HiddenModels, HIDE_8_rows_have_one_norm_and_are_close_to_the_floats, ()) {
    const auto m = *rc::gen::inRange<std::size_t>(1, 4), n = *rc::gen::inRange<std::size_t>(1, 90);
    const auto rows = any_tokens(m, n);
    const HiddenModel model = encode_rows(rows);
    const HiddenWidth& width = hidden_width(n);
    RC_ASSERT(largest_row_square(model.W) <= width.B * width.B);
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            const double entry = model.W(i, j).convert_to<double>();
            const double scale = model.row_scale[i];
            RC_ASSERT(std::abs(entry * scale - static_cast<double>(rows[i][j])) <= 0.5001 * scale);
        }
    }
}

// --------------------------------------------------------------------------------- David's matrix

/// V^T written out: entry (b N + a, l N + t) is what X^t takes to X^a in the product with V[b][l].
Matrix written_out(const Ring& ring, const RingMatrix& V, std::size_t N, std::size_t M) {
    Matrix transposed(M, N * V.front().size());
    for (std::size_t i = 0; i < M; ++i) {
        for (std::size_t j = 0; j < transposed.cols(); ++j) {
            const RingElement& v = V[i / N][j / N];
            const std::size_t a = i % N, t = j % N;
            transposed(i, j) = a >= t ? v[a - t] : ring.embed(-v[N + a - t]);
        }
    }
    return transposed;
}

RC_GTEST_PROP(HiddenMatrix, HIDE_1_A_is_VT_U_and_the_model_and_tau_E, ()) {
    const auto N = *rc::gen::inRange<std::size_t>(1, 6), d = *rc::gen::inRange<std::size_t>(1, 4);
    const auto m = *rc::gen::inRange<std::size_t>(1, 12), n = *rc::gen::inRange<std::size_t>(1, 9);
    const ParameterSet set = small_set(N, d);
    const Matrix W = any_rows(m, n);
    const HiddenMatrix matrix = hide(set, any_key(), any_key(), 3, W);
    const Ring& ring = set.ring();
    const Matrix VT = written_out(ring, matrix.secret.V, N, m);
    const Matrix A = VT * matrix.U + W + matrix.set.lattice->tau * matrix.E;
    const Matrix W_t = matrix.davids_weights();
    RC_ASSERT(W_t.rows() == m + N * d);
    for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t i = 0; i < m; ++i) RC_ASSERT(W_t(i, j) == ring.embed(A(i, j)));
        for (std::size_t l = 0; l < N * d; ++l) RC_ASSERT(W_t(m + l, j) == matrix.U(l, j));
    }
}

TEST(HiddenMatrix, HIDE_3_V_and_E_depend_on_everything_that_names_the_matrix) {
    const ParameterSet set = hidden();
    const Matrix W{{1, -2, 3}, {4, 5, 6}}, other{{1, -2, 3}, {4, 5, 7}}, flat{{1, -2, 3, 4, 5, 6}};
    ParameterSet second = set;
    second.code = 4;
    const Key secret{1}, seed{2};
    const std::set<Key> keys{
        hiding_key(set, secret, seed, 0, W),    hiding_key(set, Key{9}, seed, 0, W),
        hiding_key(set, secret, Key{9}, 0, W),  hiding_key(set, secret, seed, 1, W),
        hiding_key(set, secret, seed, 256, W),  hiding_key(set, secret, seed, 0, other),
        hiding_key(set, secret, seed, 0, flat), hiding_key(second, secret, seed, 0, W)};
    EXPECT_EQ(keys.size(), 8U);
    EXPECT_EQ(hiding_key(set, secret, seed, 0, W), hiding_key(set, secret, seed, 0, W));
}

/// Why the public seed is in the key: one V and one E under two U, and the noise is gone.
TEST(HiddenMatrix, HIDE_3_two_U_under_one_V_would_differ_without_noise) {
    const ParameterSet set = small_set(4, 2);
    const Matrix W{{1, -2, 3}, {4, 5, 6}, {7, 8, 9}};
    HiddenMatrix first = hide(set, Key{1}, Key{2}, 0, W), again = first;
    again.U = public_rows(set, Key{3}, 3);
    const Ring& ring = set.ring();
    const Matrix VT = written_out(ring, first.secret.V, 4, 3);
    const auto A = [](const HiddenMatrix& matrix) {  // its first column
        Vector column = matrix.davids_weights().column(0);
        column.resize(matrix.W.rows());
        return column;
    };
    const Vector U = ring.subtract(first.U.column(0), again.U.column(0));
    EXPECT_EQ(ring.subtract(A(first), A(again)), ring.multiply(VT, U));
    const HiddenMatrix split_again = hide(set, Key{1}, Key{3}, 0, W);
    EXPECT_NE(ring.subtract(A(first), A(split_again)), ring.multiply(VT, U)) << "another key";
}

TEST(HiddenMatrix, HIDE_3_V_E_and_U_are_their_streams) {
    const ParameterSet set = small_set(4, 2);
    const Key key{7}, seed{8};
    const RingMatrix V = weight_secret(set, key, 9);
    ASSERT_EQ(V.size(), 3U) << "9 rows are three blocks of 4";
    for (std::size_t b = 0; b < 3; ++b) {
        Keystream stream(key, Purpose::weight_secret, b);
        const Vector integers = set.ring().embed(small_integers(stream, 1, 8));
        EXPECT_EQ(V[b][0], Vector(integers.begin(), integers.begin() + 4));
        EXPECT_EQ(V[b][1], Vector(integers.begin() + 4, integers.end()));
    }
    const Matrix E = weight_error(set, key, 3, 40);
    for (std::size_t i = 0; i < 3; ++i) {
        Keystream stream(key, Purpose::weight_error, i);
        EXPECT_EQ(E.transpose().column(i), small_integers(stream, 1, 40));
    }
    const Matrix U = public_rows(set, seed, 5);
    EXPECT_EQ(U.rows(), 8U);
    EXPECT_EQ(U.transpose().column(7),
              public_residues(set.planes, set.code, PublicPurpose::weights, 5, 7, seed, 5));
    EXPECT_NE(public_rows(set, Key{9}, 5), U);
}

TEST(HiddenMatrix, HIDE_1_a_row_that_is_too_long_is_refused) {
    const Integer B = hidden_width(3).B;
    EXPECT_NO_THROW(hide(small_set(2, 1), Key{}, Key{}, 0, Matrix{{0, B, 0}}));
    EXPECT_THROW(hide(small_set(2, 1), Key{}, Key{}, 0, Matrix{{1, B, 0}}), PreconditionError);
}

// --------------------------------------------------------------------------------------- products

/// What Charlie makes of David's reply to q.
Vector product(const HiddenMatrix& matrix, OneTimeMask mask, const Vector& q) {
    const Ring& ring = matrix.set.ring();
    const Vector reply = ring.multiply(matrix.davids_weights(), mask.mask(ring, q));
    const NegacyclicRing R(ring, matrix.set.lattice->N);
    return mask.unmask(ring, matrix.secret.remove(R, reply));
}

RC_GTEST_PROP(HiddenProducts, HIDE_5_the_product_is_that_of_the_model, ()) {
    const auto set =
        small_set(*rc::gen::inRange<std::size_t>(1, 7), *rc::gen::inRange<std::size_t>(1, 4));
    const auto m = *rc::gen::inRange<std::size_t>(1, 12), n = *rc::gen::inRange<std::size_t>(1, 70);
    const Matrix W = any_rows(m, n);
    const HiddenMatrix matrix = hide(set, any_key(), any_key(), 0, W);
    LatticeMasks masks(set, any_key(), any_key());
    for (std::size_t t = 0; t < set.lattice->N + 1; ++t) {
        const Vector q = any_rows(1, n).transpose().column(0);
        RC_ASSERT(product(matrix, masks.draw(0, matrix.noisy()), q) == W * q);
    }
}

TEST(HiddenProducts, HIDE_6_the_same_under_a_hundred_seeds_of_everything_secret) {
    const ParameterSet set = small_set(4, 3);
    const std::size_t n = 40;
    Matrix W(6, n);
    Vector pattern;
    for (std::size_t j = 0; j < n; ++j) pattern.emplace_back(j % 3 == 0 ? -1 : 1);
    const Vector q = longest(n, pattern);  // aligned with the first row
    for (std::size_t j = 0; j < n; ++j) {
        W(0, j) = q[j];
        W(1, j) = -q[j];
        W(2, j) = static_cast<int>(j * j % 31) - 15;
    }
    std::set<Matrix,
             decltype([](const Matrix& a, const Matrix& b) { return a.column(0) < b.column(0); })>
        davids;
    for (std::uint8_t seed = 0; seed < 100; ++seed) {
        const HiddenMatrix matrix = hide(set, Key{seed, 1}, Key{seed, 2}, 0, W);
        LatticeMasks masks(set, Key{seed, 3}, Key{seed, 4});
        EXPECT_EQ(product(matrix, masks.draw(0, matrix.noisy()), q), W * q) << int(seed);
        davids.insert(matrix.davids_weights());
    }
    EXPECT_EQ(davids.size(), 100U);
}

/// What Charlie decodes of Z + tau B.
Integer decoded(const HiddenWidth& width, const Integer& Z, const Integer& B) {
    const Ring ring = hidden().ring();
    return unmask(ring, width, {ring.embed(Z + width.tau * B)}, {0}).front();
}

TEST(HiddenProducts, HIDE_5_sums_at_their_bounds_are_decoded_at_every_width) {
    const Integer Delta = hidden().lattice->Delta;
    for (const HiddenWidth& width : hidden_widths()) {
        const Integer R = sqrt(width.R_square), B = width.B;  // rounded down: a row that occurs
        const Integer E_e = 75 * R / 8, product = B * B;
        const Integer beside = R * B + 75 * B / 8 + Delta;
        for (int a : {1, -1}) {
            for (int b : {1, -1}) {
                for (int c : {1, -1}) {
                    const Integer Z = a * product + b * width.s * E_e;
                    EXPECT_EQ(decoded(width, Z, c * beside), a * product) << width.n;
                    EXPECT_NE(decoded(width, 3 * Z, 3 * c * beside), 3 * a * product)
                        << width.n << ": the condition is not idle";
                }
            }
        }
    }
}

/// A row of W' and one of E that are as long as they come, with q aligned to either: the sum
/// itself, without masks.
TEST(HiddenProducts, HIDE_5_columns_aligned_with_rows_of_W_and_of_E_are_decoded_at_every_width) {
    for (const HiddenWidth& width : hidden_widths()) {
        Vector E, e;
        Integer ones = width.R_square;
        for (std::size_t j = 0; j < width.n; ++j) {
            E.emplace_back(ones-- > 0 ? (j % 2 == 0 ? 1 : -1) : 0);
            e.emplace_back(j % 5 < 2 ? E.back() : Integer(0));
        }
        const Vector q = longest(width.n, E);
        const auto dot = [&](const Vector& a, const Vector& b) {
            Integer sum = 0;
            for (std::size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
            return sum;
        };
        ASSERT_LE(dot(q, q), width.B * width.B);
        ASSERT_GT(dot(q, q), (width.B - 1) * (width.B - 1)) << "within 1 of the bound";
        // e is scaled down until it is one that occurs: at most 75/8 standard deviations of a sum.
        while (abs(dot(E, e)) * 8 > 75 * sqrt(width.R_square) ||
               abs(dot(q, e)) * 8 > 75 * width.B) {
            for (std::size_t j = e.size(); j-- > 0;) {
                if (e[j] != 0) {
                    e[j] = 0;
                    break;
                }
            }
        }
        const Integer Z = dot(q, q) + width.s * dot(E, e), B = dot(E, q) + dot(q, e);
        EXPECT_EQ(decoded(width, Z, B), dot(q, q)) << width.n;
    }
}

TEST(HiddenProducts, HIDE_5_one_group_of_the_set_itself) {
    const ParameterSet set = hidden();
    const std::size_t n = 12;
    Matrix W(3, n);
    Vector pattern;
    for (std::size_t j = 0; j < n; ++j) pattern.emplace_back(j % 2 == 0 ? 1 : -1);
    const Vector q = longest(n, pattern);
    for (std::size_t j = 0; j < n; ++j) {
        W(0, j) = q[j];
        W(1, j) = static_cast<int>(j) - 5;
    }
    const HiddenMatrix matrix = hide(set, Key{1}, Key{2}, 0, W);
    EXPECT_EQ(matrix.davids_weights().rows(), 3U + 2304U);
    const ParameterSet at = at_width(set, n);
    const RingMatrix T = public_matrix(at, Key{3}, n);
    const RingMatrix H = multiply(NegacyclicRing(set.ring(), 256), matrix.noisy(), T);
    auto masks = lattice_block(at, T, H, Key{4}, 5);
    for (const std::size_t i : {0U, 1U, 255U}) {
        EXPECT_EQ(product(matrix, std::move(masks.at(i)), q), W * q) << i;
    }
}

// --------------------------------------------------------------------------------------- sessions

struct Hidden {
    ParameterSet set = small_set(3, 2);
    std::vector<Matrix> models{{{1, -2, 300}, {4, 5, -600}}, {{7, 8}, {9, -10}, {11, 12}, {1, 2}}};
    std::vector<Matrix> noisy, davids;
    std::vector<WeightSecret> secrets;

    Hidden() {
        for (std::uint32_t group = 0; group < models.size(); ++group) {
            const HiddenMatrix matrix = hide(set, Key{1}, Key{2}, group, models[group]);
            noisy.push_back(matrix.noisy());
            davids.push_back(matrix.davids_weights());
            secrets.push_back(matrix.secret);
        }
    }

    /// Charlie's product of the first group with {5, 6, 7} under a David who tampers with `row`.
    Vector product(std::optional<std::size_t> row) {
        const std::vector<PlannedMessage> schedule{{0, 1}, {1, 2}};
        DavidSession david(set, Digest{}, davids);
        InProcessChannel channel(david, [&](Bytes answer) {
            const Frame frame = decode(answer, david.shapes());
            const Reply* reply = std::get_if<Reply>(&frame);
            if (!row || reply == nullptr) return answer;
            Reply wrong = *reply;
            Integer& residue = wrong.residues(*row, 0);
            residue = set.ring().add(residue, set.ring().modulus() / 227);  // wrong mod one prime
            return encode(wrong, david.shapes());
        });
        CharlieSession charlie(david.shapes(), Digest{}, prepare_checks(set, Key{5}, davids),
                               prepare_lattice_masks(set, Key{3}, Key{4}, noisy, schedule), channel,
                               secrets);
        charlie.hello();
        const Matrix y = charlie.apply(0, Matrix{{5}, {6}, {7}});
        const Matrix q{{1, -3}, {2, 4}};
        EXPECT_EQ(charlie.apply(1, q), models[1] * q);
        charlie.close();
        return y.column(0);
    }
};

TEST(HiddenSession, LIN_4_HIDE_5_products_over_the_protocol_are_those_of_the_model) {
    Hidden hidden;
    EXPECT_EQ(hidden.product(std::nullopt), hidden.models[0] * Vector({5, 6, 7}));
}

TEST(HiddenSession, INTEG_3_HIDE_4_a_wrong_residue_of_A_or_of_U_ends_the_session) {
    Hidden hidden;
    for (const std::size_t row : {0U, 1U, 2U, 7U}) {
        EXPECT_THROW(hidden.product(row), IntegrityError) << row;
    }
}

}  // namespace
}  // namespace slip::reference

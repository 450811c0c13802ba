// What an attacker makes of David's half of a hidden split (HIDE-1), and of one that hides nothing.
// test: alone
// links: safety_share slip_reference
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "experiments/safety/share/hidden_half.hpp"
#include "property_tests/protocol/hidden_fixture.hpp"
#include "reference/hiding.hpp"

namespace slip::testing {
namespace {

constexpr std::size_t rows = 12, columns = 64, planes = 6;

reference::Key to_key(std::span<const std::uint8_t> bytes) {
    reference::Key key{};
    std::copy(bytes.begin(), bytes.end(), key.begin());
    return key;
}

/// The planes of some integers, least magnitudes modulo each prime.
std::vector<std::int8_t> planes_of(const std::vector<std::int64_t>& values) {
    std::vector<std::int8_t> residues;
    for (std::size_t p = 0; p < planes; ++p) {
        const std::int64_t prime = primes[p];
        for (const std::int64_t value : values) {
            const std::int64_t residue = (value % prime + prime) % prime;
            residues.push_back(
                static_cast<std::int8_t>(residue > prime / 2 ? residue - prime : residue));
        }
    }
    return residues;
}

/// The cosine of two lists of numbers as vectors.
template <class One, class Other>
double cosine(const One& one, const Other& other) {
    double product = 0, squares = 0, others = 0;
    for (std::size_t i = 0; i < one.size(); ++i) {
        const auto a = static_cast<double>(one[i]), b = static_cast<double>(other[i]);
        product += a * b, squares += a * a, others += b * b;
    }
    return product / std::sqrt(squares * others);
}

class HiddenShare : public ::testing::Test {
protected:
    HiddenShare() {
        const splitting::PublicOfWidth common(hidden_set, hidden_seed(), columns);
        const auto key = splitting::hiding_key(hidden_set, secret, hidden_seed(), 0, model);
        davids = HiddenGroup(common, model, key.span(), counting_key(6)).davids;
    }
    /// As a share has them, with the norm that all rows of the model have.
    std::vector<float> share_of(const std::vector<std::int8_t>& residues) const {
        const std::vector<double> norms(rows, base::hidden_width(columns).norm);
        return safety::with_norms(safety::lifted(residues, planes), columns, norms);
    }

    Random random{7};
    HiddenModel model = any_hidden(rows, columns, random);
    std::vector<std::uint8_t> secret = [] {
        const auto key = counting_key(5);
        return std::vector<std::uint8_t>(key.begin(), key.end());
    }();
    std::vector<std::int8_t> davids;
};

TEST_F(HiddenShare, RING_2_residues_are_lifted_to_the_least_magnitudes) {
    const auto half = static_cast<std::int64_t>(base::parameters::modulus(planes) / 2);
    std::vector<std::int64_t> values{0, 1, -1, half, -half, half - 1, 1 - half};
    for (int i = 0; i < 100; ++i) values.push_back(uniform(random, -half, half));
    const std::vector<double> found = safety::lifted(planes_of(values), planes);
    ASSERT_EQ(found.size(), values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        EXPECT_EQ(found[i], static_cast<double>(values[i]));
    }
}

TEST_F(HiddenShare, HIDE_1_the_share_is_the_references_A_with_rows_of_the_models_norm) {
    reference::Matrix W(rows, columns);
    for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < columns; ++j) W(i, j) = model.view().row(i)[j];
    }
    const reference::ParameterSet set = reference::hidden();
    const reference::Matrix A =
        reference::hide(set, to_key(secret), to_key(hidden_seed()), 0, W).davids_weights();
    const std::vector<double> found = safety::lifted(davids, planes);
    const std::vector<float> share = share_of(davids);
    for (std::size_t i = 0; i < rows; ++i) {
        double squares = 0, shared = 0;
        for (std::size_t j = 0; j < columns; ++j) {
            const double a = found[i * columns + j];
            ASSERT_EQ(a, static_cast<double>(set.ring().lift(A(i, j)))) << i << " " << j;
            squares += a * a;
            shared += double{share[i * columns + j]} * share[i * columns + j];
        }
        const double norm = base::hidden_width(columns).norm;
        EXPECT_NEAR(std::sqrt(shared), norm, 1e-4 * norm);
        const double factor = norm / std::sqrt(squares);
        for (std::size_t j = 0; j < columns; ++j) {
            const double expected = factor * found[i * columns + j];
            EXPECT_NEAR(share[i * columns + j], expected, 1e-6 * std::abs(expected));
        }
    }
}

/// The cosine of 768 pairs of unrelated numbers has a deviation of 0.036.
TEST_F(HiddenShare, HIDE_1_it_does_not_point_to_the_model) {
    EXPECT_LT(std::abs(cosine(share_of(davids), model.entries)), 0.15);
    EXPECT_EQ(share_of(davids), share_of(davids));
    const std::int64_t norm = base::hidden_width(columns).norm;
    for (const double a : safety::lifted(davids, planes)) EXPECT_GT(std::abs(a), norm);
}

/// What the test above would see: without V^T U and E the share is the model, and without V^T U
/// alone half of its entries are those of the model, far smaller than the others.
TEST_F(HiddenShare, HIDE_1_without_V_the_same_share_shows_the_model) {
    const std::vector<std::int64_t> bare(model.entries.begin(), model.entries.end());
    EXPECT_GT(cosine(share_of(planes_of(bare)), model.entries), 0.99);

    secrets::WeightStreams streams(
        hidden_set, splitting::hiding_key(hidden_set, secret, hidden_seed(), 0, model).span());
    std::vector<std::int8_t> noise(columns);
    std::vector<std::int64_t> noisy = bare;
    for (std::size_t i = 0; i < rows; ++i) {
        streams.weight_error(i, noise);
        for (std::size_t j = 0; j < columns; ++j) {
            noisy[i * columns + j] +=
                static_cast<std::int64_t>(base::hidden_width(columns).tau) * noise[j];
        }
    }
    const std::vector<double> found = safety::lifted(planes_of(noisy), planes);
    std::size_t shown = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
        if (found[i] == static_cast<double>(bare[i])) ++shown;
    }
    EXPECT_GT(shown, found.size() * 2 / 5);
    EXPECT_LT(shown, found.size() * 3 / 5);
}

TEST_F(HiddenShare, THREAT_1_uniform_rows_are_uniform_and_the_seeds) {
    std::mt19937_64 one(3), same(3), other(4);
    const auto residues = safety::uniform_residues(20000, planes, one);
    EXPECT_EQ(residues, safety::uniform_residues(20000, planes, same));
    EXPECT_NE(residues, safety::uniform_residues(20000, planes, other));
    const auto half = static_cast<double>(base::parameters::modulus(planes) / 2);
    double sum = 0, squares = 0;
    for (const double value : safety::lifted(residues, planes)) {
        sum += value / half, squares += value / half * (value / half);
    }
    EXPECT_NEAR(sum / 20000, 0, 0.03);  // deviation 0.0041
    EXPECT_NEAR(squares / 20000, 1.0 / 3, 0.015);
}

TEST_F(HiddenShare, a_row_of_zeros_has_no_direction) {
    const std::vector<double> zeros(columns, 0.0), norm(1, 3.0);
    EXPECT_EQ(safety::with_norms(zeros, columns, norm), std::vector<float>(columns, 0.0F));
}

}  // namespace
}  // namespace slip::testing

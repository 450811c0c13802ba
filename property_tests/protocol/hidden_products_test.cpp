// Products of the hidden split: what Charlie decodes of David's replies is W' q, whatever hides it.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "optimized/masks/decoding.hpp"
#include "property_tests/generators/sanitizers.hpp"
#include "property_tests/protocol/hidden_fixture.hpp"
#include "reference/hiding.hpp"
#include "reference/masking.hpp"

namespace slip::testing {
namespace {

using secrets::WeightStreams;

constexpr std::int64_t modulus_of_set = 175107974924611;

// A sanitizer takes ten times as long.
const std::size_t widest = sanitized() ? 256 : base::widest_hidden;
const std::size_t seeds = sanitized() ? 5 : 100;

// --------------------------------------------------------------------------------------- decoding

TEST(HiddenDecoding, HIDE_2_the_table_is_the_references) {
    ASSERT_EQ(base::hidden_widths.size(), reference::hidden_widths().size());
    for (std::size_t i = 0; i < base::hidden_widths.size(); ++i) {
        const base::HiddenWidth& own = base::hidden_widths[i];
        const reference::HiddenWidth& expected = reference::hidden_widths()[i];
        EXPECT_EQ(own.n, expected.n);
        EXPECT_EQ(own.norm, expected.B);
        EXPECT_EQ(own.s, expected.s);
        EXPECT_EQ(own.tau, expected.tau);
        for (std::size_t j = 0; j < 2; ++j) {
            EXPECT_EQ(own.u[j], expected.u[j]);
            EXPECT_EQ(own.v[j], expected.v[j]);
        }
        EXPECT_EQ(&base::hidden_width(own.n), &own);
        if (i > 0) {
            EXPECT_EQ(&base::hidden_width(base::hidden_widths[i - 1].n + 1), &own);
        }
    }
}

/// Any residue, the ends of the range, and sums within and at their bounds.
TEST(HiddenDecoding, HIDE_5_is_the_references_at_every_width) {
    const reference::Ring ring = reference::hidden().ring();
    constexpr std::int64_t half = modulus_of_set / 2;
    Random random(1);
    for (const base::HiddenWidth& width : base::hidden_widths) {
        Products y{0, 1, -1, half, -half, half - 1, 1 - half};
        for (std::size_t i = 0; i < 2000; ++i) y.push_back(uniform(random, -half, half));
        const std::int64_t most = std::int64_t{width.norm} * width.norm;
        for (std::size_t i = 0; i < 2000; ++i) {
            const std::int64_t small = i % 2 == 0 ? most : uniform(random, -most, most);
            const reference::Integer Z = small + width.s * uniform<std::int64_t>(random, -300, 300);
            const reference::Integer B = uniform<std::int64_t>(random, -60000, 60000);
            y.push_back(static_cast<std::int64_t>(
                ring.lift(ring.embed(Z + reference::Integer(width.tau) * B))));
        }
        reference::Vector residues;
        for (const std::int64_t v : y) residues.push_back(ring.embed(v));
        const reference::Vector expected =
            reference::unmask(ring, reference::hidden_width(width.n), residues,
                              reference::Vector(residues.size(), 0));
        for (const masks::Backend* backend : masks::available()) {
            for (const std::size_t count : {y.size(), std::size_t{7}, std::size_t{1}}) {
                Products decoded(y.begin(), y.begin() + static_cast<std::ptrdiff_t>(count));
                masks::decode_products(width, decoded, *backend);
                const reference::Vector own(expected.begin(),
                                            expected.begin() + static_cast<std::ptrdiff_t>(count));
                EXPECT_EQ(to_reference(decoded), own) << backend->name << " " << width.n;
            }
        }
    }
}

// --------------------------------------------------------------------------------------- products

TEST(HiddenProducts, HIDE_4_HIDE_5_products_are_exact_whatever_the_number_of_columns) {
    Random random(2);
    const std::vector<HiddenModel> models = {any_hidden(300, 30, random), any_hidden(5, 64, random),
                                             any_hidden(1, 1, random), any_hidden(257, 30, random),
                                             any_hidden(7, 130, random)};
    const HiddenDeployment deployment(models);
    const auto stock = deployment.stock(on_demand());
    HiddenSession session(deployment, *stock);
    for (const std::size_t columns : {1U, 3U, 256U, 257U, 2U}) {
        for (base::GroupId g = 0; g < models.size(); ++g) {
            const Columns q(columns, models[g].n, short_entries(columns, models[g].n, random));
            ASSERT_EQ(round(session.charlie, g, q, models[g].rows()),
                      integer_products(models[g], q));
        }
    }
}

TEST(HiddenProducts, HIDE_6_products_are_the_same_under_100_seeds) {
    Random random(3);
    const HiddenModel model = any_hidden(3, 64, random);
    const Columns q(4, 64, short_entries(4, 64, random));
    std::set<std::vector<std::int8_t>> davids;
    for (std::uint8_t seed = 0; seed < seeds; ++seed) {
        const HiddenDeployment deployment({model}, seed);
        const auto stock = deployment.stock(on_demand());
        HiddenSession session(deployment, *stock);
        ASSERT_EQ(round(session.charlie, 0, q, 3), integer_products(model, q)) << int(seed);
        davids.insert(deployment.group(0).davids);
    }
    EXPECT_EQ(davids.size(), seeds);
}

/// n entries of one magnitude, but for the last, with these signs, and of a 2-norm of B at most.
std::vector<std::int16_t> along(std::span<const std::int8_t> signs, std::int32_t norm) {
    std::int64_t left = std::int64_t{norm} * norm;
    auto others = static_cast<std::int64_t>(
        signs.size() - static_cast<std::size_t>(std::count(signs.begin(), signs.end(), 0)));
    std::vector<std::int16_t> entries;
    for (const std::int8_t sign : signs) {
        auto entry = static_cast<std::int64_t>(std::sqrt(
            static_cast<double>(left) / static_cast<double>(std::max<std::int64_t>(others, 1))));
        if (sign == 0) entry = 0;
        if (sign != 0) --others;
        left -= entry * entry;
        entries.push_back(static_cast<std::int16_t>(sign * entry));
    }
    return entries;
}

/// Rows and columns as long as they may be: alike, opposite, all in one entry, and along a row of
/// E.
TEST(HiddenProducts, HIDE_5_adversarial_columns_are_decoded_at_every_width) {
    for (const base::HiddenWidth& width : base::hidden_widths) {
        const std::size_t n = width.n;
        if (n > widest) break;
        std::vector<std::int8_t> signs(n);
        for (std::size_t j = 0; j < n; ++j) signs[j] = j * j % 7 < 4 ? 1 : -1;
        const auto row = along(signs, width.norm);
        HiddenModel model{n, row, {1}};
        for (const std::int16_t entry : row) {
            model.entries.push_back(static_cast<std::int16_t>(-entry));
        }
        model.entries.resize(4 * n);
        model.entries[2 * n + n / 3] = static_cast<std::int16_t>(width.norm);
        model.row_scale.assign(4, 1);
        const HiddenDeployment deployment({model});
        WeightStreams streams(hidden_set, deployment.group(0).key);
        std::vector<std::int8_t> error(n);
        std::vector<std::int16_t> columns = row;
        columns.insert(columns.end(), model.entries.begin() + static_cast<std::ptrdiff_t>(2 * n),
                       model.entries.begin() + static_cast<std::ptrdiff_t>(3 * n));
        for (std::size_t i = 0; i < 4; ++i) {
            streams.weight_error(i, error);
            const auto aligned = along(error, width.norm);
            columns.insert(columns.end(), aligned.begin(), aligned.end());
        }
        const Columns q(6, n, std::move(columns));
        std::int64_t squares = 0;
        for (std::size_t j = 0; j < n; ++j) squares += std::int64_t{q.q[j]} * q.q[j];
        const std::int64_t norm = width.norm;
        ASSERT_LE(squares, norm * norm);
        ASSERT_GT(squares, (norm - 1) * (norm - 1)) << "within 1 of the bound";
        const auto stock = deployment.stock(on_demand());
        HiddenSession session(deployment, *stock);
        EXPECT_EQ(round(session.charlie, 0, q, 4), integer_products(model, q)) << n;
    }
}

// ---------------------------------------------------------------------------------- what is wrong

/// A residue of y_A, of y_U, in the first plane or in the last.
TEST(HiddenProducts, INTEG_3_a_wrong_residue_of_either_part_is_rejected) {
    Random random(4);
    const HiddenModel model = any_hidden(5, 40, random);
    const HiddenDeployment deployment({model});
    const auto stock = deployment.stock(on_demand());
    const std::size_t rows = 5 + hidden_set.public_rows();
    for (const std::size_t plane : {0U, 5U}) {
        for (const std::size_t row : {std::size_t{0}, std::size_t{4}, std::size_t{5}, rows - 1}) {
            HiddenSession session(
                deployment, *stock,
                [&](const protocol::wire::ColumnsHeader&, std::span<std::uint8_t> product) {
                    std::uint8_t& residue = product[plane * rows + row];
                    residue = residue == 0 ? 1 : 0;
                });
            const Columns q(1, 40, short_entries(1, 40, random));
            EXPECT_THROW(round(session.charlie, 0, q, 5), IntegrityError) << plane << " " << row;
            EXPECT_FALSE(session.charlie.alive());
        }
    }
}

/// Under a key that is not the matrix's, V is another one: Charlie's own check finds it.
TEST(HiddenProducts, MASK_10_a_wrong_secret_is_noticed) {
    Random random(5);
    const HiddenModel model = any_hidden(5, 40, random);
    HiddenDeployment deployment({model});
    const std::vector<std::uint8_t> other = counting_key(99);
    const std::span<const std::uint8_t> keys[] = {other};
    const base::ProductShape shapes[] = {{5, 40}};
    deployment.secrets.emplace(hidden_set, keys, shapes);
    const auto stock = deployment.stock(on_demand());
    HiddenSession session(deployment, *stock);
    const Columns q(1, 40, short_entries(1, 40, random));
    EXPECT_THROW(round(session.charlie, 0, q, 5), InternalError);
}

}  // namespace
}  // namespace slip::testing

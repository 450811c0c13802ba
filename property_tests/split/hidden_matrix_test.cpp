// Hiding a matrix, against the reference: the integer model, the key, A, the hint and companions.
#include <gtest/gtest.h>

#include "property_tests/protocol/hidden_fixture.hpp"
#include "reference/hiding.hpp"
#include "reference/lattice.hpp"

namespace slip::testing {
namespace {

reference::Key to_key(std::span<const std::uint8_t> bytes) {
    reference::Key key{};
    std::copy(bytes.begin(), bytes.end(), key.begin());
    return key;
}

reference::Matrix to_reference(const HiddenModel& model) {
    reference::Matrix W(model.rows(), model.n);
    for (std::size_t i = 0; i < model.rows(); ++i) {
        for (std::size_t j = 0; j < model.n; ++j) W(i, j) = model.view().row(i)[j];
    }
    return W;
}

TEST(HiddenMatrix, HIDE_8_the_integer_model_is_the_references) {
    Random random(1);
    for (const std::size_t n : {1U, 63U, 65U, 700U}) {
        std::vector<std::vector<float>> rows;
        std::vector<float> all;
        for (std::size_t i = 0; i < 6; ++i) {
            auto& row = rows.emplace_back();
            for (std::size_t j = 0; j < n; ++j) {
                const auto v = static_cast<float>(uniform(random, -1000, 1000));
                row.push_back(i == 5 ? 0.0F : i == 4 && j == 0 ? 1e6F * v : v * 0.001F);
            }
            all.insert(all.end(), row.begin(), row.end());
        }
        HiddenModel model{n, {}, {}};
        model.append({all.data(), 2, n});
        model.append({all.data() + 2 * n, 4, n});
        const reference::HiddenModel expected = reference::encode_rows(rows);
        EXPECT_EQ(to_reference(model), expected.W);
        EXPECT_EQ(model.row_scale, expected.row_scale);
    }
    HiddenModel other{7, {}, {}};
    const std::vector<float> values(14, 1);
    EXPECT_THROW(other.append({values.data(), 1, 14}), InternalError);
}

TEST(HiddenMatrix, HIDE_3_the_key_is_the_references_and_depends_on_all_that_it_should) {
    Random random(2);
    const HiddenModel model = any_hidden(3, 20, random);
    const auto secret = counting_key(3);
    const auto key_of = [&](std::span<const std::uint8_t> owners, const PublicSeed& seed,
                            std::uint32_t group, const HiddenModel& of) {
        return to_key(splitting::hiding_key(hidden_set, owners, seed, group, of).span());
    };
    const reference::Key key = key_of(secret, hidden_seed(), 7, model);
    EXPECT_EQ(key, reference::hiding_key(reference::hidden(), to_key(secret), to_key(hidden_seed()),
                                         7, to_reference(model)));
    HiddenModel other = model;
    other.entries[59] = static_cast<std::int16_t>(other.entries[59] ^ 1);
    EXPECT_NE(key_of(secret, hidden_seed(), 7, other), key);
    EXPECT_NE(key_of(secret, hidden_seed(), 8, model), key);
    EXPECT_NE(key_of(secret, hidden_seed(61), 7, model), key);
    EXPECT_NE(key_of(counting_key(4), hidden_seed(), 7, model), key);
    other = model;
    other.n = 30, other.row_scale.resize(2);
    EXPECT_NE(key_of(secret, hidden_seed(), 7, other), key) << "the same entries, 2 x 30";
}

/// An entry of tau^-1 H over 16 as a hint stores it: coefficient a of element l (MODEL-7).
std::int64_t stored_entry(std::span<const std::uint8_t> row, std::size_t l, std::size_t a) {
    const std::uint8_t* const pair = row.data() + (l * 128 + a % 128) * 11;
    std::int64_t value = 0;
    for (std::size_t bit = 0; bit < 44; ++bit) {
        const std::size_t at = bit + (a < 128 ? 0 : 44);
        value |= std::int64_t{pair[at / 8] >> (at % 8) & 1} << bit;
    }
    return value - (std::int64_t{1} << 43);
}

/// 259 rows take two of V; of A all entries, of the hint some.
TEST(HiddenMatrix, HIDE_1_HIDE_4_what_both_sides_get_is_the_references) {
    Random random(3);
    constexpr std::size_t m = 259, n = 3;
    const HiddenModel model = any_hidden(m, n, random);
    const auto secret = counting_key(5), check_seed = counting_key(6);
    const reference::ParameterSet set = reference::hidden();
    const reference::HiddenMatrix expected =
        reference::hide(set, to_key(secret), to_key(hidden_seed()), 2, to_reference(model));
    const splitting::PublicOfWidth common(hidden_set, hidden_seed(), n);
    const auto key = splitting::hiding_key(hidden_set, secret, hidden_seed(), 2, model);
    const HiddenGroup group(common, model, key.span(), check_seed);

    const reference::Matrix W_t = expected.davids_weights();
    for (std::size_t p = 0; p < 6; ++p) {
        const int prime = primes[p];
        const auto centred = [&](const reference::Integer& v) {
            const auto r = static_cast<int>(v % prime);
            return r > prime / 2 ? r - prime : r;
        };
        for (std::size_t j = 0; j < n; ++j) {
            for (std::size_t i = 0; i < m; ++i) {
                ASSERT_EQ(group.davids[(p * m + i) * n + j], centred(W_t(i, j))) << p << " " << i;
            }
            for (std::size_t l = 0; l < 2304; ++l) {
                ASSERT_EQ(common.plane(p).row(l)[j], centred(W_t(m + l, j))) << p << " " << l;
            }
        }
    }

    const reference::Ring& ring = set.ring();
    const reference::NegacyclicRing R(ring, 256);
    const reference::Matrix some = [&] {
        reference::Matrix rows(3, n);
        const reference::Matrix all = expected.noisy();
        for (std::size_t i = 0; i < 3; ++i) {
            for (std::size_t j = 0; j < n; ++j) rows(i, j) = all(i * 129, j);
        }
        return rows;
    }();
    const auto T = reference::public_matrix(expected.set, to_key(hidden_seed()), n);
    const auto H = reference::multiply(R, some, T);
    const reference::Integer tau = expected.set.lattice->tau;
    const std::size_t row_bytes = splitting::hint_row_bytes(hidden_set);
    ASSERT_EQ(group.hint.size(), m * row_bytes);
    for (std::size_t i = 0; i < 3; ++i) {
        const auto row = std::span(group.hint).subspan(i * 129 * row_bytes, row_bytes);
        for (std::size_t l = 0; l < 9; ++l) {
            for (std::size_t a = 0; a < 256; ++a) {
                // tau (16 stored + error) = H, for one error of -8 .. 7.
                const reference::Integer kept = 16 * tau * stored_entry(row, l, a);
                const reference::Integer lost = ring.embed(H[i][l][a] - kept);
                bool found = false;
                for (int small = -8; small <= 8 && !found; ++small) {
                    found = ring.embed(tau * small) == lost;
                }
                ASSERT_TRUE(found) << i << " " << l << " " << a;
            }
        }
    }
}

TEST(HiddenMatrix, HIDE_1_a_row_that_is_too_long_is_refused) {
    const splitting::PublicOfWidth common(hidden_set, hidden_seed(), 2);
    const auto key = counting_key(5), check_seed = counting_key(6);
    const auto hide = [&](std::int16_t first, std::int16_t second) {
        const HiddenModel model{2, {0, 1, first, second}, {1, 1}};
        splitting::hide(common, model, key, check_seed, 1, [](const splitting::HiddenRows&) {});
    };
    hide(2417, 0);
    EXPECT_THROW(hide(2418, 0), InternalError);
    EXPECT_THROW(hide(2417, 1), InternalError);
}

/// The files do not depend on the number of threads.
TEST(HiddenMatrix, HIDE_1_threads_change_no_byte) {
    Random random(4);
    const HiddenModel model = any_hidden(300, 130, random);
    const auto secret = counting_key(5), check_seed = counting_key(6);
    const splitting::PublicOfWidth common(hidden_set, hidden_seed(), 130);
    const auto key = splitting::hiding_key(hidden_set, secret, hidden_seed(), 0, model);
    std::vector<std::vector<std::int8_t>> davids(2);
    std::vector<std::vector<std::uint8_t>> hints(2);
    for (const std::size_t threads : {1U, 3U}) {
        const auto companions = splitting::hide(
            common, model, key.span(), check_seed, threads, [&](const splitting::HiddenRows& rows) {
                davids[threads / 3] = rows.davids;
                hints[threads / 3].assign(rows.hint.span().begin(), rows.hint.span().end());
            });
        EXPECT_EQ(companions.check.size(), 8 * 6 * 130U);
    }
    EXPECT_EQ(davids[0], davids[1]);
    EXPECT_EQ(hints[0], hints[1]);
}

}  // namespace
}  // namespace slip::testing

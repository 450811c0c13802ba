// The public matrix T, and SHAKE-128 of several inputs, against the reference on every backend.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>

#include "optimized/masks/public_matrix.hpp"
#include "property_tests/masks/ring_fixture.hpp"
#include "reference/lattice.hpp"
#include "reference/shake.hpp"

namespace slip::testing {
namespace {

using masks::PublicMatrix;

constexpr std::size_t row_bytes = 8 * degree * 5;
const base::parameters::ParameterSet& set = *base::parameters::set_named("paper-lattice");

/// All rows of T by the reference, as they are stored.
Bytes reference_rows(const PublicMatrix::Seed& seed, std::size_t width) {
    Integers integers;
    for (const auto& row : reference::public_matrix(reference::paper_lattice(), seed, width)) {
        for (const auto& element : row) {
            for (const auto& v : element) integers.push_back(static_cast<std::int64_t>(v));
        }
    }
    return stored(integers, 5);
}

TEST(PublicMatrix, MASK_7_RAND_8_is_the_references) {
    const PublicMatrix::Seed seed{1, 2, 3};
    for (const std::size_t width : {std::size_t{1}, std::size_t{5}}) {
        const Bytes expected = reference_rows(seed, width);
        for_each_backend([&](const Backend& backend) {
            PublicMatrix T(set, seed, width, PublicMatrix::Kind::masks, backend);
            ASSERT_EQ(T.row_bytes(), row_bytes);
            Bytes rows(width * row_bytes);
            T.expand(0, rows);
            EXPECT_EQ(rows, expected);
        });
    }
}

/// SHAKE-128 of inputs of one length, each by itself.
std::vector<Bytes> shake128(const Backend& backend, const std::vector<Bytes>& inputs,
                            std::size_t permutations) {
    const std::size_t bytes = permutations * masks::shake128_rate;
    Bytes joined, out(inputs.size() * bytes + 1, 0xee);
    for (const Bytes& input : inputs) joined.insert(joined.end(), input.begin(), input.end());
    backend.shake128(joined.data(), inputs.front().size(), permutations, out.data());
    EXPECT_EQ(out.back(), 0xee) << "written behind the last output";
    std::vector<Bytes> outputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const auto begin = out.begin() + static_cast<std::ptrdiff_t>(i * bytes);
        outputs.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(bytes));
    }
    return outputs;
}

TEST(PublicMatrix, RAND_8_published_examples_of_SHAKE_128) {
    const std::pair<std::string, Bytes> examples[] = {
        {"", {0x7f, 0x9c, 0x2b, 0xa4, 0xe8, 0x8f, 0x82, 0x7d, 0x61, 0x60, 0x45,
              0x50, 0x76, 0x05, 0x85, 0x3e, 0xd7, 0x3b, 0x80, 0x93, 0xf6, 0xef,
              0xbc, 0x88, 0xeb, 0x1a, 0x6e, 0xac, 0xfa, 0x66, 0xef, 0x26}},
        {"abc", {0x58, 0x81, 0x09, 0x2d, 0xd8, 0x18, 0xbf, 0x5c, 0xf8, 0xa3, 0xdd,
                 0xb7, 0x93, 0xfb, 0xcb, 0xa7, 0x40, 0x97, 0xd5, 0xc5, 0x26, 0xa6,
                 0xd3, 0x5f, 0x97, 0xb8, 0x33, 0x51, 0x94, 0x0f, 0x2c, 0xc8}}};
    for (const auto& [message, expected] : examples) {
        for_each_backend([&](const Backend& backend) {
            const std::vector<Bytes> same(backend.shake_inputs,
                                          Bytes(message.begin(), message.end()));
            for (const Bytes& output : shake128(backend, same, 1)) {
                EXPECT_TRUE(std::equal(expected.begin(), expected.end(), output.begin()));
            }
        });
    }
}

/// No input has another's output.
RC_GTEST_PROP(PublicMatrix, RAND_8_each_input_has_the_references_stream, ()) {
    const auto length = *rc::gen::inRange<std::size_t>(0, masks::shake128_rate).as("length");
    const auto permutations = *rc::gen::inRange<std::size_t>(0, 4).as("permutations");
    std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>().as("seed"));
    for (const Backend* backend : masks::available()) {
        std::vector<Bytes> inputs, expected;
        for (std::size_t i = 0; i < backend->shake_inputs; ++i) {
            inputs.push_back(fill<std::uint8_t>(Fill::random, length, 0, 255, {0, 255}, random));
            expected.push_back(
                reference::ShakeSource(inputs.back()).take(permutations * masks::shake128_rate));
        }
        RC_ASSERT(shake128(*backend, inputs, permutations) == expected);
    }
}

TEST(PublicMatrix, MASK_7_ranges_of_rows_in_any_order) {
    const PublicMatrix::Seed seed{4};
    constexpr std::size_t width = 300;
    PublicMatrix T(set, seed, width);
    Bytes whole(width * row_bytes), row(row_bytes), two(2 * row_bytes);
    T.expand(0, whole);
    const auto rows_of_whole = [&](std::size_t first, std::size_t count) {
        const auto begin = whole.begin() + static_cast<std::ptrdiff_t>(first * row_bytes);
        return Bytes(begin, begin + static_cast<std::ptrdiff_t>(count * row_bytes));
    };
    for (const std::size_t j : {299U, 0U, 256U}) {
        T.expand(j, row);
        EXPECT_EQ(row, rows_of_whole(j, 1)) << j;
    }
    PublicMatrix moved = std::move(T);
    moved.expand(255, two);
    EXPECT_EQ(two, rows_of_whole(255, 2));
    moved.expand(width, {});
}

TEST(PublicMatrix, MASK_7_what_is_not_there_is_refused) {
    EXPECT_THROW(PublicMatrix(*base::parameters::set_named("paper"), {}, 1), InternalError);
    EXPECT_THROW(PublicMatrix(set, {}, std::size_t{1} << 32), InternalError);
    PublicMatrix T(set, {}, 2);
    Bytes rows(2 * row_bytes + 1);
    EXPECT_THROW(T.expand(0, rows), InternalError);
    EXPECT_THROW(T.expand(1, std::span(rows).first(2 * row_bytes)), InternalError);
    EXPECT_THROW(T.expand(3, {}), InternalError);
}

}  // namespace
}  // namespace slip::testing

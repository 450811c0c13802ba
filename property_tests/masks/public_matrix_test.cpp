// The public matrix T against the reference.
#include <gtest/gtest.h>

#include "optimized/masks/public_matrix.hpp"
#include "property_tests/masks/ring_fixture.hpp"
#include "reference/lattice.hpp"

namespace slip::mask_tests {
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
        PublicMatrix T(set, seed, width);
        ASSERT_EQ(T.row_bytes(), row_bytes);
        Bytes rows(width * row_bytes);
        T.expand(0, rows);
        EXPECT_EQ(rows, reference_rows(seed, width));
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
}  // namespace slip::mask_tests

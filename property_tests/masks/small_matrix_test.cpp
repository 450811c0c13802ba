// Products of a small secret matrix with single columns, on every backend.
#include <gtest/gtest.h>

#include "optimized/masks/small_matrix.hpp"
#include "property_tests/masks/ring_fixture.hpp"

namespace slip::testing {
namespace {

using masks::SmallMatrix;

constexpr std::int64_t largest = (std::int64_t{1} << 47) - 1;

Small any_small(Fill kind, std::size_t rows, std::size_t elements, std::mt19937_64& random) {
    return fill<std::int8_t>(kind, rows * elements * degree, -1, 1, random);
}

/// HIDE-4 by the definition of a product in R: of every plane the first m entries.
Bytes expected_product(const Small& small, std::size_t elements, const Integers& y, std::size_t m,
                       std::size_t planes) {
    Integers products;
    for (std::size_t first = 0; first < small.size(); first += elements * degree) {
        const auto begin = small.begin() + static_cast<std::ptrdiff_t>(first);
        const Small row(begin, begin + static_cast<std::ptrdiff_t>(elements * degree));
        const Integers block = product(y.data(), row);
        products.insert(products.end(), block.begin(), block.end());
    }
    Bytes bytes;
    for (std::size_t p = 0; p < planes; ++p) {
        for (std::size_t i = 0; i < m; ++i) bytes.push_back(residue_of(products[i], p));
    }
    return bytes;
}

/// Numbers of rows that fill the lanes of a vector, do not, and take several; of the last row all
/// entries, or some.
TEST(SmallMatrix, HIDE_4_products_of_every_size_and_filling) {
    std::mt19937_64 random(1);
    for (const std::size_t rows : {1U, 2U, 3U, 8U, 9U}) {
        for (const std::size_t elements : {1U, 9U}) {
            for (const std::size_t m : {rows * degree, (rows - 1) * degree + 1}) {
                for (const Fill kind : all_fills) {
                    const Small small = any_small(kind, rows, elements, random);
                    const auto y =
                        fill<std::int64_t>(kind, elements * degree, -largest, largest,
                                           {0, 1, -1, (1 << 24) - 1, 1 << 24, -(1 << 24)}, random);
                    const Bytes expected = expected_product(small, elements, y, m, 6);
                    for_each_backend([&](const Backend& backend) {
                        const SmallMatrix matrix(small, elements, backend);
                        auto workspace = matrix.workspace();
                        Bytes out(6 * m + 1, sentinel);
                        matrix.multiply(y, 6, workspace, std::span(out).first(6 * m));
                        EXPECT_EQ(out.back(), sentinel);
                        out.pop_back();
                        EXPECT_EQ(out, expected) << rows << " " << elements << " " << m;
                    });
                }
            }
        }
    }
}

/// All terms of a coefficient have one sign.
TEST(SmallMatrix, HIDE_4_products_of_the_largest_magnitude) {
    for (const std::int64_t y : {largest, -largest}) {
        const Small small(9 * degree, 1);
        const Integers column(9 * degree, y);
        const Bytes expected = expected_product(small, 9, column, degree, 6);
        for_each_backend([&](const Backend& backend) {
            const SmallMatrix matrix(small, 9, backend);
            auto workspace = matrix.workspace();
            Bytes out(6 * degree);
            matrix.multiply(column, 6, workspace, out);
            EXPECT_EQ(out, expected);
        });
    }
}

TEST(SmallMatrix, HIDE_4_sizes_that_do_not_fit_are_refused) {
    const Small small(2 * 9 * degree, 1);
    EXPECT_THROW(SmallMatrix(std::span(small).first(9 * degree - 1), 9), InternalError);
    EXPECT_THROW(SmallMatrix(std::span(small).first(0), 9), InternalError);
    EXPECT_THROW(SmallMatrix(small, 0), InternalError);
    EXPECT_THROW(SmallMatrix(Small(17 * degree, 0), 17), InternalError);
    for (const int large : {2, -2, 127, -128}) {
        Small with_large = small;
        with_large[1000] = static_cast<std::int8_t>(large);
        EXPECT_THROW(SmallMatrix(with_large, 9), InternalError) << large;
    }
    const SmallMatrix matrix(small, 9), other(Small(degree, 1), 1);
    auto workspace = matrix.workspace(), of_other = other.workspace();
    const Integers y(9 * degree, 1);
    Bytes out(6 * 2 * degree);
    matrix.multiply(y, 6, workspace, out);
    EXPECT_THROW(matrix.multiply(y, 6, of_other, out), InternalError);
    EXPECT_THROW(matrix.multiply(y, 7, workspace, out), InternalError);
    EXPECT_THROW(matrix.multiply(y, 5, workspace, out), InternalError) << "no whole planes";
    EXPECT_THROW(matrix.multiply(y, 3, workspace, out), InternalError) << "more than two rows";
    EXPECT_THROW(matrix.multiply(Integers(degree, 1), 6, workspace, out), InternalError);
}

}  // namespace
}  // namespace slip::testing

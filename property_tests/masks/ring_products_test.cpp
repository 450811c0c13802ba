// Ring products against their definition and the reference, on every backend.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "optimized/masks/noise.hpp"
#include "optimized/masks/public_matrix.hpp"
#include "property_tests/generators/sanitizers.hpp"
#include "property_tests/kernels/left_on_the_stack.hpp"
#include "property_tests/masks/ring_fixture.hpp"
#include "reference/error.hpp"
#include "reference/lattice.hpp"

namespace slip::testing {
namespace {

using masks::Block;
using masks::BlockSecret;
using masks::RingProducts;
using masks::StoredRows;

enum class Kind { exact, approximate, rounded };
constexpr masks::Tau residues_of_tau = masks::residues_of(tau);

void multiply(RingProducts& products, Kind kind, const StoredRows& rows,
              std::span<const Block> blocks) {
    if (kind == Kind::exact) products.exact(rows, blocks);
    if (kind == Kind::approximate) products.approximate(rows, residues_of_tau, blocks);
    if (kind == Kind::rounded) products.rounded(rows, residues_of_tau, blocks);
}

/// Multiplies all rows with all secrets in one pass.
void multiply_all(const Backend& backend, Kind kind, const Shape& shape, const Integers& rows,
                  const std::vector<Small>& secrets, const Columns& columns) {
    const Bytes bytes = kind == Kind::rounded ? stored_rounded(rows) : stored(rows, shape.planes);
    std::vector<BlockSecret> transformed;
    for (const Small& secret : secrets) {
        transformed.emplace_back(secret, kind == Kind::rounded ? 1 : 2, backend);
    }
    std::vector<Block> blocks;
    for (std::size_t b = 0; b < secrets.size(); ++b) {
        blocks.push_back({&transformed[b], columns.of(b)});
    }
    RingProducts products(shape.planes, shape.elements, secrets.size(), backend);
    multiply(products, kind, {bytes, 0, rows.size() / shape.row()}, blocks);
}

/// The greatest error of the products, in multiples of 1, tau or 16 tau, or most + 1.
std::int64_t greatest_error(Kind kind, const Shape& shape, const Integers& rows,
                            const std::vector<Small>& secrets, const Columns& columns,
                            std::int64_t most) {
    std::int64_t greatest = 0;
    for (std::size_t j = 0; j < rows.size() / shape.row(); ++j) {
        for (std::size_t b = 0; b < secrets.size(); ++b) {
            const Integers expected = product(&rows[j * shape.row()], secrets[b]);
            for (std::size_t i = 0; i < degree; ++i) {
                greatest =
                    std::max(greatest, distance(columns.column(b, i), shape.planes, j, expected[i],
                                                kind == Kind::exact     ? 1
                                                : kind == Kind::rounded ? masks::rounding * tau
                                                                        : tau,
                                                most));
            }
        }
    }
    return greatest;
}

std::vector<Small> any_secrets(std::size_t count, const Shape& shape, std::mt19937_64& random) {
    std::vector<Small> secrets;
    for (std::size_t b = 0; b < count; ++b) {
        secrets.push_back(any_secret(b == 0 ? Fill::random : Fill::extremes, shape, random));
    }
    return secrets;
}

const std::vector<Shape> shapes = {paper_lattice, {6, 9}, {5, 1}, {5, 16}, {6, 16}, {6, 3}};

// ------------------------------------------------------------------------- against the definition

TEST(RingProducts, MASK_7_exact_products_of_every_shape_and_filling) {
    std::mt19937_64 random(1);
    for (const Shape& shape : shapes) {
        for (const Fill kind : all_fills) {
            const Integers rows = any_rows(kind, shape, 3, random);
            const std::vector<Small> secrets = any_secrets(2, shape, random);
            for_each_backend([&](const Backend& backend) {
                const Columns columns(2, shape.planes, 3);
                multiply_all(backend, Kind::exact, shape, rows, secrets, columns);
                EXPECT_EQ(greatest_error(Kind::exact, shape, rows, secrets, columns, 0), 0)
                    << shape.planes << " planes, " << shape.elements << " elements, filling "
                    << static_cast<int>(kind);
            });
        }
    }
}

/// The greatest error on any backend, of rows and secrets that are drawn within a property.
std::int64_t greatest_error_of_drawn(Kind kind, const Shape& shape, std::int64_t most) {
    const auto L = static_cast<std::int64_t>(modulus(shape.planes));
    const auto count = *any_size(1, 2).as("rows");
    const Integers rows =
        *any_list<std::int64_t>(count * shape.row(), 0, L - 1, {0, 1, L - 1, L / 2, L / 2 + 1})
             .as("entries");
    const auto blocks = *any_size(1, 2).as("blocks");
    std::vector<Small> secrets;
    while (secrets.size() < blocks) {
        secrets.push_back(*any_list<std::int8_t>(shape.row(), -2, 2).as("a secret"));
    }
    std::int64_t greatest = 0;
    for (const Backend* backend : masks::available()) {
        const Columns columns(blocks, shape.planes, count);
        multiply_all(*backend, kind, shape, rows, secrets, columns);
        greatest = std::max(greatest, greatest_error(kind, shape, rows, secrets, columns, most));
    }
    return greatest;
}

RC_GTEST_PROP(RingProducts, MASK_7_exact_products_equal_the_definition, ()) {
    const Shape shape{*rc::gen::element<std::size_t>(5, 6).as("planes"),
                      *any_size(1, 9).as("elements")};
    RC_ASSERT(greatest_error_of_drawn(Kind::exact, shape, 0) == 0);
}

RC_GTEST_PROP(RingProducts, MASK_7_approximate_products_are_within_their_bound_whatever_they_are,
              ()) {
    RC_ASSERT(greatest_error_of_drawn(Kind::approximate, paper_lattice, masks::largest_error) <=
              masks::largest_error);
}

/// All terms of a coefficient have one sign: row and secret are as large as they get, and the
/// product is too.
TEST(RingProducts, MASK_7_exact_products_of_the_largest_magnitude) {
    for (const Shape& shape : shapes) {
        const auto L = static_cast<std::int64_t>(modulus(shape.planes));
        for (const std::int8_t s : {std::int8_t{2}, std::int8_t{-2}}) {
            const Integers rows(shape.row(), L - 1);
            const std::vector<Small> secrets = {Small(shape.row(), s)};
            for_each_backend([&](const Backend& backend) {
                const Columns columns(1, shape.planes, 1);
                multiply_all(backend, Kind::exact, shape, rows, secrets, columns);
                EXPECT_EQ(greatest_error(Kind::exact, shape, rows, secrets, columns, 0), 0);
            });
        }
    }
}

/// More rows than a tile has, of one to four blocks.
TEST(RingProducts, MASK_7_exact_products_of_many_rows) {
    constexpr std::size_t count = 131;
    std::mt19937_64 random(2);
    const Integers rows = any_rows(Fill::random, paper_lattice, count, random);
    const std::vector<Small> secrets = any_secrets(4, paper_lattice, random);
    const Columns expected(4, 5, count);
    multiply_all(*masks::available().front(), Kind::exact, paper_lattice, rows, secrets, expected);
    EXPECT_EQ(greatest_error(Kind::exact, paper_lattice, rows, secrets, expected, 0), 0);
    for_each_backend([&](const Backend& backend) {
        const Columns columns(4, 5, count);
        multiply_all(backend, Kind::exact, paper_lattice, rows, secrets, columns);
        EXPECT_EQ(columns.bytes(), expected.bytes());
    });
}

/// Whatever the rows, the error is at most largest_error, and no more than 1 has been seen. Other
/// shapes than that of the set are multiplied exactly.
TEST(RingProducts, MASK_7_approximate_products_are_within_their_bound) {
    std::mt19937_64 random(3);
    for (const Shape& shape : {paper_lattice, Shape{5, 1}, Shape{5, 9}, Shape{6, 8}}) {
        const bool is_exact = shape.planes == 6 || shape.elements > 8;
        for (const Fill kind : all_fills) {
            const Integers rows = any_rows(kind, shape, 5, random);
            const std::vector<Small> secrets = any_secrets(3, shape, random);
            for_each_backend([&](const Backend& backend) {
                const Columns columns(3, shape.planes, 5);
                multiply_all(backend, Kind::approximate, shape, rows, secrets, columns);
                EXPECT_LE(greatest_error(Kind::approximate, shape, rows, secrets, columns,
                                         masks::largest_error),
                          is_exact ? 0 : 1);
            });
        }
    }
}

/// Coefficients of one sign, as large as they get when centred: the next one is as small.
TEST(RingProducts, MASK_7_approximate_products_of_the_largest_magnitude) {
    const auto half = static_cast<std::int64_t>(modulus(5) / 2);
    for (const std::int64_t largest : {half, half + 1}) {
        const Integers rows(paper_lattice.row(), largest);
        const std::vector<Small> secrets = {Small(paper_lattice.row(), 2),
                                            Small(paper_lattice.row(), -2)};
        for_each_backend([&](const Backend& backend) {
            const Columns columns(2, 5, 1);
            multiply_all(backend, Kind::approximate, paper_lattice, rows, secrets, columns);
            EXPECT_LE(greatest_error(Kind::approximate, paper_lattice, rows, secrets, columns,
                                     masks::largest_error),
                      masks::largest_error);
        });
    }
}

/// Stored as numbers just below L: centred, they are far too small for an error.
TEST(RingProducts, MASK_7_approximate_products_of_small_negative_numbers_are_exact) {
    const auto L = static_cast<std::int64_t>(modulus(5));
    std::mt19937_64 random(6);
    const auto rows =
        fill<std::int64_t>(Fill::random, 4 * paper_lattice.row(), L - 1000, L - 1, random);
    const std::vector<Small> secrets = {
        fill<std::int8_t>(Fill::random, paper_lattice.row(), 1, 2, random)};
    Integers centred_rows = rows;
    for (std::int64_t& v : centred_rows) v -= L;
    for_each_backend([&](const Backend& backend) {
        const Columns columns(1, 5, 4);
        multiply_all(backend, Kind::approximate, paper_lattice, rows, secrets, columns);
        EXPECT_EQ(
            greatest_error(Kind::approximate, paper_lattice, centred_rows, secrets, columns, 0), 0);
    });
}

/// Rows of 44 bits, with secrets of magnitude 1. No error of more than 1 has been seen.
TEST(RingProducts, HIDE_4_rounded_products_are_within_their_bound) {
    std::mt19937_64 random(7);
    for (const Shape& shape : {Shape{6, 9}, Shape{6, 1}, Shape{6, 4}}) {
        for (const Fill kind : all_fills) {
            const Integers rows = rounded_rows(kind, shape, 5, random);
            const std::vector<Small> secrets = {
                fill<std::int8_t>(Fill::random, shape.row(), -1, 1, random),
                fill<std::int8_t>(Fill::random, shape.row(), -1, 1, random)};
            for_each_backend([&](const Backend& backend) {
                const Columns columns(2, shape.planes, 5);
                multiply_all(backend, Kind::rounded, shape, rows, secrets, columns);
                EXPECT_LE(greatest_error(Kind::rounded, shape, rows, secrets, columns,
                                         masks::largest_rounded_error),
                          1);
            });
        }
    }
}

/// A sum as large as may be rounded: 2^51, of terms of one sign.
TEST(RingProducts, HIDE_4_rounded_products_of_the_largest_magnitude) {
    const Shape shape{6, 9};
    Integers rows(shape.row(), 0);
    for (std::size_t i = 0; i < 409; ++i) rows[5 * i] = masks::most_rounded;
    const std::vector<Small> secrets = {Small(shape.row(), 1), Small(shape.row(), -1)};
    for_each_backend([&](const Backend& backend) {
        const Columns columns(2, shape.planes, 1);
        multiply_all(backend, Kind::rounded, shape, rows, secrets, columns);
        EXPECT_LE(greatest_error(Kind::rounded, shape, rows, secrets, columns,
                                 masks::largest_rounded_error),
                  masks::largest_rounded_error);
    });
}

TEST(RingProducts, HIDE_4_rounded_rows_are_for_nine_elements_and_small_secrets) {
    const Bytes rows(masks::row_bytes(6, 9, true));
    const Columns columns(1, 6, 1);
    const BlockSecret small(Small(9 * degree, 1), 1), larger(Small(9 * degree, 1), 2);
    RingProducts products(6, 9, 1);
    Block block{&small, columns.of(0)};
    products.rounded({rows, 0, 1}, residues_of_tau, std::span(&block, 1));
    EXPECT_THROW(products.rounded({std::span(rows).first(rows.size() - 1), 0, 1}, residues_of_tau,
                                  std::span(&block, 1)),
                 InternalError);
    block.secret = &larger;
    EXPECT_THROW(products.rounded({rows, 0, 1}, residues_of_tau, std::span(&block, 1)),
                 InternalError);
    const BlockSecret longer(Small(10 * degree, 1), 1);
    RingProducts of_ten(6, 10, 1);
    block.secret = &longer;
    EXPECT_THROW(of_ten.rounded({Bytes(masks::row_bytes(6, 10, true)), 0, 1}, residues_of_tau,
                                std::span(&block, 1)),
                 InternalError);
    EXPECT_THROW(BlockSecret(Small(degree, 2), 1), InternalError);
    EXPECT_THROW(BlockSecret(Small(degree, 0), 3), InternalError);
    EXPECT_THROW(BlockSecret(Small(degree, 0), 0), InternalError);
}

// ----------------------------------------------------------------------------- pieces of the work

/// Ranges of rows that begin and end anywhere, by an object that has multiplied before.
TEST(RingProducts, MASK_7_ranges_of_rows_fill_their_part_of_the_columns_alone) {
    constexpr std::size_t total = 70, row = 8 * degree;
    std::mt19937_64 random(4);
    const Integers rows = any_rows(Fill::random, paper_lattice, total, random);
    const Bytes bytes = stored(rows, 5);
    const std::vector<Small> secrets = any_secrets(2, paper_lattice, random);
    for_each_backend([&](const Backend& backend) {
        const BlockSecret first(secrets[0], 2, backend), second(secrets[1], 2, backend);
        RingProducts products(5, 8, 2, backend);
        for (const Kind kind : {Kind::exact, Kind::approximate}) {
            const Columns whole(2, 5, total), pieces(2, 5, total);
            multiply_all(backend, kind, paper_lattice, rows, secrets, whole);
            const std::size_t ends[] = {0, 1, 4, 4, 9, 67, total};
            for (std::size_t e = 1; e < std::size(ends); ++e) {
                const StoredRows range{std::span(bytes).subspan(ends[e - 1] * row * 5,
                                                                (ends[e] - ends[e - 1]) * row * 5),
                                       ends[e - 1], total};
                const std::vector<Block> blocks = {{&first, pieces.of(0)}, {&second, pieces.of(1)}};
                multiply(products, kind, range, blocks);
                for (std::size_t j = 0; j < total; ++j) {
                    const bool is_written = pieces.column(1, 255)[4 * total + j] != sentinel;
                    ASSERT_EQ(is_written, j < ends[e]) << j << " after " << ends[e];
                }
            }
            EXPECT_EQ(pieces.bytes(), whole.bytes());
        }
    });
}

/// Blocks of a pass do not depend on each other, and a secret serves every backend.
TEST(RingProducts, MASK_7_a_block_gets_the_same_alone_and_from_the_secret_of_any_backend) {
    constexpr std::size_t count = 6;
    std::mt19937_64 random(5);
    const Integers rows = any_rows(Fill::random, paper_lattice, count, random);
    const Bytes bytes = stored(rows, 5);
    const std::vector<Small> secrets = any_secrets(4, paper_lattice, random);
    for_each_backend([&](const Backend& backend) {
        const Columns together(4, 5, count);
        multiply_all(backend, Kind::exact, paper_lattice, rows, secrets, together);
        for_each_backend([&](const Backend& other) {
            RingProducts products(5, 8, 1, backend);
            for (std::size_t b = 0; b < 4; ++b) {
                const BlockSecret secret(secrets[b], 2, other);
                const Columns alone(1, 5, count);
                const Block block{&secret, alone.of(0)};
                products.exact({bytes, 0, count}, std::span(&block, 1));
                EXPECT_EQ(alone.bytes()[0], together.bytes()[b]);
            }
        });
    });
}

TEST(RingProducts, MASK_7_no_rows_and_no_blocks) {
    RingProducts products(5, 8, 1);
    const BlockSecret secret(Small(paper_lattice.row(), 1));
    const Columns columns(1, 5, 2);
    const Block block{&secret, columns.of(0)};
    products.exact({{}, 2, 2}, std::span(&block, 1));
    EXPECT_EQ(columns.column(0, 0), Bytes(10, sentinel));
    products.exact({Bytes(2 * paper_lattice.row() * 5), 0, 2}, {});
}

TEST(RingProducts, MASK_7_sizes_that_do_not_fit_are_refused) {
    const Small small(paper_lattice.row(), 1);
    EXPECT_THROW(BlockSecret(std::span(small).first(255)), InternalError);
    EXPECT_THROW(BlockSecret(std::span(small).first(0)), InternalError);
    EXPECT_THROW(BlockSecret(Small(17 * degree, 0)), InternalError);
    for (const int large : {3, -3, 127, -128}) {
        Small with_large = small;
        with_large[1000] = static_cast<std::int8_t>(large);
        EXPECT_THROW(BlockSecret{with_large}, InternalError) << large;
    }
    EXPECT_THROW(RingProducts(4, 8, 1), InternalError);
    EXPECT_THROW(RingProducts(7, 8, 1), InternalError);
    EXPECT_THROW(RingProducts(5, 0, 1), InternalError);
    EXPECT_THROW(RingProducts(5, 17, 1), InternalError);
    EXPECT_THROW(RingProducts(5, 8, 0), InternalError);
    EXPECT_THROW(RingProducts(5, 8, 5), InternalError);

    RingProducts products(5, 8, 1);
    const BlockSecret secret(small), shorter(Small(7 * degree, 1));
    const Columns columns(1, 5, 3), short_columns(1, 5, 2);
    const Bytes rows(2 * paper_lattice.row() * 5);
    const auto refused = [&](const StoredRows& given, const std::vector<Block>& blocks) {
        EXPECT_THROW(products.exact(given, blocks), InternalError);
        EXPECT_THROW(products.approximate(given, residues_of_tau, blocks), InternalError);
    };
    const Block block{&secret, columns.of(0)};
    products.exact({rows, 1, 3}, std::span(&block, 1));
    refused({rows, 2, 3}, {block});
    refused({rows, 4, 3}, {block});
    refused({std::span(rows).first(rows.size() - 1), 0, 3}, {block});
    refused({rows, 0, 3}, {block, block});
    refused({rows, 0, 3}, {{&shorter, columns.of(0)}});
    refused({rows, 0, 3}, {{&secret, columns.of(0).first(255)}});
    refused({rows, 0, 3}, {{&secret, short_columns.of(0)}});
}

// --------------------------------------------------------------------------- against the reference

/// The small integers of a stream as the reference draws them.
Small small_of(const reference::Key& key, reference::Purpose purpose, std::uint64_t index,
               std::size_t count) {
    reference::Keystream stream(key, purpose, index);
    Small small;
    for (const reference::Integer& e : reference::small_integers(stream, 2, count)) {
        small.push_back(static_cast<std::int8_t>(static_cast<int>(e)));
    }
    return small;
}

/// Rows of R as they are stored, each times `factor` mod L.
Bytes stored_rows(const reference::Ring& ring, const reference::RingMatrix& X,
                  const reference::Integer& factor) {
    Integers integers;
    for (const auto& row : X) {
        for (const auto& element : row) {
            for (const reference::Integer& v : element) {
                integers.push_back(static_cast<std::int64_t>(ring.multiply(v, factor)));
            }
        }
    }
    return stored(integers, 5);
}

/// A column as residues modulo L.
reference::Vector joined(const reference::Planes& planes, const Bytes& column) {
    const std::size_t n = column.size() / planes.count();
    reference::Vector joined;
    for (std::size_t j = 0; j < n; ++j) {
        reference::Vector residues;
        for (std::size_t p = 0; p < planes.count(); ++p) residues.emplace_back(column[p * n + j]);
        joined.push_back(planes.join(residues));
    }
    return joined;
}

/// A block of the set as a process makes it, W_D of 2 x 3, against lattice_block of the reference.
TEST(RingProducts, MASK_7_MASK_8_a_block_is_the_references) {
    const reference::ParameterSet set = reference::paper_lattice();
    const reference::Ring& ring = set.ring();
    const reference::NegacyclicRing R(ring, degree);
    const reference::Key key{1, 2}, seed{3};
    const reference::Matrix W_D{{127, -127, 1}, {-5, 0, 64}};
    const reference::Vector q{2700, -2700, 2700};
    constexpr std::uint64_t block = 7;
    constexpr std::size_t n = 3, m = 2;
    const auto T = reference::public_matrix(set, seed, n);
    const auto H = reference::multiply(R, W_D, T);
    const auto HS = reference::multiply(R, H, reference::block_secret(set, key, block));
    auto expected = reference::lattice_block(set, T, H, key, block);

    Bytes T_rows(n * 8 * degree * 5);
    masks::PublicMatrix(*base::parameters::set_named("paper-lattice"), seed, n).expand(0, T_rows);
    EXPECT_EQ(T_rows, stored_rows(ring, T, 1));
    reference::Integer inverse_of_tau = 1;  // 2^-24, by halves
    for (int i = 0; i < 24; ++i) {
        inverse_of_tau =
            (inverse_of_tau % 2 == 0 ? inverse_of_tau : inverse_of_tau + ring.modulus()) / 2;
    }
    const Bytes H_rows = stored_rows(ring, H, inverse_of_tau);
    const Small small = small_of(key, reference::Purpose::block_secret, block, 8 * degree);

    for_each_backend([&](const Backend& backend) {
        const BlockSecret secret(small, 2, backend);
        const Columns r(1, 5, n), c(1, 5, m);
        const Block masks{&secret, r.of(0)}, cancellations{&secret, c.of(0)};
        RingProducts products(5, 8, 1, backend);
        products.exact({T_rows, 0, n}, std::span(&masks, 1));
        products.approximate({H_rows, 0, m}, residues_of_tau, std::span(&cancellations, 1));
        auto masks_again = reference::lattice_block(set, T, H, key, block);
        for (std::size_t i = 0; i < degree; ++i) {
            reference::Keystream stream(key, reference::Purpose::noise, degree * block + i);
            const reference::Bytes noise = stream.take(masks::noise_bytes(n, 2));
            masks::add_noise(noise, residues_of_tau, 5, r.of(0)[i], backend);
            const reference::Vector r_i = joined(set.planes, r.column(0, i));
            const reference::Vector c_i = joined(set.planes, c.column(0, i));
            EXPECT_EQ(r_i, masks_again[i].mask(ring, reference::Vector(n, 0)));
            const reference::Vector error =
                ring.lift(ring.subtract(c_i, reference::coefficient(HS, i)));
            for (const reference::Integer& e : error) {
                EXPECT_EQ(e % tau, 0);
                EXPECT_LE(abs(e), masks::largest_error * tau);
            }
            const reference::Vector y = ring.multiply(W_D, ring.add(ring.embed(q), r_i));
            EXPECT_EQ(reference::unmask(ring, set.lattice->tau, y, c_i), W_D * q);
        }
    });
}

// ---------------------------------------------------------------------------------- what is
// assumed

/// The bound of optimized/masks/README.md takes each root to be within 0.71 * 2^-53, and a multiple
/// of 2^-59.
TEST(RingProducts, MASK_7_roots_of_unity_are_the_nearest_doubles) {
    const auto is_root = [](const masks::Root& root, long double turns) {
        const long double angle = 2 * std::numbers::pi_v<long double> * turns;
        for (const double part : {root.re, root.im}) {
            EXPECT_EQ(part * 0x1p59, std::trunc(part * 0x1p59)) << turns;
        }
        return std::hypot(root.re - std::cos(angle), root.im - std::sin(angle)) < 0.71L * 0x1p-53L;
    };
    // By the definition: c = i at the top; below c, the roots w, -w, iw, -iw of w^4 = c.
    std::vector<long double> turns_of_c = {0.25L};
    for (std::size_t node = 0; node < 21; ++node) {
        const long double w = turns_of_c[node] / 4;
        for (int power = 1; power <= 3; ++power) {
            const masks::Root& root = masks::roots().by_four[node][power - 1];
            EXPECT_TRUE(is_root(root, static_cast<long double>(power) * w)) << node;
        }
        for (const long double quarter : {0.L, 0.5L, 0.25L, 0.75L}) {
            turns_of_c.push_back(w + quarter);
        }
    }
    for (std::size_t last = 0; last < 16; ++last) {
        EXPECT_TRUE(is_root(masks::roots().by_two[last][0], turns_of_c[21 + 4 * last] / 2));
        EXPECT_TRUE(is_root(masks::roots().by_two[last][1], turns_of_c[21 + 4 * last + 2] / 2));
    }
}

/// Equal rows of one coefficient and a secret of twos give one product everywhere, which would show
/// as a double, and residues that would show as bytes.
TEST(RingProducts, MASK_6_a_product_leaves_nothing_on_the_stack) {
    if (sanitized()) GTEST_SKIP() << "a sanitizer's build has other stacks";
    constexpr std::size_t count = 19;
    constexpr std::int64_t coefficient = 1234567;
    Integers rows(count * paper_lattice.row(), 0);
    for (std::size_t j = 0; j < count; ++j) rows[j * paper_lattice.row()] = coefficient;
    const Bytes bytes = stored(rows, 5);
    const Small small(paper_lattice.row(), 2);
    for_each_backend([&](const Backend& backend) {
        const Columns columns(1, 5, count);
        RingProducts products(5, 8, 1, backend);
        const BlockSecret secret(small, 2, backend);
        const Block block{&secret, columns.of(0)};
        const auto stack = left_on_the_stack([&] {
            products.exact({bytes, 0, count}, std::span(&block, 1));
        });
        EXPECT_EQ(columns.column(0, 9)[0], residue_of(2 * coefficient, 0));
        EXPECT_FALSE(hold(stack, std::vector<double>(2, 2.0 * coefficient)));
        for (std::size_t p = 0; p < 5; ++p) {
            const Bytes residues(8, residue_of(2 * coefficient, p));
            EXPECT_FALSE(hold(stack, residues)) << p;
        }
    });
    EXPECT_TRUE(hold(left_on_the_stack([] { leave_on_the_stack(77777); }),
                     std::vector<std::int32_t>(4, 77777)))
        << "it would have been seen";
}

}  // namespace
}  // namespace slip::testing

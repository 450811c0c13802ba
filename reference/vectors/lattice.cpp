#include "reference/lattice.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "reference/decomposition.hpp"
#include "reference/product_check.hpp"
#include "reference/vectors/document.hpp"
#include "reference/vectors/lattice_masks.hpp"

namespace slip::reference::vectors {

namespace {

void add_keystreams(Document& document) {
    const Key key = document.numbers().key();
    document.begin_group("keystream", {"keystream"});
    const auto add = [&](const char* comment, Purpose purpose, std::uint64_t index) {
        document.add({.clause = "RAND-1",
                      .requirement = "the stream MUST be AES-256 of field[4] || index[8] || "
                                     "counter[4], each big-endian, field = 256 plane + purpose",
                      .comment = comment,
                      .flags = {"BLOCK"},
                      .input = {{"key", hex(key)},
                                {"plane", json(Integer(0))},
                                {"purpose", json(Integer(static_cast<int>(purpose)))},
                                {"index", json(Integer(index))},
                                {"count", json(Integer(32))}},
                      .output = {{"bytes", hex(Keystream(key, purpose, index).take(32))}}});
    };
    add("the secret of block 3", Purpose::block_secret, 3);
    add("the noise of mask 3", Purpose::noise, 3);
    add("a check of products", Purpose::product_check, 0);
}

Bytes every_byte() {
    Bytes bytes(256);
    std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
    return bytes;
}

void add_small_integers(Document& document, const ParameterSet& set) {
    const auto add = [&](const char* comment, unsigned eta, const Bytes& bytes, std::size_t count,
                         const char* flag) {
        if (eta == set.lattice->eta) {
            document.begin_group("small_integers", {"charlie"}, set);
        } else {
            document.begin_group("small_integers", {"randomness"});
        }
        FixedBytes source(bytes);
        document.add({.clause = "RAND-9",
                      .requirement =
                          "integer j MUST be the sum of the eta bits from 2 eta j on less "
                          "that of the next eta, the least significant bit of a byte first",
                      .comment = comment,
                      .flags = {flag},
                      .input = {{"eta", json(Integer(eta))},
                                {"bytes", hex(bytes)},
                                {"count", json(Integer(count))}},
                      .output = {{"integers", json(small_integers(source, eta, count))}}});
    };
    Numbers& numbers = document.numbers();
    add("every byte", 2, every_byte(), 512, "ORDER");
    add("half a byte is left over", 2, {0x4b}, 1, "TAIL");
    add("three integers of two bytes", 2, {0xd2, 0x35}, 3, "TAIL");
    add("ordinary bytes", 2, numbers.bytes(33), 65, "DERIVED");
    add("one bit less one bit: every byte", 1, every_byte(), 1024, "ORDER");
    add("one bit less one bit: six bits are left over", 1, {0xb4, 0xff}, 5, "TAIL");
    add("three bits less three: integers that span two bytes", 3, numbers.bytes(15), 20, "ORDER");
    add("eight bits less eight", 8, numbers.bytes(14), 7, "EDGE");
}

void add_public_matrices(Document& document, const ParameterSet& set) {
    document.begin_group("public_matrix", {"charlie"}, set);
    const Key seed = document.numbers().key();
    const std::size_t N = set.lattice->N, d = set.lattice->d;
    for (const auto& [width, row, element] :
         std::vector<std::tuple<std::uint32_t, std::uint32_t, std::size_t>>{
             {1, 0, 0}, {6, 5, 7}, {4096, 258, 1}}) {
        const Vector residues =
            public_residues(set.planes, set.code, PublicPurpose::masks, width, row, seed, d * N);
        const auto first = residues.begin() + static_cast<std::ptrdiff_t>(element * N);
        const Vector coefficients(first, first + static_cast<std::ptrdiff_t>(N));
        require(width > 6 || public_matrix(set, seed, width)[row][element] == coefficients,
                "the element is one of T");
        document.add({.clause = "MASK-7",
                      .requirement = "residue l N + a of row j MUST be coefficient a of T[j][l]",
                      .comment = "width " + std::to_string(width) + ", row " + std::to_string(row) +
                                 ", element " + std::to_string(element),
                      .flags = {"ORDER"},
                      .input = {{"public_seed", hex(seed)},
                                {"width", json(Integer(width))},
                                {"row", json(Integer(row))},
                                {"element", json(Integer(element))}},
                      .output = {{"coefficients", column(set, coefficients)}}});
    }
}

void add_blocks(Document& document, const ParameterSet& set) {
    Numbers& numbers = document.numbers();
    document.begin_group("lattice_block", {"charlie"}, set);
    const Key seed = numbers.key(), key = numbers.key();
    const Vector offsets{0, 1, 128, 255};
    const auto add = [&](const char* comment, const Matrix& W_D, std::uint64_t block,
                         const char* flag) {
        const std::vector<DrawnMask> drawn = drawn_block(set, seed, key, block, W_D);
        std::vector<Json> masks;
        for (const Integer& i : offsets) {
            const auto& [index, r, c] = drawn.at(i.convert_to<std::size_t>());
            masks.push_back(object(
                {{"index", json(Integer(index))}, {"r", column(set, r)}, {"c", column(set, c)}}));
        }
        document.add({.clause = "MASK-7",
                      .requirement =
                          "r MUST be coefficient i of T S plus tau e_i, exactly; c MUST be "
                          "coefficient i of H S, up to tau times an integer of at most Delta",
                      .comment = comment,
                      .flags = {flag},
                      .input = {{"public_seed", hex(seed)},
                                {"key", hex(key)},
                                {"block", json(Integer(block))},
                                {"W_D", json(W_D)},
                                {"offsets", json(offsets)}},
                      .output = {{"masks", list(masks)}}});
    };
    add("one weight", {{1}}, 0, "NEGACYCLIC");
    const Matrix W_D = numbers.matrix(2, 3, -127, 127);
    add("two rows", W_D, 0, "NEGACYCLIC");
    add("the next block of the same group", W_D, 1, "BLOCK_NUMBER");
    add("weights at their extremes", {{127, -127, 127}, {-127, -127, -127}}, 256, "OVERFLOW");
    add("17 columns: the noise ends inside a byte", numbers.matrix(1, 17, -127, 127), 2, "TAIL");
    add("a number beyond 32 bits", {{-1, 2}}, (std::uint64_t{1} << 32) + 1, "BLOCK_NUMBER");
    add("the last block whose mask indices have 64 bits", {{1, 0}, {0, -1}},
        (std::uint64_t{1} << 56) - 1, "EDGE");
}

void add_lattice_unmasking(Document& document, const ParameterSet& set) {
    const Ring& ring = set.ring();
    const auto& [N, d, eta, tau, B_w, B_q, Delta] = *set.lattice;
    const Integer L = ring.modulus(), half = (L - 1) / 2, product = B_w * B_q;
    const Integer noise = tau * (66 * B_w / 5 + Delta), edge = tau / 2;
    Numbers& numbers = document.numbers();
    document.begin_group("unmask_lattice", {"charlie"}, set);
    const auto add_reply = [&](const char* comment, const Vector& y, const Vector& c,
                               const char* flag) {
        document.add({.clause = "MASK-8",
                      .requirement = "y_D MUST be the residue of lift((y~ - c) mod L) mod tau in "
                                     "-floor(tau/2) .. floor((tau-1)/2)",
                      .comment = comment,
                      .flags = {flag},
                      .input = {{"y_masked", column(set, y)}, {"c", column(set, c)}},
                      .output = {{"y_D", json(unmask(ring, tau, y, c))}}});
    };
    const auto add = [&](const char* comment, const Vector& Y, const char* flag) {
        const Vector c = numbers.vector(Y.size(), 0, L - 1);
        add_reply(comment, ring.add(ring.embed(Y), c), c, flag);
    };
    add("zero, and a product without noise", {0, 1, -1, product, -product}, "SIGN");
    add("noise without a product", {tau, -tau, noise, -noise}, "NOISE");
    add("the greatest product under the greatest noise, of either sign",
        {noise + product, noise - product, product - noise, -noise - product}, "NOISE");
    add("the edges of the residue mod tau",
        {edge - 1, edge, edge + 1, -edge - 1, -edge, 1 - edge, tau + edge, 3 * tau - edge - 1},
        "EDGE");
    add("the edges of the lift", {half, half - 1, -half, 1 - half}, "EDGE");
    add("noise by one is no product by one", {tau + 1, tau - 1, 1 - tau, -tau - 1}, "SIGN");
    add_reply("differences with and without a borrow", {0, 5, L - 1, 0}, {0, 6, 0, L - 1}, "SIGN");
    for (std::size_t n : {1U, 3U, 17U, 64U}) {
        Vector Y;
        for (std::size_t i = 0; i < n; ++i) {
            Y.push_back(tau * numbers.between(-22915, 22915) + numbers.between(-product, product));
        }
        add("ordinary values", Y, "TAIL");
    }
    for (std::size_t p = 0; p < set.planes.count(); ++p) {
        Bytes bytes = bytes_of(set.planes, Vector(2, 1));
        bytes[2 * p] = set.planes.primes()[p].convert_to<std::uint8_t>();
        document.add({.clause = "MASK-8",
                      .requirement = "a byte that is not below its prime MUST be refused",
                      .comment = "a byte that is the prime",
                      .flags = {"CANONICAL"},
                      .input = {{"y_masked", hex(bytes)}, {"c", column(set, Vector(2, 1))}},
                      .failure = Failure{"read residues", "CONV-1"}});
    }
}

/// A seed, a group, and what the owner keeps for its check of products.
struct Checked {
    Key seed;
    Matrix W_D;
    ProductCheck check;
    Matrix q;
};

Checked any_checked(Numbers& numbers, std::size_t m, std::size_t n, std::size_t b) {
    const Key seed = numbers.key();
    const Matrix W_D = numbers.matrix(m, n, -127, 127);
    return {seed, W_D, draw_product_check(seed, W_D), numbers.matrix(n, b, -900, 900)};
}

void add_product_secrets(Document& document, const ParameterSet& set) {
    Numbers& numbers = document.numbers();
    document.begin_group("product_secret", {"owner"}, set);
    const auto add = [&](const char* comment, const Matrix& W_D, std::size_t rows) {
        const Key seed = numbers.key();
        document.add(
            {.clause = "MASK-10",
             .requirement =
                 "z MUST be residues mod 2^61 - 1 of stream (0, 6, 0) under the seed, and "
                 "the first M of them make z W_D",
             .comment = comment,
             .flags = {"SIGN", "ORDER"},
             .input = {{"seed", hex(seed)}, {"rows", json(Integer(rows))}, {"W_D", json(W_D)}},
             .output = {{"z", json(draw_product_check(seed, Matrix(rows, 1)).z)},
                        {"zW", json(draw_product_check(seed, W_D).zW)}}});
    };
    add("one weight", {{1}}, 1);
    add("a negative weight", {{-1}}, 1);
    add("ordinary weights", numbers.matrix(4, 3, -127, 127), 4);
    add("the group has fewer rows than the largest", numbers.matrix(3, 2, -127, 127), 7);
    add("extremes, so that the sum exceeds 64 bits", all_entries(9, 2, -127), 9);
}

void add_product_checks(Document& document, const ParameterSet& set) {
    Numbers& numbers = document.numbers();
    document.begin_group("product_check", {"charlie"}, set);
    const auto add = [&](const char* comment, const Checked& given, const Matrix& y_D,
                         const char* flag, std::size_t more_rows = 0) {
        bool right = true;
        for (std::size_t t = 0; t < y_D.cols(); ++t) {
            right = right && holds(given.check, given.q.column(t), y_D.column(t));
        }
        require(right == (y_D == given.W_D * given.q), "no error of these is orthogonal to z");
        Case entry{.clause = "MASK-10",
                   .requirement = right ? "a product that satisfies the equation MUST be accepted"
                                        : "a product that breaks the equation MUST NOT be used",
                   .comment = comment,
                   .flags = {flag},
                   .input = {{"seed", hex(given.seed)},
                             {"rows", json(Integer(given.W_D.rows() + more_rows))},
                             {"zW", json(given.check.zW)},
                             {"q", columns(given.q)},
                             {"y_D", columns(y_D)}},
                   .intermediate = {{"z", json(given.check.z)}}};
        if (!right) entry.failure = Failure{"check of products", "MASK-10"};
        document.add(entry);
    };
    const Checked one = any_checked(numbers, 1, 1, 1);
    add("one row", one, one.W_D * one.q, "TOO_STRICT");
    Checked extreme = any_checked(numbers, 3, 1, 2);
    extreme.W_D = Matrix{{127}, {-127}, {0}};
    extreme.check = draw_product_check(extreme.seed, extreme.W_D);
    extreme.q = Matrix{{4832, -4832}};
    add("extremes", extreme, extreme.W_D * extreme.q, "SIGN");
    const Checked given = any_checked(numbers, 4, 5, 2);
    const Matrix y = given.W_D * given.q;
    add("two columns", given, y, "TOO_STRICT");
    add("z is longer than the group has rows", given, y, "TOO_STRICT", 3);
    Checked zero = given;
    zero.q = Matrix(5, 2);
    add("zeros", zero, Matrix(4, 2), "ZERO");
    const auto wrong = [&](const char* comment, std::size_t row, std::size_t t,
                           const Integer& error) {
        Matrix changed = y;
        changed(row, t) += error;
        add(comment, given, changed, "WRONG_PRODUCT");
    };
    for (std::size_t row = 0; row < 4; ++row) {
        wrong("one row of one column is greater by one", row, row % 2, 1);
    }
    wrong("the last row of the last column is smaller by one", 3, 1, -1);
    wrong("noise that did not vanish", 2, 0, set.lattice->tau);
    wrong("an error of 2^32", 1, 1, Integer(1) << 32);
    Matrix opposite = y;
    opposite(1, 0) += 7;
    opposite(1, 1) -= 7;
    add("errors that cancel when columns are added up", given, opposite, "WRONG_PRODUCT");
    Matrix balanced = y;
    balanced(0, 0) += 1;
    balanced(1, 0) -= 1;
    add("errors that cancel when rows are added up", given, balanced, "WRONG_PRODUCT");
    add("two columns are exchanged", given, Matrix::from_columns(4, {y.column(1), y.column(0)}),
        "ORDER");
    add("all zeros", given, Matrix(4, 2), "ZERO");
}

void add_lattice_bounds(Document& document, const ParameterSet& set) {
    const Integer B_w = set.lattice->B_w, B_q = set.lattice->B_q;
    document.begin_group("lattice_bound", {"owner"}, set);
    const auto add = [&](const char* comment, const Vector& squares, const Integer& norm) {
        Case entry{.clause = "ENC-4",
                   .requirement =
                       "a group with lattice masks MUST be accepted only if no row has a "
                       "2-norm above B_w and its activation norm is at most B_q",
                   .comment = comment,
                   .flags = {"BOUND"},
                   .input = {{"row_squares", json(squares)}, {"activation_norm", json(norm)}}};
        const Integer greatest = *std::max_element(squares.begin(), squares.end());
        if (greatest > B_w * B_w || norm > B_q) entry.failure = Failure{"static bound", "ENC-4"};
        document.add(entry);
    };
    add("zero rows", {0, 0}, B_q);
    add("ordinary rows", {1000 * 1000, 1400 * 1400 + 17}, B_q);
    add("the greatest row that fits", {B_w * B_w}, B_q);
    add("a square that is greater by one", {B_w * B_w + 1}, B_q);
    add("the last of three rows is too long", {0, 1, B_w * B_w + 1}, B_q);
    add("an activation norm that is greater by one", {1400 * 1400}, B_q + 1);
    add("an activation norm of another set", {1400 * 1400}, 32767);
    add("an activation norm that is smaller by one", {1400 * 1400}, B_q - 1);
    add("the least activation norm", {B_w * B_w}, smallest_activation_norm);
}

/// A row of `count` times `value`, of which every sum of squares is exact.
Eigen::VectorXd constant_row(std::size_t count, double value) {
    return Eigen::VectorXd::Constant(static_cast<Eigen::Index>(count), value);
}

/// A row for which the order of product and quotient shows in 127 ||R_i|| / room.
Eigen::VectorXd unlike_quotient_first(double B_w) {
    for (std::size_t count = 300;; ++count) {
        const Eigen::VectorXd row = constant_row(count, 1.0);
        const auto n = static_cast<double>(count);
        const double room = B_w - (std::sqrt(n) + 1) / 2;
        if (largest_residual(row, B_w) != largest_weight * (std::sqrt(n) / room)) return row;
    }
}

/// The sum of squares in `count` lanes, which are added up one by one.
double sum_of_squares_in(std::size_t count, const std::vector<double>& row) {
    std::vector<double> lanes(count);
    for (std::size_t j = 0; j < row.size(); ++j) lanes[j % count] += row[j] * row[j];
    return std::accumulate(lanes.begin(), lanes.end(), 0.0);
}

/// A row of 24 entries for which the order of the sum of squares shows.
std::vector<double> unlike_lanes(Numbers& numbers) {
    const Integer half = Integer(1) << 52;
    for (;;) {
        std::vector<double> row;
        for (int j = 0; j < 24; ++j) {
            row.push_back(std::ldexp(numbers.between(-half, half).convert_to<double>(), -55));
        }
        const double norm = std::sqrt(sum_of_squares_in(1, row));
        const std::vector<double> reversed(row.rbegin(), row.rend());
        if (norm != std::sqrt(sum_of_squares_in(2, row)) &&
            norm != std::sqrt(sum_of_squares_in(4, row)) &&
            norm != std::sqrt(sum_of_squares_in(8, row)) &&
            norm != std::sqrt(sum_of_squares_in(1, reversed))) {
            return row;
        }
    }
}

void add_largest_residuals(Document& document, const ParameterSet& set) {
    const auto B_w = set.lattice->B_w.convert_to<double>();
    document.begin_group("largest_residual", {"owner"}, set);
    const auto add = [&](const char* comment, const Eigen::VectorXd& R_i, const Json& row,
                         std::optional<double> weight_norm, const char* flag) {
        Fields input{{"residual", row}};
        if (weight_norm) input.push_back({"weight_norm", json(Integer(*weight_norm))});
        document.add({.clause = "DECO-3",
                      .requirement =
                          "g_i MUST be max_j abs(R[i][j]), and with lattice masks no less "
                          "than 127 sqrt(sum_j R[i][j]^2) / (B_w - (sqrt(n) + 1) / 2)",
                      .comment = comment,
                      .flags = {flag},
                      .input = input,
                      .output = {{"largest_residual", bits(largest_residual(R_i, weight_norm))}}});
    };
    const auto constant = [&](const char* comment, std::size_t count, double value,
                              std::optional<double> weight_norm, const char* flag) {
        add(comment, constant_row(count, value), repeated(bits(value), count), weight_norm, flag);
    };
    const auto written = [&](const char* comment, const std::vector<double>& values,
                             std::optional<double> weight_norm, const char* flag) {
        Eigen::VectorXd row(static_cast<Eigen::Index>(values.size()));
        std::vector<Json> entries;
        for (const double value : values) {
            row(static_cast<Eigen::Index>(entries.size())) = value;
            entries.push_back(bits(value));
        }
        add(comment, row, list(entries), weight_norm, flag);
    };
    written("uniform masks: the greatest entry", {0.25, -0.75, 0.5}, std::nullopt, "SIGN");
    constant("uniform masks: a long row", 400, 0.75, std::nullopt, "BOUND");
    written("a short row keeps its step", {0.25, -0.75, 0.5}, B_w, "BOUND");
    written("a row of zeros", {0.0, -0.0}, B_w, "ZERO");
    constant("a long row of equal entries is capped", 400, 0.75, B_w, "BOUND");
    constant("the greatest entry decides, just", 184, 1.0, B_w, "BOUND");
    constant("the norm decides, just", 190, 1.0, B_w, "BOUND");
    constant("a number of columns that is no square", 1000, -0.5, B_w, "ROUNDING");
    constant("the longest row of a model", 28672, 0.03125, B_w, "BOUND");
    constant("another cap", 100, 1.0, 100, "BOUND");
    std::vector<double> ordinary;
    for (std::size_t j = 0; j < 64; ++j) {
        ordinary.push_back(document.numbers().between(-512, 512).convert_to<double>() / 4096);
    }
    written("ordinary entries under a low cap", ordinary, 200, "DERIVED");
    written("another number if the squares are added in another order",
            unlike_lanes(document.numbers()), 20, "ORDER");
    const Eigen::VectorXd unlike = unlike_quotient_first(B_w);
    add("another number if the quotient is formed first", unlike,
        repeated(bits(1.0), static_cast<std::size_t>(unlike.size())), B_w, "ROUNDING");
}

}  // namespace

void lattice_randomness(Document& document, const ParameterSet& set) {
    add_keystreams(document);
    add_small_integers(document, set);
}

void lattice_masking(Document& document, const ParameterSet& set) {
    add_public_matrices(document, set);
    add_blocks(document, set);
    add_lattice_unmasking(document, set);
    add_product_secrets(document, set);
    add_product_checks(document, set);
}

void lattice_encoding(Document& document, const ParameterSet& set) {
    add_lattice_bounds(document, set);
}

void lattice_decomposition(Document& document, const ParameterSet& set) {
    add_largest_residuals(document, set);
}

}  // namespace slip::reference::vectors

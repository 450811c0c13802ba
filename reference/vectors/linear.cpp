#include "reference/linear.hpp"

#include "reference/vectors/document.hpp"

namespace slip::reference::vectors {

namespace {

constexpr const char* davids_rule = "y~ MUST be W_D x~ mod L, column by column, in 0..L-1";

void add_products(Document& document, const ParameterSet& set) {
    const Ring& ring = set.ring();
    const Integer L = set.ring().modulus();
    Numbers& numbers = document.numbers();
    document.begin_group("david_product", {"david"}, set);
    const auto add = [&](const char* comment, const Matrix& W_D, const Matrix& x,
                         const char* flag) {
        document.add(
            {.clause = "LIN-1",
             .requirement = davids_rule,
             .comment = comment,
             .flags = {flag},
             .input = {{"W_D", json(W_D)}, {"x_masked", residue_columns(set, x)}},
             .output = {{"y_masked", residue_columns(set, davids_product(ring, W_D, x))}}});
    };
    const auto column = [](const Vector& x) { return Matrix::from_columns(x.size(), {x}); };
    add("the example of the chapter on the wire", {{1, -2, 3}, {0, 127, -127}},
        column({6, L - 2, 7}), "DERIVED");
    add("a zero matrix", Matrix(3, 4), numbers.matrix(4, 1, 0, L - 1), "ZERO");
    add("a zero input", numbers.matrix(3, 4, -127, 127), Matrix(4, 1), "ZERO");
    add("one weight in each row, of either sign", {{0, 1, 0}, {0, 0, -1}, {-127, 0, 0}},
        column({L - 1, 1, L - 1}), "SIGN");
    Matrix greatest(2, 40), residues(40, 2);
    for (std::size_t j = 0; j < 40; ++j) {
        greatest(0, j) = 127;
        greatest(1, j) = -127;
        residues(j, 0) = L - 1;
        residues(j, 1) = (L - 1) / 2;
    }
    add("all weights and residues at their extremes", greatest, residues, "OVERFLOW");
    for (std::size_t m : {1U, 3U, 16U, 17U}) {
        for (std::size_t n : {1U, 4U, 5U, 31U, 64U, 65U}) {
            add("a shape beside the width of a register", numbers.matrix(m, n, -127, 127),
                numbers.matrix(n, 1, 0, L - 1), "TAIL");
        }
    }
    for (std::size_t b : {2U, 3U, 8U, 17U}) {
        add("several columns keep their order", numbers.matrix(6, 9, -127, 127),
            numbers.matrix(9, b, 0, L - 1), "ORDER");
    }
    add("a longer row", numbers.matrix(2, 600, -127, 127), numbers.matrix(600, 1, 0, L - 1),
        "OVERFLOW");
}

/// Rows that are too long to be written out: n times the same residue.
void add_long_rows(Document& document, const ParameterSet& set) {
    const Ring& ring = set.ring();
    document.begin_group("david_product", {"david"}, set);
    for (const int weight : {127, -127}) {
        for (const std::size_t n : {65536U, 67637U, 67638U, 132000U}) {
            const Integer residue = ring.modulus() - 1;
            std::vector<Json> planes;
            for (const Integer& part : set.planes.split(residue)) {
                planes.push_back(repeated(hex(Bytes{part.convert_to<std::uint8_t>()}), n));
            }
            const Integer y = ring.embed(Integer(weight) * residue * n);
            document.add({.clause = "LIN-1",
                          .requirement = davids_rule,
                          .comment = "a row of " + std::to_string(n) + " extreme weights",
                          .flags = {"OVERFLOW"},
                          .input = {{"W_D", list({repeated(weight, n)})},
                                    {"x_masked", list({object({{"hex", list(planes)}})})}},
                          .output = {{"y_masked", list({column(set, {y})})}}});
        }
    }
}

/// Bytes that are no residues, and columns of another length.
void add_no_columns(Document& document, const ParameterSet& set) {
    document.begin_group("david_product", {"david"}, set);
    const auto refused = [&](const char* comment, const Bytes& bytes) {
        document.add({.clause = "LIN-1",
                      .requirement = "what is no column of residues MUST be refused",
                      .comment = comment,
                      .flags = {"CANONICAL"},
                      .input = {{"W_D", json(Matrix{{1, 2}})}, {"x_masked", list({hex(bytes)})}},
                      .failure = Failure{"read residues", "CONV-1"}});
    };
    for (std::size_t p = 0; p < set.planes.count(); ++p) {
        Bytes bytes = bytes_of(set.planes, Vector(2, 1));
        bytes[2 * p + 1] = set.planes.primes()[p].convert_to<std::uint8_t>();
        refused("a byte that is the prime", bytes);
    }
    refused("a residue too many", bytes_of(set.planes, Vector(3, 1)));
    refused("a byte too few", Bytes(2 * set.planes.count() - 1, 1));
}

/// Row e holds 2^e times entries of 12 bits, the first of them the greatest: exponents 0..20.
Matrix rows_of_every_exponent(Numbers& numbers, std::size_t k) {
    Matrix A = numbers.left_factor(largest_row_exponent + 1, k, 0);
    for (unsigned e = 0; e <= largest_row_exponent; ++e) {
        A(e, 0) = e % 2 == 0 ? largest_significand : -largest_significand;
        for (std::size_t c = 0; c < k; ++c) A(e, c) *= Integer(1) << e;
    }
    return A;
}

void add_low_rank(Document& document) {
    Numbers& numbers = document.numbers();
    document.begin_group("low_rank", {"charlie"});
    const Integer A_max = largest_left_factor, B_max = largest_right_factor;
    const auto add = [&](const char* comment, const Matrix& A, const Matrix& B, const Vector& q,
                         const Vector& y_D, const char* flag, const char* clause) {
        document.add({.clause = clause,
                      .requirement = "y_int MUST be 2^16 y_D + A (B q) over Z",
                      .comment = comment,
                      .flags = {flag},
                      .input = {{"A", json(A)}, {"B", json(B)}, {"q", json(q)}, {"y_D", json(y_D)}},
                      .output = {{"y_int", json(charlies_output_64(A, B, q, y_D))}},
                      .intermediate = {{"z", json(B * q)}}});
        require(charlies_output_64(A, B, q, y_D) == charlies_output(A, B, q, y_D),
                "a low-rank case fits 64 bits");
    };
    add("rank 0: the shift alone", Matrix(3, 0), Matrix(0, 4), {1, -2, 3, -4}, {5, -6, 0}, "ZERO",
        "LIN-2");
    add("rank 1", {{3}, {-5}}, {{7, -11}}, {13, 17}, {1, -1}, "SIGN", "LIN-2");
    for (std::size_t k : {2U, 5U}) {
        add("ordinary values", numbers.left_factor(6, k, 8), numbers.right_factor(k, 9),
            numbers.vector(9, -32767, 32767), numbers.vector(6, -1000000, 1000000), "DERIVED",
            "LIN-2");
    }
    for (std::size_t k : {1U, 3U}) {
        const std::size_t rows = largest_row_exponent + 1;
        add("a row of each exponent", rows_of_every_exponent(numbers, k),
            numbers.right_factor(k, 6), numbers.vector(6, -32767, 32767),
            numbers.vector(rows, -1000000, 1000000), "EXPONENT", "LIN-2");
    }
    add("a row of zeros between rows of exponent 20", {{A_max, -A_max}, {0, 0}, {-A_max, 1 << 20}},
        numbers.right_factor(2, 6), numbers.vector(6, -32767, 32767), {7, -8, 9}, "EXPONENT",
        "LIN-2");
    add("2047 still has exponent 0, 2048 has 1", {{2047, 1}, {2048, 2}, {-2048, 0}, {-2047, 2046}},
        numbers.right_factor(2, 6), numbers.vector(6, -32767, 32767), {1, -1, 1, -1}, "EXPONENT",
        "LIN-2");
    add("every entry at its extreme", all_entries(2, 130, largest_significand),
        all_entries(130, 3, -B_max), Vector(3, 32767), {1, -1}, "OVERFLOW", "LIN-2");
    // z = 2^33 + 2046, so that A z is above 2^63, and y_D takes the sum back into the range.
    const Matrix A{{Integer(1) << 30}}, B = all_entries(1, 129, B_max);
    Vector q(129, 32767);
    q.back() = 2178;
    require((A * (B * q))[0] > Integer(1) << 63, "A z wraps");
    add("A z wraps, the sum does not", A, B, q, {-40000000}, "WRAPPING", "DECO-7");
    add("A z wraps with the other sign", Matrix{{-(Integer(1) << 30)}}, B, q, {40000000},
        "WRAPPING", "DECO-7");
    add("partial sums of A z wrap and cancel", Matrix{{A_max, -A_max}}, all_entries(2, 80, B_max),
        Vector(80, 32767), {123}, "WRAPPING", "DECO-7");
}

/// A z is odd and above 2^53, so that binary64 does not hold it.
void add_long_low_rank(Document& document) {
    const std::size_t n = 301;
    const Integer significand = largest_significand, q = 32767;
    const Integer product = significand * n * significand * n * q;
    require(product > Integer(1) << 53 && product % 2 == 1, "binary64 does not hold the product");
    document.begin_group("low_rank", {"charlie"});
    document.add({.clause = "LIN-2",
                  .requirement = "y_int MUST be 2^16 y_D + A (B q) over Z",
                  .comment = "a sum that binary64 does not hold",
                  .flags = {"OVERFLOW"},
                  .input = {{"A", list({repeated(significand, n)})},
                            {"B", repeated(repeated(significand, n), n)},
                            {"q", repeated(q, n)},
                            {"y_D", json(Vector{0})}},
                  .output = {{"y_int", json(Vector{product})}}});
}

}  // namespace

void linear(Document& document) {
    add_products(document, paper());
    add_long_rows(document, paper());
    add_no_columns(document, paper());
    add_low_rank(document);
    add_long_low_rank(document);
    add_products(document, paper_lattice());
    add_long_rows(document, paper_lattice());
    add_no_columns(document, paper_lattice());
}

}  // namespace slip::reference::vectors

#include "reference/integrity.hpp"

#include <tuple>

#include "reference/linear.hpp"
#include "reference/vectors/document.hpp"

namespace slip::reference::vectors {

namespace {

/// w of a check, for `rows` rows.
CheckSecret drawn(const ParameterSet& set, const Key& seed, std::size_t rows) {
    CheckSecret secret;
    for (std::size_t p = 0; p < set.planes.count(); ++p) {
        secret.push_back(
            {draw_combinations(set.planes.primes()[p], seed, p, rows, set.combinations), {}});
    }
    return secret;
}

void add_keys(Document& document, const ParameterSet& set) {
    Numbers& numbers = document.numbers();
    const Key seed = numbers.key();
    document.begin_group("draw_w", {"charlie"}, set);
    for (const std::size_t rows : {1U, 5U, 9U, 300U}) {
        document.add({.clause = "INTEG-1",
                      .requirement = "plane p of combination a MUST be the first M residues of "
                                     "stream (p, 2, a) under the seed",
                      .comment = "M = " + std::to_string(rows),
                      .flags = {"PLANE"},
                      .input = {{"seed", hex(seed)}, {"rows", json(Integer(rows))}},
                      .output = {{"w", combinations(drawn(set, seed, rows), &IntegrityKey::w)}}});
    }
    document.begin_group("integrity_s", {"owner"}, set);
    for (const auto& [m, n, rows] : std::vector<std::tuple<std::size_t, std::size_t, std::size_t>>{
             {1, 1, 1}, {4, 6, 4}, {7, 3, 7}, {3, 5, 9}}) {
        const Matrix W_D = numbers.matrix(m, n, -127, 127);
        const Key key = numbers.key();
        document.add(
            {.clause = "INTEG-2",
             .requirement = "s MUST satisfy s^T = w^T W_D mod each prime, with the first "
                            "M entries of w",
             .comment = std::to_string(rows) + " entries for " + std::to_string(m) + " rows",
             .flags = {"SIGN", "PLANE"},
             .input = {{"w", combinations(drawn(set, key, rows), &IntegrityKey::w)},
                       {"W_D", json(W_D)}},
             .output = {
                 {"s", combinations(draw_check_secret(set.planes, key, W_D, set.combinations),
                                    &IntegrityKey::s)}}});
    }
}

/// A message, its right reply, and the secret of its check.
struct Exchange {
    ParameterSet set;
    Matrix W_D, x;
    Key seed;
    CheckSecret secret;
    Matrix y;
};

Exchange any_exchange(Numbers& numbers, const ParameterSet& set, std::size_t m, std::size_t n,
                      std::size_t b) {
    const Matrix W_D = numbers.matrix(m, n, -127, 127);
    const Matrix x = numbers.matrix(n, b, 0, set.ring().modulus() - 1);
    const Key seed = numbers.key();
    return {set,
            W_D,
            x,
            seed,
            draw_check_secret(set.planes, seed, W_D, set.combinations),
            davids_product(set.ring(), W_D, x)};
}

Fields input_of(const Exchange& exchange, const Json& replies) {
    return {{"seed", hex(exchange.seed)},
            {"s", combinations(exchange.secret, &IntegrityKey::s)},
            {"x_masked", residue_columns(exchange.set, exchange.x)},
            {"y_masked", replies}};
}

class Checks {
public:
    explicit Checks(Document& document) : document_(document) {}

    void accepted(const char* comment, const Exchange& exchange, const Matrix& y,
                  const char* flag) {
        add(comment, exchange, y, flag, true);
    }
    void rejected(const char* comment, const Exchange& exchange, const Matrix& y,
                  const char* flag) {
        add(comment, exchange, y, flag, false);
    }

private:
    void add(const char* comment, const Exchange& exchange, const Matrix& y, const char* flag,
             bool accepted) {
        require(accepts(exchange.set.planes, exchange.secret, exchange.x, y) == accepted,
                "the verdict is the one that the case was made for");
        Case entry{.clause = "INTEG-3",
                   .requirement = accepted
                                      ? "a reply that satisfies every equation MUST be accepted"
                                      : "a reply that breaks an equation MUST be rejected",
                   .comment = comment,
                   .flags = {flag},
                   .input = input_of(exchange, residue_columns(exchange.set, y)),
                   .intermediate = {{"w", combinations(exchange.secret, &IntegrityKey::w)}}};
        if (!accepted) entry.failure = Failure{"integrity check", "INTEG-3"};
        document_.add(entry);
    }

    Document& document_;
};

/// The right reply with `error` added to entry (i, j) mod L.
Matrix changed(const Exchange& exchange, std::size_t i, std::size_t j, const Integer& error) {
    Matrix y = exchange.y;
    y(i, j) = exchange.set.ring().embed(y(i, j) + error);
    return y;
}

/// A residue that is 1 in plane p and 0 in the others.
Integer unit_of(const ParameterSet& set, std::size_t p) {
    Vector parts(set.planes.count(), 0);
    parts[p] = 1;
    return set.planes.join(parts);
}

void add_honest(Document& document, const ParameterSet& set) {
    Checks checks(document);
    Numbers& numbers = document.numbers();
    for (const auto& [m, n, b] : std::vector<std::tuple<std::size_t, std::size_t, std::size_t>>{
             {1, 1, 1}, {5, 3, 1}, {4, 8, 3}, {33, 17, 2}}) {
        const Exchange exchange = any_exchange(numbers, set, m, n, b);
        checks.accepted("the right reply", exchange, exchange.y, "TOO_STRICT");
    }
    Exchange zero = any_exchange(numbers, set, 3, 4, 2);
    zero.x = Matrix(4, 2);
    checks.accepted("zeros", zero, Matrix(3, 2), "ZERO");
}

void add_wrong(Document& document, const ParameterSet& set) {
    Checks checks(document);
    Numbers& numbers = document.numbers();
    const Exchange exchange = any_exchange(numbers, set, 4, 6, 3);
    const Integer half = (set.ring().modulus() - 1) / 2;
    for (std::size_t i = 0; i < 4; ++i) {
        checks.rejected("one residue is greater by one", exchange, changed(exchange, i, i % 3, 1),
                        "WRONG_REPLY");
    }
    for (std::size_t p = 0; p < set.planes.count(); ++p) {
        const Integer unit = unit_of(set, p);
        checks.rejected("one row of one column is wrong in one plane", exchange,
                        changed(exchange, p % 4, p % 3, unit), "REPETITION");
        checks.rejected("the last residue is wrong in one plane", exchange,
                        changed(exchange, 3, 2, 100 * unit), "REPETITION");
    }
    checks.rejected("the last residue of the last column is smaller by one", exchange,
                    changed(exchange, 3, 2, -1), "REPETITION");
    checks.rejected("one residue is off by half the modulus", exchange,
                    changed(exchange, 1, 1, half), "WRONG_REPLY");
    checks.rejected("all zeros", exchange, Matrix(4, 3), "ZERO");
    const Matrix& y = exchange.y;
    checks.rejected("two columns are exchanged", exchange,
                    Matrix::from_columns(4, {y.column(1), y.column(0), y.column(2)}), "ORDER");
    checks.rejected("the answer to another message", exchange,
                    any_exchange(numbers, set, 4, 6, 3).y, "REPLAY");
    Matrix opposite = changed(exchange, 1, 0, 5);
    opposite(1, 1) = set.ring().embed(opposite(1, 1) - 5);
    checks.rejected("errors of two columns that cancel when columns are added up", exchange,
                    opposite, "REPETITION");
    Matrix first = exchange.y;
    first(2, 2) = set.ring().embed(first(2, 2) + 1);
    checks.rejected("the first columns are right", exchange, first, "REPETITION");
}

/// Errors that one combination of one plane does not see, and the others do.
void add_unseen_by_one(Document& document, const ParameterSet& set) {
    Checks checks(document);
    const Exchange exchange = any_exchange(document.numbers(), set, 2, 5, 2);
    for (std::size_t p = 0; p < set.planes.count(); ++p) {
        const Matrix& w = exchange.secret[p].w;
        const Integer unit = unit_of(set, p);
        for (const std::size_t a : {std::size_t{0}, set.combinations - 1}) {
            Matrix y = changed(exchange, 0, 1, w(1, a) * unit);  // the error (w_1, -w_0)
            y(1, 1) = set.ring().embed(y(1, 1) - w(0, a) * unit);
            checks.rejected("an error in one plane that one combination does not see", exchange, y,
                            "REPETITION");
        }
    }
}

Matrix without(const Matrix& X, std::size_t row, std::size_t col) {
    Matrix minor(X.rows() - 1, X.cols() - 1);
    for (std::size_t i = 0; i < minor.rows(); ++i) {
        for (std::size_t j = 0; j < minor.cols(); ++j) {
            minor(i, j) = X(i < row ? i : i + 1, j < col ? j : j + 1);
        }
    }
    return minor;
}

/// The cofactors of a column of a square matrix: orthogonal to every other column, and with this
/// one their product is the determinant.
Vector cofactors(const Matrix& X, std::size_t col) {
    if (X.rows() == 1) return {1};
    Vector result;
    for (std::size_t i = 0; i < X.rows(); ++i) {
        const Matrix minor = without(X, i, col);
        const Vector inner = cofactors(minor, 0);
        Integer determinant = 0;
        for (std::size_t k = 0; k < inner.size(); ++k) determinant += inner[k] * minor(k, 0);
        result.push_back((i + col) % 2 == 0 ? determinant : -determinant);
    }
    return result;
}

void add_seen_by_one_alone(Document& document, const ParameterSet& set) {
    Checks checks(document);
    const Exchange exchange = any_exchange(document.numbers(), set, set.combinations, 3, 2);
    for (std::size_t p = 0; p < set.planes.count(); ++p) {
        for (const std::size_t a : {std::size_t{0}, set.combinations - 1}) {
            const Vector e = cofactors(exchange.secret[p].w, a);
            Matrix y = exchange.y;
            for (std::size_t i = 0; i < e.size(); ++i) {
                y(i, 1) = set.ring().embed(y(i, 1) + e[i] * unit_of(set, p));
            }
            checks.rejected("an error in one plane that one combination alone sees", exchange, y,
                            "REPETITION");
        }
    }
}

}  // namespace

void integrity_edges(Document& document, const ParameterSet& set) {
    const Exchange exchange = any_exchange(document.numbers(), set, 3, 4, 2);
    document.begin_group("integrity_check", {"charlie"}, set);
    for (std::size_t p = 0; p < set.planes.count(); ++p) {
        Exchange zero = exchange;  // a residue of 0 and its prime are the same mod p
        zero.x = Matrix(4, 2);
        std::vector<Json> replies;
        for (std::size_t t = 0; t < 2; ++t) {
            Bytes bytes(3 * set.planes.count(), 0);
            if (t == 1) bytes[3 * p + 2] = set.planes.primes()[p].convert_to<std::uint8_t>();
            replies.push_back(hex(bytes));
        }
        document.add({.clause = "CONV-1",
                      .requirement = "a byte that is not below its prime MUST be refused, although "
                                     "it satisfies the equation",
                      .comment = "a byte that is the prime",
                      .flags = {"CANONICAL"},
                      .input = input_of(zero, list(replies)),
                      .failure = Failure{"integrity check", "CONV-1"}});
    }
}

void integrity(Document& document) {
    for (const ParameterSet& set : {paper(), paper_lattice()}) {
        add_keys(document, set);
        document.begin_group("integrity_check", {"charlie"}, set);
        add_honest(document, set);
        add_wrong(document, set);
        add_unseen_by_one(document, set);
        add_seen_by_one_alone(document, set);
    }
}

}  // namespace slip::reference::vectors

#include "reference/integrity.hpp"

#include <tuple>

#include "reference/linear.hpp"
#include "reference/vectors/document.hpp"

namespace slip::reference::vectors {

namespace {

Json hex(const Key& key) { return vectors::hex(Bytes(key.begin(), key.end())); }

void add_keys(Document& document, const Profile& profile) {
    Numbers& numbers = document.numbers();
    const Key key = numbers.key();
    document.begin_group("draw_rho", {"charlie"}, profile);
    for (const auto& [group, rows] :
         std::vector<std::pair<std::uint64_t, std::size_t>>{{0, 1}, {0, 5}, {1, 5}, {65535, 9}}) {
        document.add({.clause = "INTEG-1",
                      .requirement =
                          "rho MUST be the first M kappa residues of stream (2, group), row by row",
                      .comment = "group " + std::to_string(group) + ", M = " + std::to_string(rows),
                      .flags = {"ORDER"},
                      .input = {{"key", hex(key)},
                                {"group", json(Integer(group))},
                                {"rows", json(Integer(rows))}},
                      .output = {{"rho", json(draw_rho(profile.modulus, key, group, rows,
                                                       profile.repetitions))}}});
    }
    document.begin_group("integrity_s", {"charlie"}, profile);
    for (const auto& [m, n] :
         std::vector<std::pair<std::size_t, std::size_t>>{{1, 1}, {4, 6}, {7, 3}}) {
        const Matrix W_D = numbers.matrix(m, n, -127, 127);
        const Matrix rho = numbers.matrix(m, profile.repetitions, 0, profile.modulus - 1);
        document.add({.clause = "INTEG-2",
                      .requirement = "s MUST satisfy s^T = rho^T W_D mod L",
                      .comment = "ordinary values",
                      .flags = {"SIGN"},
                      .input = {{"rho", json(rho)}, {"W_D", json(W_D)}},
                      .output = {{"s", json(precompute_s(profile.modulus, rho, W_D))}}});
    }
}

/// A message, its right reply, and the secrets of its check.
struct Exchange {
    Integer L;
    Matrix W_D, x;
    Key key;
    IntegrityKey secret;  ///< of group 3
    Matrix y;
};

Exchange any_exchange(Numbers& numbers, const Profile& profile, std::size_t m, std::size_t n,
                      std::size_t b) {
    const Integer L = profile.modulus;
    const Matrix W_D = numbers.matrix(m, n, -127, 127), x = numbers.matrix(n, b, 0, L - 1);
    const Key key = numbers.key();
    return {L,
            W_D,
            x,
            key,
            draw_integrity_key(L, key, 3, W_D, profile.repetitions),
            davids_product(Ring(L), W_D, x)};
}

class Checks {
public:
    Checks(Document& document, const Profile& profile)
        : document_(document), ring_(profile.modulus) {}

    void accepted(const char* comment, const Exchange& exchange, const Matrix& y,
                  const char* flag) {
        require(accepts(exchange.L, exchange.secret, exchange.x, y), "this reply is accepted");
        document_.add({.clause = "INTEG-3",
                       .requirement = "a reply that satisfies the equation MUST be accepted",
                       .comment = comment,
                       .flags = {flag},
                       .input = input_of(exchange, y),
                       .intermediate = secrets_of(exchange)});
    }

    void rejected(const char* comment, const Exchange& exchange, const Matrix& y,
                  const char* flag) {
        require(!accepts(exchange.L, exchange.secret, exchange.x, y), "this reply is rejected");
        document_.add({.clause = "INTEG-3",
                       .requirement = "a reply that breaks the equation MUST be rejected",
                       .comment = comment,
                       .flags = {flag},
                       .input = input_of(exchange, y),
                       .intermediate = secrets_of(exchange),
                       .failure = Failure{"integrity check", "INTEG-3"}});
    }

    /// The right reply with `error` added to entry (i, j).
    Matrix changed(const Exchange& exchange, std::size_t i, std::size_t j, const Integer& error) {
        Matrix y = exchange.y;
        y(i, j) = ring_.embed(y(i, j) + error);
        return y;
    }

private:
    static Fields input_of(const Exchange& exchange, const Matrix& y) {
        return {{"key", hex(exchange.key)},
                {"group", json(Integer(3))},
                {"W_D", json(exchange.W_D)},
                {"x_masked", columns(exchange.x)},
                {"y_masked", columns(y)}};
    }

    static Fields secrets_of(const Exchange& exchange) {
        return {{"rho", json(exchange.secret.rho)}, {"s", json(exchange.secret.s)}};
    }

    Document& document_;
    Ring ring_;
};

void add_honest(Document& document, const Profile& profile) {
    Checks checks(document, profile);
    Numbers& numbers = document.numbers();
    for (const auto& [m, n, b] : std::vector<std::tuple<std::size_t, std::size_t, std::size_t>>{
             {1, 1, 1}, {5, 3, 1}, {4, 8, 3}, {33, 17, 2}}) {
        const Exchange exchange = any_exchange(numbers, profile, m, n, b);
        checks.accepted("the right reply", exchange, exchange.y, "TOO_STRICT");
    }
    Exchange zero = any_exchange(numbers, profile, 3, 4, 2);
    zero.x = Matrix(4, 2);
    checks.accepted("zeros", zero, Matrix(3, 2), "ZERO");
}

void add_wrong(Document& document, const Profile& profile) {
    Checks checks(document, profile);
    Numbers& numbers = document.numbers();
    const Exchange exchange = any_exchange(numbers, profile, 4, 6, 3);
    const Integer half = (profile.modulus - 1) / 2;
    for (std::size_t i = 0; i < 4; ++i) {
        checks.rejected("one residue is greater by one", exchange,
                        checks.changed(exchange, i, i % 3, 1), "WRONG_REPLY");
    }
    checks.rejected("the last residue of the last column is smaller by one", exchange,
                    checks.changed(exchange, 3, 2, -1), "REPETITION");
    checks.rejected("one residue is off by half the modulus", exchange,
                    checks.changed(exchange, 1, 1, half), "WRONG_REPLY");
    checks.rejected("one residue is off by 2^20", exchange, checks.changed(exchange, 2, 0, 1 << 20),
                    "WRONG_REPLY");
    checks.rejected("all zeros", exchange, Matrix(4, 3), "ZERO");
    const Matrix& y = exchange.y;
    checks.rejected("two columns are exchanged", exchange,
                    Matrix::from_columns(4, {y.column(1), y.column(0), y.column(2)}), "ORDER");
    checks.rejected("the answer to another message", exchange,
                    any_exchange(numbers, profile, 4, 6, 3).y, "REPLAY");
    Matrix opposite = checks.changed(exchange, 1, 0, 5);
    opposite(1, 1) = Ring(profile.modulus).embed(opposite(1, 1) - 5);
    checks.rejected("errors of two columns that cancel when columns are added up", exchange,
                    opposite, "REPETITION");
}

/// Errors that some of rho does not see.
void add_orthogonal(Document& document, const Profile& profile) {
    Checks checks(document, profile);
    const Ring ring(profile.modulus);
    const Exchange exchange = any_exchange(document.numbers(), profile, 3, 5, 2);
    const Matrix& rho = exchange.secret.rho;
    for (std::size_t p = 0; p < profile.repetitions; ++p) {
        Matrix y = exchange.y;  // the error (rho_1, -rho_0, 0) is orthogonal to column p of rho
        y(0, 1) = ring.embed(y(0, 1) + rho(1, p));
        y(1, 1) = ring.embed(y(1, 1) - rho(0, p));
        checks.rejected("an error that one repetition does not see", exchange, y, "REPETITION");
    }
    Matrix y = exchange.y;  // the cross product of both columns of rho
    for (std::size_t i = 0; i < 3; ++i) {
        const std::size_t j = (i + 1) % 3, k = (i + 2) % 3;
        y(i, 0) = ring.embed(y(i, 0) + rho(j, 0) * rho(k, 1) - rho(k, 0) * rho(j, 1));
    }
    checks.accepted("a wrong reply that satisfies the equation in both repetitions", exchange, y,
                    "TOO_STRICT");
}

}  // namespace

void integrity_edges(Document& document, const Profile& profile) {
    const Exchange exchange = any_exchange(document.numbers(), profile, 3, 4, 2);
    document.begin_group("integrity_check", {"charlie"}, profile);
    const auto add = [&](const char* comment, std::size_t i, std::size_t j) {
        Matrix y = exchange.y;
        y(i, j) += profile.modulus;
        document.add({.clause = "INTEG-3",
                      .requirement = "a reply that is not in 0..L-1 MUST be refused, although it "
                                     "satisfies the equation",
                      .comment = comment,
                      .flags = {"CANONICAL"},
                      .input = {{"key", hex(exchange.key)},
                                {"group", json(Integer(3))},
                                {"W_D", json(exchange.W_D)},
                                {"x_masked", columns(exchange.x)},
                                {"y_masked", columns(y)}},
                      .failure = Failure{"integrity check", "CONV-1"}});
    };
    add("L added to the first residue", 0, 0);
    add("L added to the last residue", 2, 1);
}

void integrity(Document& document) {
    add_keys(document, p31());
    document.begin_group("integrity_check", {"charlie"}, p31());
    add_honest(document, p31());
    add_wrong(document, p31());
    add_orthogonal(document, p31());
}

}  // namespace slip::reference::vectors

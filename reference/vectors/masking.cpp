#include "reference/masking.hpp"

#include "reference/vectors/document.hpp"

namespace slip::reference::vectors {

namespace {

void add_masks(Document& document, const ParameterSet& set) {
    const Ring& ring = set.ring();
    const Integer L = set.ring().modulus();
    Numbers& numbers = document.numbers();
    document.begin_group("mask", {"charlie"}, set);
    const auto add = [&](const char* comment, const Vector& q, const Vector& r, const char* flag) {
        document.add({.clause = "MASK-1",
                      .requirement = "x~ MUST be (embed(q) + r) mod L in every entry",
                      .comment = comment,
                      .flags = {flag},
                      .input = {{"q", json(q)}, {"r", column(set, r)}},
                      .output = {{"x_masked", column(set, mask(ring, q, r))}}});
    };
    add("the zero token shows its mask", Vector(5, 0), numbers.vector(5, 0, L - 1), "ZERO");
    add("a mask of zeros shows the embedding", {0, 1, -1, 32767, -32767}, Vector(5, 0), "SIGN");
    add("sums at the modulus", {1, 1, -1, -1, 2}, {L - 1, L - 2, 0, 1, L - 1}, "EDGE");
    add("the widest activations", {32767, -32767, 32767, -32767}, {L - 32767, 32767, L - 1, 0},
        "EDGE");
    for (std::size_t n : {1U, 3U, 17U, 64U}) {
        add("ordinary values", numbers.vector(n, -32767, 32767), numbers.vector(n, 0, L - 1),
            "TAIL");
    }
}

void add_unmasking(Document& document, const ParameterSet& set) {
    const Ring& ring = set.ring();
    const Integer L = set.ring().modulus(), half = (L - 1) / 2;
    Numbers& numbers = document.numbers();
    document.begin_group("unmask", {"charlie"}, set);
    const auto add = [&](const char* comment, const Vector& y, const Vector& c, const char* flag) {
        document.add({.clause = "MASK-4",
                      .requirement = "y_D MUST be the centred lift of (y~ - c) mod L",
                      .comment = comment,
                      .flags = {flag},
                      .input = {{"y_masked", column(set, y)}, {"c", column(set, c)}},
                      .output = {{"y_D", json(unmask(ring, y, c))}}});
    };
    add("equal: zero", {0, 5, L - 1}, {0, 5, L - 1}, "ZERO");
    add("minus one, without and with a borrow", {4, 0, L - 2}, {5, 1, L - 1}, "SIGN");
    add("the edges of the centred range", {half, half + 1, 0, 0}, {0, 0, half, half + 1}, "EDGE");
    add("the same edges with a borrow", {half - 1, half, 3}, {L - 1, L - 1, half + 3}, "EDGE");
    for (std::size_t n : {1U, 3U, 17U, 64U}) {
        add("ordinary values", numbers.vector(n, 0, L - 1), numbers.vector(n, 0, L - 1), "TAIL");
    }
}

void add_cancellations(Document& document, const ParameterSet& set) {
    const Ring& ring = set.ring();
    const Integer L = set.ring().modulus();
    Numbers& numbers = document.numbers();
    document.begin_group("cancellation", {"charlie"}, set);
    const auto add = [&](const char* comment, const Matrix& W_D, const Vector& r,
                         const char* flag) {
        document.add({.clause = "MASK-3",
                      .requirement = "c MUST be W_D r mod L",
                      .comment = comment,
                      .flags = {flag},
                      .input = {{"W_D", json(W_D)}, {"r", column(set, r)}},
                      .output = {{"c", column(set, cancellation(ring, W_D, r))}}});
    };
    add("the identity returns the mask", {{1, 0}, {0, 1}}, numbers.vector(2, 0, L - 1), "ORDER");
    add("the negative identity", {{-1, 0}, {0, -1}}, {1, L - 1}, "SIGN");
    add("the extremes", {{127, 127, 127}, {-127, -127, -127}, {127, -127, 0}}, Vector(3, L - 1),
        "OVERFLOW");
    add("ordinary values", numbers.matrix(5, 7, -127, 127), numbers.vector(7, 0, L - 1), "DERIVED");
    add("more columns than rows", numbers.matrix(2, 33, -127, 127), numbers.vector(33, 0, L - 1),
        "TAIL");
}

/// A byte that is its plane's prime, in each plane of what Charlie is given.
void add_no_residues(Document& document, const ParameterSet& set) {
    const auto refused = [&](const char* clause, const Fields& input) {
        document.add({.clause = clause,
                      .requirement = "a byte that is not below its prime MUST be refused",
                      .comment = "a byte that is the prime",
                      .flags = {"CANONICAL"},
                      .input = input,
                      .failure = Failure{"read residues", "CONV-1"}});
    };
    for (std::size_t p = 0; p < set.planes.count(); ++p) {
        Bytes bytes = bytes_of(set.planes, Vector(2, 1));
        bytes[2 * p] = set.planes.primes()[p].convert_to<std::uint8_t>();
        document.begin_group("mask", {"charlie"}, set);
        refused("MASK-1", {{"q", json(Vector{1, -1})}, {"r", hex(bytes)}});
        document.begin_group("unmask", {"charlie"}, set);
        refused("MASK-4", {{"y_masked", hex(bytes)}, {"c", column(set, Vector(2, 1))}});
    }
}

}  // namespace

void masking(Document& document) {
    add_masks(document, paper());
    add_unmasking(document, paper());
    add_cancellations(document, paper());
    add_no_residues(document, paper());
    add_masks(document, paper_lattice());
    add_unmasking(document, paper_lattice());  // of its convolutions, whose masks are uniform
    add_no_residues(document, paper_lattice());
    lattice_masking(document, paper_lattice());
}

}  // namespace slip::reference::vectors

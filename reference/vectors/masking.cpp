#include "reference/masking.hpp"

#include "reference/vectors/document.hpp"

namespace slip::reference::vectors {

namespace {

void add_masks(Document& document, const Profile& profile) {
    const Ring ring(profile.modulus);
    const Integer L = profile.modulus;
    Numbers& numbers = document.numbers();
    document.begin_group("mask", {"charlie"}, profile);
    const auto add = [&](const char* comment, const Vector& q, const Vector& r, const char* flag) {
        document.add({.clause = "MASK-1",
                      .requirement = "x~ MUST be (embed(q) + r) mod L in every entry",
                      .comment = comment,
                      .flags = {flag},
                      .input = {{"q", json(q)}, {"r", json(r)}},
                      .output = {{"x_masked", json(mask(ring, q, r))}}});
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

void add_unmasking(Document& document, const Profile& profile) {
    const Ring ring(profile.modulus);
    const Integer L = profile.modulus, half = (L - 1) / 2;
    Numbers& numbers = document.numbers();
    document.begin_group("unmask", {"charlie"}, profile);
    const auto add = [&](const char* comment, const Vector& y, const Vector& c, const char* flag) {
        document.add({.clause = "MASK-4",
                      .requirement = "y_D MUST be the centred lift of (y~ - c) mod L",
                      .comment = comment,
                      .flags = {flag},
                      .input = {{"y_masked", json(y)}, {"c", json(c)}},
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

void add_cancellations(Document& document, const Profile& profile) {
    const Ring ring(profile.modulus);
    const Integer L = profile.modulus;
    Numbers& numbers = document.numbers();
    document.begin_group("cancellation", {"charlie"}, profile);
    const auto add = [&](const char* comment, const Matrix& W_D, const Vector& r,
                         const char* flag) {
        document.add({.clause = "MASK-3",
                      .requirement = "c MUST be W_D r mod L",
                      .comment = comment,
                      .flags = {flag},
                      .input = {{"W_D", json(W_D)}, {"r", json(r)}},
                      .output = {{"c", json(cancellation(ring, W_D, r))}}});
    };
    add("the identity returns the mask", {{1, 0}, {0, 1}}, numbers.vector(2, 0, L - 1), "ORDER");
    add("the negative identity", {{-1, 0}, {0, -1}}, {1, L - 1}, "SIGN");
    add("the extremes", {{127, 127, 127}, {-127, -127, -127}, {127, -127, 0}}, Vector(3, L - 1),
        "OVERFLOW");
    add("ordinary values", numbers.matrix(5, 7, -127, 127), numbers.vector(7, 0, L - 1), "DERIVED");
    add("more columns than rows", numbers.matrix(2, 33, -127, 127), numbers.vector(33, 0, L - 1),
        "TAIL");
}

}  // namespace

void masking(Document& document) {
    add_masks(document, p31());
    add_unmasking(document, p31());
    add_cancellations(document, p31());
}

}  // namespace slip::reference::vectors

#include "reference/hiding.hpp"

#include <utility>

#include "reference/vectors/document.hpp"

namespace slip::reference::vectors {

namespace {

const std::vector<std::string> for_david{"hidden"};  ///< David's, and so everybody's
const std::vector<std::string> for_charlie{"charlie", "hidden"}, for_owner{"owner", "hidden"};

Json pair(const std::array<Integer, 2>& numbers) { return json(Vector{numbers[0], numbers[1]}); }

void add_widths(Document& document, const ParameterSet& set) {
    document.begin_group("hidden_width", for_charlie, set);
    const auto add = [&](const char* comment, std::size_t n, const char* flag) {
        Case entry{.clause = "HIDE-2",
                   .requirement =
                       "norm, s, tau and the multipliers MUST be those of the first class "
                       "whose n is not below the number of columns",
                   .comment = comment,
                   .flags = {flag},
                   .input = {{"width", json(Integer(n))}}};
        if (n == 0 || n > hidden_widths().back().n) {
            entry.failure = Failure{"width", "HIDE-2"};
        } else {
            const HiddenWidth& width = hidden_width(n);
            entry.output = {{"B", json(width.B)},
                            {"s", json(width.s)},
                            {"tau", json(width.tau)},
                            {"u", pair(width.u)},
                            {"v", pair(width.v)}};
        }
        document.add(entry);
    };
    add("one column", 1, "EDGE");
    for (const HiddenWidth& width : hidden_widths()) {
        add("the widest of a class", width.n, "EDGE");
        if (width.n < hidden_widths().back().n) add("one column more", width.n + 1, "EDGE");
    }
    add("no column", 0, "EDGE");
    add("wider than the table", 6145, "EDGE");
}

void add_parts(Document& document, const ParameterSet& set) {
    document.begin_group("column_parts", for_charlie, set);
    for (const auto& [comment, n] :
         std::vector<std::pair<const char*, std::size_t>>{{"one column", 1},
                                                          {"the widest in one part", 6144},
                                                          {"two parts that differ by one", 6145},
                                                          {"two equal parts", 11008},
                                                          {"five parts", 28672},
                                                          {"the widest matrix", 1048576}}) {
        Vector bounds;
        for (const std::size_t bound : part_bounds(n)) bounds.emplace_back(bound);
        document.add({.clause = "HIDE-7",
                      .requirement = "part p MUST have the columns floor(p n / P) .. "
                                     "floor((p+1) n / P) - 1, P = ceil(n / 6144)",
                      .comment = comment,
                      .flags = {"EDGE"},
                      .input = {{"width", json(Integer(n))}},
                      .output = {{"bounds", json(bounds)}}});
    }
}

void add_models(Document& document, const ParameterSet& set) {
    document.begin_group("hidden_model", for_owner, set);
    const auto add = [&](const char* comment, const std::vector<std::vector<float>>& W,
                         const char* flag) {
        std::vector<Json> rows;
        for (const std::vector<float>& row : W) rows.push_back(bits(row));
        const HiddenModel model = encode_rows(W);
        document.add({.clause = "HIDE-8",
                      .requirement =
                          "each row MUST be quantised as an activation is, to the norm B "
                          "of its width",
                      .comment = comment,
                      .flags = {flag},
                      .input = {{"W", list(rows)}},
                      .output = {{"W_int", json(model.W)}, {"row_scale", bits(model.row_scale)}}});
    };
    Numbers& numbers = document.numbers();
    add("one weight", {{0.5F}}, "EDGE");
    add("a row of zeros and one that is nearly zero", {{0, 0}, {0x1p-101F, 0}}, "ZERO");
    add("rows of other norms have one norm", {{1, 0, 0}, {0, -512, 1}, {0x1p-20F, 0, 0x1p-20F}},
        "SIGN");
    add("ordinary rows", {numbers.activations(70), numbers.activations(70)}, "DERIVED");
}

void add_hiding_keys(Document& document, const ParameterSet& set) {
    document.begin_group("hiding_key", for_owner, set);
    Numbers& numbers = document.numbers();
    const Key secret = numbers.key(), first = numbers.key(), second = numbers.key();
    const auto add = [&](const char* comment, const Key& seed, std::uint32_t group, const Matrix& W,
                         const char* flag) {
        document.add({.clause = "HIDE-3",
                      .requirement =
                          "the key MUST be SHA-256 of \"SLIP-2 hide\" || set || group || M "
                          "|| n || SHA-256(W') || public seed || secret",
                      .comment = comment,
                      .flags = {flag},
                      .input = {{"secret", hex(secret)},
                                {"public_seed", hex(seed)},
                                {"group", json(Integer(group))},
                                {"W", json(W)}},
                      .output = {{"key", hex(hiding_key(set, secret, seed, group, W))}}});
    };
    add("one weight", first, 0, {{1}}, "ORDER");
    add("another public seed", second, 0, {{1}}, "ORDER");
    add("another group", first, 1, {{1}}, "ORDER");
    add("a group of more than a byte", first, 0x01020304, {{1}}, "ORDER");
    add("a negative weight", first, 0, {{-1}}, "SIGN");
    add("the same entries as two rows", first, 0, {{1, 2}, {3, -300}}, "ORDER");
    add("the same entries as one row", first, 0, {{1, 2, 3, -300}}, "ORDER");
    add("ordinary weights", first, 7, numbers.matrix(5, 70, -2000, 2000), "DERIVED");
}

void add_secrets(Document& document, const ParameterSet& set) {
    Numbers& numbers = document.numbers();
    const Key key = numbers.key();
    const std::size_t N = set.lattice->N;
    document.begin_group("weight_secret", for_charlie, set);
    for (const auto& [block, element] :
         std::vector<std::pair<std::size_t, std::size_t>>{{0, 0}, {0, 8}, {3, 1}}) {
        const RingMatrix V = weight_secret(set, key, (block + 1) * N);
        document.add(
            {.clause = "HIDE-3",
             .requirement = "integer l N + a of block b's stream MUST be coefficient a of "
                            "V[b][l]",
             .comment = "block " + std::to_string(block) + ", element " + std::to_string(element),
             .flags = {"ORDER"},
             .input = {{"key", hex(key)},
                       {"block", json(Integer(block))},
                       {"element", json(Integer(element))}},
             .output = {{"coefficients", json(set.ring().lift(V[block][element]))}}});
    }
    document.begin_group("weight_error", for_owner, set);
    for (const auto& [row, n] :
         std::vector<std::pair<std::size_t, std::size_t>>{{0, 1}, {0, 64}, {5, 33}}) {
        document.add(
            {.clause = "HIDE-3",
             .requirement = "row i of E MUST be the small integers of stream (0, 8, i)",
             .comment = "row " + std::to_string(row) + " of " + std::to_string(n) + " columns",
             .flags = {"ORDER"},
             .input = {{"key", hex(key)}, {"row", json(Integer(row))}, {"width", json(Integer(n))}},
             .output = {
                 {"integers", json(weight_error(set, key, row + 1, n).transpose().column(row))}}});
    }
    document.begin_group("public_weights", for_david, set);
    for (const auto& [row, n] :
         std::vector<std::pair<std::uint32_t, std::uint32_t>>{{0, 1}, {1, 7}, {2303, 96}}) {
        const Vector residues =
            public_residues(set.planes, set.code, PublicPurpose::weights, n, row, key, n);
        document.add(
            {.clause = "HIDE-3",
             .requirement = "row l of U MUST be the n public residues with purpose 2, width n "
                            "and index l",
             .comment = "row " + std::to_string(row) + " of " + std::to_string(n) + " columns",
             .flags = {"ORDER"},
             .input = {{"public_seed", hex(key)},
                       {"row", json(Integer(row))},
                       {"width", json(Integer(n))}},
             .output = {{"residues", column(set, residues)}}});
    }
}

/// Groups of one or two columns: U alone has 2304 rows.
void add_matrices(Document& document, const ParameterSet& set) {
    document.begin_group("hidden_matrix", for_owner, set);
    Numbers& numbers = document.numbers();
    const auto add = [&](const char* comment, const Matrix& W, std::uint32_t group,
                         const char* flag) {
        const Key secret = numbers.key(), seed = numbers.key();
        const HiddenMatrix matrix = hide(set, secret, seed, group, W);
        const Matrix W_t = matrix.davids_weights();
        std::vector<Json> A;
        for (std::size_t j = 0; j < W.cols(); ++j) {
            Vector entries = W_t.column(j);
            entries.resize(W.rows());
            A.push_back(column(set, entries));
        }
        document.add({.clause = "HIDE-1",
                      .requirement = "A MUST be V^T U + W' + tau E mod L",
                      .comment = comment,
                      .flags = {flag},
                      .input = {{"secret", hex(secret)},
                                {"public_seed", hex(seed)},
                                {"group", json(Integer(group))},
                                {"W", json(W)}},
                      .output = {{"A", list(A)}}});
    };
    add("one weight", {{1}}, 0, "NEGACYCLIC");
    add("two rows, two columns", {{1, -2}, {-300, 400}}, 3, "NEGACYCLIC");
    add("258 rows: a second block of V begins", numbers.matrix(258, 1, -2000, 2000), 1, "TAIL");
}

void add_removals(Document& document, const ParameterSet& set) {
    document.begin_group("remove_weight_secret", for_charlie, set);
    Numbers& numbers = document.numbers();
    const std::size_t ell = set.lattice->N * set.lattice->d;
    const NegacyclicRing R(set.ring(), set.lattice->N);
    const auto add = [&](const char* comment, std::size_t M, const Vector& y_U, const char* flag) {
        const Key key = numbers.key();
        const Vector y_A = numbers.vector(M, 0, set.ring().modulus() - 1);
        Vector reply = y_A;
        reply.insert(reply.end(), y_U.begin(), y_U.end());
        const WeightSecret secret{weight_secret(set, key, M), M};
        document.add({.clause = "HIDE-4",
                      .requirement = "the result MUST be y_A - V^T y_U mod L, with X^N = -1",
                      .comment = comment,
                      .flags = {flag},
                      .input = {{"key", hex(key)},
                                {"rows", json(Integer(M))},
                                {"reply", column(set, reply)}},
                      .output = {{"y", column(set, secret.remove(R, reply))}}});
    };
    Vector unit(ell, 0);
    add("y_U is zero", 2, unit, "ZERO");
    unit[1] = 1;
    add("one entry of y_U is 1", 3, unit, "NEGACYCLIC");
    unit[1] = 0, unit[255] = 1, unit[2303] = set.ring().modulus() - 1;
    add("the ends of the first and of the last element", 3, unit, "NEGACYCLIC");
    add("an ordinary reply", 1, numbers.vector(ell, 0, set.ring().modulus() - 1), "DERIVED");
    add("rows of two blocks", 257, numbers.vector(ell, 0, set.ring().modulus() - 1), "TAIL");
}

void add_decodings(Document& document, const ParameterSet& set) {
    document.begin_group("unmask_hidden", for_charlie, set);
    Numbers& numbers = document.numbers();
    const Ring& ring = set.ring();
    const auto add = [&](const char* comment, std::size_t n, const Vector& Z, const Vector& B,
                         const char* flag) {
        const HiddenWidth& width = hidden_width(n);
        Vector Y;
        for (std::size_t i = 0; i < Z.size(); ++i) Y.push_back(ring.embed(Z[i] + width.tau * B[i]));
        const Vector c = numbers.vector(Y.size(), 0, ring.modulus() - 1), y = ring.add(Y, c);
        document.add(
            {.clause = "HIDE-5",
             .requirement = "the product MUST be the residue of Z mod s in -floor(s/2) .. "
                            "floor((s-1)/2)",
             .comment = comment,
             .flags = {flag},
             .input = {{"width", json(Integer(n))}, {"y", column(set, y)}, {"c", column(set, c)}},
             .output = {{"y_D", json(unmask(ring, width, y, c))}}});
    };
    for (const std::size_t n : {64U, 2048U, 6144U}) {
        const HiddenWidth& width = hidden_width(n);
        const Integer product = width.B * width.B, R = sqrt(width.R_square);
        const Integer noise = width.s * (75 * R / 8);
        const Integer beside = R * width.B + 75 * width.B / 8 + set.lattice->Delta;
        add("products without noise", n, {0, 1, -1, product, -product}, {0, 0, 0, 0, 0}, "SIGN");
        add("noise without products", n, {width.s, -width.s, 0, 0}, {0, 0, beside, -beside},
            "NOISE");
        add("the greatest sums, of either sign", n,
            {product + noise, noise - product, product - noise, -product - noise},
            {beside, -beside, beside, -beside}, "NOISE");
        add("the edges of the residue mod s", n,
            {width.s / 2, width.s / 2 + 1, -(width.s / 2), -(width.s / 2) - 1}, {1, -1, 2, -2},
            "EDGE");
        Vector Z, B;
        for (int i = 0; i < 17; ++i) {
            Z.push_back(numbers.between(-product, product) + width.s * numbers.between(-R, R));
            B.push_back(numbers.between(-beside, beside));
        }
        add("ordinary values", n, Z, B, "TAIL");
    }
}

}  // namespace

void hiding(Document& document) {
    const ParameterSet set = hidden();
    add_widths(document, set);
    add_parts(document, set);
    add_models(document, set);
    add_hiding_keys(document, set);
    add_secrets(document, set);
    add_matrices(document, set);
    add_removals(document, set);
    add_decodings(document, set);
    hidden_sessions(document);
}

}  // namespace slip::reference::vectors

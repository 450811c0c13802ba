#include "reference/ring.hpp"

#include "reference/vectors/document.hpp"

namespace slip::reference::vectors {

namespace {

void add_embedding(Document& document, const Profile& profile) {
    const Ring ring(profile.modulus);
    const Integer L = profile.modulus, half = (L - 1) / 2;
    document.begin_group("embed", {"arithmetic"}, profile);
    const auto add = [&](const char* comment, const Vector& values, const char* flag) {
        document.add({.clause = "RING-2",
                      .requirement = "embed(v) MUST be the representative of v in 0..L-1",
                      .comment = comment,
                      .flags = {flag},
                      .input = {{"values", json(values)}},
                      .output = {{"residues", json(ring.embed(values))}}});
    };
    add("zero and one", {0, 1}, "ZERO");
    add("minus one", {-1}, "SIGN");
    add("both edges of the centred range", {half, -half}, "EDGE");
    add("the greatest and the least quantised activation", {32767, -32767}, "SIGN");
    add("the modulus, and one beside it", {L - 1, L, L + 1, 1 - L, -L, -1 - L}, "EDGE");
    add("ordinary values", document.numbers().vector(12, -half, half), "DERIVED");

    document.begin_group("lift", {"arithmetic"}, profile);
    const auto lift = [&](const char* comment, const Vector& residues, const char* flag) {
        document.add({.clause = "RING-3",
                      .requirement = "lift(r) MUST be r up to (L-1)/2, and r - L beyond",
                      .comment = comment,
                      .flags = {flag},
                      .input = {{"residues", json(residues)}},
                      .output = {{"values", json(ring.lift(residues))}}});
    };
    lift("zero and one", {0, 1}, "ZERO");
    lift("the last positive and the first negative value", {half, half + 1}, "EDGE");
    lift("minus one", {L - 1}, "SIGN");
    lift("ordinary residues", document.numbers().vector(12, 0, L - 1), "DERIVED");
}

void add_arithmetic(Document& document, const Profile& profile) {
    const Ring ring(profile.modulus);
    const Integer L = profile.modulus;
    const Vector edges{0, 1, L - 1, (L - 1) / 2, (L + 1) / 2, L - 2};
    const auto add = [&](const char* name, const char* requirement, auto operation) {
        document.begin_group(name, {"arithmetic"}, profile);
        const auto both = [&](const char* comment, const Vector& a, const Vector& b,
                              const char* flag) {
            Vector result;
            for (std::size_t i = 0; i < a.size(); ++i) result.push_back(operation(a[i], b[i]));
            document.add({.clause = "RING-1",
                          .requirement = requirement,
                          .comment = comment,
                          .flags = {flag},
                          .input = {{"a", json(a)}, {"b", json(b)}},
                          .output = {{"result", json(result)}}});
        };
        Vector a, b;
        for (const Integer& x : edges) {
            for (const Integer& y : edges) {
                a.push_back(x);
                b.push_back(y);
            }
        }
        both("all pairs of edges", a, b, "EDGE");
        both("ordinary residues", document.numbers().vector(16, 0, L - 1),
             document.numbers().vector(16, 0, L - 1), "DERIVED");
    };
    add("ring_add", "a sum MUST be reduced to 0..L-1",
        [&](const Integer& x, const Integer& y) { return ring.add(x, y); });
    add("ring_subtract", "a difference MUST be reduced to 0..L-1",
        [&](const Integer& x, const Integer& y) { return ring.subtract(x, y); });
    add("ring_multiply", "a product MUST be reduced to 0..L-1",
        [&](const Integer& x, const Integer& y) { return ring.multiply(x, y); });
}

/// The residues as they are on the wire: residue_bytes each, least significant byte first.
Bytes encoded(const Profile& profile, const Vector& values) {
    Bytes bytes;
    for (Integer rest : values) {
        for (std::size_t i = 0; i < profile.residue_bytes; ++i, rest >>= 8) {
            bytes.push_back(static_cast<std::uint8_t>(rest & 255));
        }
    }
    return bytes;
}

void add_bytes(Document& document, const Profile& profile) {
    const Integer L = profile.modulus;
    const std::vector<std::pair<const char*, Vector>> samples{
        {"a residue whose bytes all differ", {0x01020304}},
        {"zero, one and the greatest residue", {0, 1, L - 1}},
        {"ordinary residues", document.numbers().vector(8, 0, L - 1)}};
    document.begin_group("residue_encode", {}, profile);
    for (const auto& [comment, residues] : samples) {
        document.add({.clause = "CONV-2",
                      .requirement = "a residue MUST be written little-endian in residue_bytes",
                      .comment = comment,
                      .flags = {"ENDIAN"},
                      .input = {{"residues", json(residues)}},
                      .output = {{"bytes", hex(encoded(profile, residues))}}});
    }
    document.begin_group("residue_decode", {}, profile);
    for (const auto& [comment, residues] : samples) {
        document.add({.clause = "CONV-2",
                      .requirement = "a residue MUST be read little-endian",
                      .comment = comment,
                      .flags = {"ENDIAN"},
                      .input = {{"bytes", hex(encoded(profile, residues))}},
                      .output = {{"residues", json(residues)}}});
    }
    const Integer top = (Integer(1) << (8 * profile.residue_bytes)) - 1;
    const Integer top_bit = Integer(1) << (8 * profile.residue_bytes - 1);
    const std::vector<std::pair<const char*, Vector>> refused{
        {"L itself, which is zero unreduced", {L}},
        {"a residue plus L", {3, L + 7, 5}},
        {"the top bit is set", {Integer(top_bit + 1)}},
        {"all bits are set", {0, top}}};
    for (const auto& [comment, residues] : refused) {
        document.add({.clause = "CONV-1",
                      .requirement = "a residue that is not below L MUST be refused, not reduced",
                      .comment = comment,
                      .flags = {"CANONICAL"},
                      .input = {{"bytes", hex(encoded(profile, residues))}},
                      .failure = Failure{"read residues", "WIRE-8"}});
    }
}

/// CONV-1. One residue per case, so that each is refused by itself.
void add_lifts_of_no_residue(Document& document, const Profile& profile) {
    const Integer all = (Integer(1) << (8 * profile.residue_bytes)) - 1;
    document.begin_group("lift", {"arithmetic"}, profile);
    for (const auto& [comment, residue] : std::vector<std::pair<const char*, Integer>>{
             {"L, which is another way to write 0", profile.modulus},
             {"L + 1", profile.modulus + 1},
             {"all bits set", all}}) {
        document.add({.clause = "CONV-1",
                      .requirement = "a number that is not in 0..L-1 MUST NOT be lifted",
                      .comment = comment,
                      .flags = {"CANONICAL"},
                      .input = {{"residues", json(Vector{1, residue})}},
                      .failure = Failure{"lift", "CONV-1"}});
    }
}

}  // namespace

void ring_edges(Document& document, const Profile& profile) {
    add_lifts_of_no_residue(document, profile);
}

void ring(Document& document) {
    add_embedding(document, p31());
    add_arithmetic(document, p31());
    add_bytes(document, p31());
}

}  // namespace slip::reference::vectors

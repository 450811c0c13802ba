#include "reference/planes.hpp"

#include "reference/vectors/document.hpp"

namespace slip::reference::vectors {

namespace {

void add_embedding(Document& document, const ParameterSet& set) {
    const Ring& ring = set.ring();
    const Integer L = set.ring().modulus(), half = (L - 1) / 2;
    document.begin_group("embed", {"arithmetic"}, set);
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

    document.begin_group("lift", {"arithmetic"}, set);
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

void add_arithmetic(Document& document, const ParameterSet& set) {
    const Ring& ring = set.ring();
    const Integer L = set.ring().modulus();
    const Vector edges{0, 1, L - 1, (L - 1) / 2, (L + 1) / 2, L - 2};
    const auto add = [&](const char* name, const char* requirement, auto operation) {
        document.begin_group(name, {"arithmetic"}, set);
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

/// RING-5 for sets of one to seven primes.
void add_planes(Document& document) {
    for (std::size_t count = 1; count <= all_primes.size(); ++count) {
        const Planes planes(std::vector<Integer>(
            all_primes.begin(), all_primes.begin() + static_cast<std::ptrdiff_t>(count)));
        const Integer L = planes.ring().modulus(), half = (L - 1) / 2;
        std::vector<std::string> roles{"randomness"};
        if (count == paper().planes.count()) roles = {};
        if (count == paper_lattice().planes.count()) roles = {"lattice"};
        const std::vector<std::pair<const char*, Vector>> samples{
            {"zero, one and the greatest residue", {0, 1, L - 1}},
            {"the edges of the centred range", {half, half + 1}},
            {"ordinary residues", document.numbers().vector(8, 0, L - 1)}};
        for (const bool encode : {true, false}) {
            document.begin_group(encode ? "residue_encode" : "residue_decode", roles);
            for (const auto& [comment, residues] : samples) {
                const Fields integers{{"residues", json(residues)}};
                const Fields bytes{{"bytes", hex(bytes_of(planes, residues))}};
                Case entry{.clause = "RING-5",
                           .requirement = "plane p of a residue MUST be its remainder mod prime p",
                           .comment = comment,
                           .flags = {"PLANE"},
                           .input = {{"planes", json(Integer(count))}},
                           .output = encode ? bytes : integers};
                entry.input.push_back(encode ? integers.front() : bytes.front());
                document.add(entry);
            }
        }
    }
}

/// Plane p of the bytes, entry i of n, becomes the plane's prime.
Bytes with_prime(const ParameterSet& set, Bytes bytes, std::size_t p, std::size_t i) {
    const std::size_t n = bytes.size() / set.planes.count();
    bytes[p * n + i] = set.planes.primes()[p].convert_to<std::uint8_t>();
    return bytes;
}

void add_no_residues(Document& document) {
    const ParameterSet set = paper();
    const Integer L = set.ring().modulus(), h = set.planes.count();
    document.begin_group("residue_encode", {});
    for (const auto& [comment, residue] :
         std::vector<std::pair<const char*, Integer>>{{"L", L}, {"L + 7", L + 7}, {"-1", -1}}) {
        document.add({.clause = "CONV-1",
                      .requirement = "a number that is not in 0..L-1 MUST be refused, not reduced",
                      .comment = comment,
                      .flags = {"CANONICAL"},
                      .input = {{"planes", json(h)}, {"residues", json(Vector{3, residue})}},
                      .failure = Failure{"write residues", "CONV-1"}});
    }
    document.begin_group("residue_decode", {});
    const auto refused = [&](const char* comment, const Bytes& bytes) {
        document.add({.clause = "CONV-1",
                      .requirement = "a byte that is not below its prime MUST be refused",
                      .comment = comment,
                      .flags = {"CANONICAL"},
                      .input = {{"planes", json(h)}, {"bytes", hex(bytes)}},
                      .failure = Failure{"read residues", "WIRE-8"}});
    };
    const Bytes right = bytes_of(set.planes, {L - 1, 5});
    for (std::size_t p = 0; p < set.planes.count(); ++p) {
        refused("a byte that is the prime", with_prime(set, right, p, 1));
        Bytes all_bits = right;
        all_bits[2 * p] = 255;
        refused("a byte of 255", all_bits);
    }
    refused("a length that is no multiple of the planes", Bytes(right.begin(), right.end() - 1));
}

/// CONV-1. One residue per case, so that each is refused by itself.
void add_lifts_of_no_residue(Document& document, const ParameterSet& set) {
    const Integer all = (Integer(1) << (8 * set.planes.count())) - 1;
    document.begin_group("lift", {"arithmetic"}, set);
    for (const auto& [comment, residue] : std::vector<std::pair<const char*, Integer>>{
             {"L, which is another way to write 0", set.ring().modulus()},
             {"L + 1", set.ring().modulus() + 1},
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

void ring_edges(Document& document, const ParameterSet& set) {
    add_lifts_of_no_residue(document, set);
}

void ring(Document& document) {
    add_embedding(document, paper());
    add_arithmetic(document, paper());
    add_planes(document);
    add_no_residues(document);
    add_embedding(document, paper_lattice());
    add_arithmetic(document, paper_lattice());
}

}  // namespace slip::reference::vectors

#include "reference/randomness.hpp"

#include "reference/vectors/document.hpp"

namespace slip::reference::vectors {

namespace {

void add_keystream(Document& document) {
    const auto add = [&](const char* comment, const Key& key, std::size_t plane, Purpose purpose,
                         std::uint64_t index, std::size_t count, const char* flag) {
        const Bytes bytes = Keystream(key, purpose, index, plane).take(count);
        document.add({.clause = "RAND-1",
                      .requirement = "the stream MUST be AES-256 of field[4] || index[8] || "
                                     "counter[4], each big-endian, field = 256 plane + purpose",
                      .comment = comment,
                      .flags = {flag},
                      .input = {{"key", hex(key)},
                                {"plane", json(Integer(plane))},
                                {"purpose", json(Integer(static_cast<int>(purpose)))},
                                {"index", json(Integer(index))},
                                {"count", json(Integer(count))}},
                      .output = {{"bytes", hex(bytes)}}});
    };
    document.begin_group("keystream", {"keystream"});
    add("the zero key, one block", Key{}, 0, Purpose::mask, 0, 16, "ZERO");
    const Key key = document.numbers().key();
    add("a mask, three blocks and a part", key, 0, Purpose::mask, 0, 53, "DERIVED");
    add("the next plane of the same mask", key, 1, Purpose::mask, 0, 32, "PLANE");
    add("the last plane that a set can have", key, 6, Purpose::mask, 0, 32, "PLANE");
    add("combination 0 of a check", key, 0, Purpose::integrity, 0, 32, "BLOCK");
    add("combination 7, plane 3", key, 3, Purpose::integrity, 7, 32, "PLANE");
    add("a selection", key, 0, Purpose::selection, 2, 32, "BLOCK");
    add("mask 1", key, 0, Purpose::mask, 1, 32, "BLOCK");
    add("an index whose bytes all differ", key, 2, Purpose::mask, 0x0102030405060708, 32, "ENDIAN");
    add("an index beyond 32 bits", key, 0, Purpose::mask, std::uint64_t{1} << 32, 16, "BLOCK");
    add("the greatest index", key, 0, Purpose::mask, ~std::uint64_t{0}, 16, "EDGE");
    add("more than 256 blocks: the counter carries", key, 0, Purpose::mask, 5, 257 * 16, "BLOCK");
}

/// A word of the stream, little-endian.
void append(Bytes& bytes, std::size_t word_bytes, Integer value) {
    for (std::size_t i = 0; i < word_bytes; ++i, value >>= 8) {
        bytes.push_back(static_cast<std::uint8_t>(value & 255));
    }
}

/// Words that are kept, and words that are not, modulo m.
void add_sampler(Document& document, const Integer& m) {
    const Sampler sampler{Ring(m)};
    const Integer all = (Integer(1) << (8 * sampler.word_bytes())) - 1;
    const Integer low = (Integer(1) << sampler.bits()) - 1;
    const auto add = [&](const char* comment, const std::vector<Integer>& words, std::size_t count,
                         const char* flag) {
        Bytes bytes;
        for (const Integer& word : words) append(bytes, sampler.word_bytes(), word);
        FixedBytes source(bytes);
        const Sample sample = sampler.draw(source, count);
        Vector rejected;
        for (std::size_t position : sample.rejected) rejected.push_back(position);
        document.add({.clause = "RAND-2",
                      .requirement = "a word whose low e bits are not below the modulus MUST be "
                                     "discarded, and the next word used",
                      .comment = comment,
                      .flags = {flag},
                      .input = {{"modulus", json(m)},
                                {"bytes", hex(bytes)},
                                {"count", json(Integer(count))}},
                      .output = {{"residues", json(sample.residues)}},
                      .intermediate = {{"rejectedWords", json(rejected)}}});
    };
    add("the greatest residue is accepted", {m - 1, 0}, 2, "EDGE");
    std::vector<Integer> ordinary = document.numbers().vector(24, 0, m - 1);
    add("ordinary words", ordinary, 24, "DERIVED");
    if (low < m) return;  // every word is accepted
    add("the modulus itself: discarded", {m, 1}, 1, "REJECTION");
    add("the low bits are all ones: discarded", {low, 0}, 1, "REJECTION");
    add("discarded words at the start, in the middle and in a row", {m, 1, low, all, 0, m, m - 1},
        3, "REJECTION");
    for (std::size_t i = 0; i < ordinary.size(); i += 7) ordinary[i] = i % 2 == 0 ? m : low;
    add("ordinary words between discarded ones", ordinary, 20, "REJECTION");
    if (all > low) add("bits above e are ignored", {low + 1, low + m}, 2, "TOP_BIT");
}

/// The planes that a set has and `paper` does not.
void add_samplers_of(Document& document, const ParameterSet& set) {
    for (std::size_t p = paper().planes.count(); p < set.planes.count(); ++p) {
        document.begin_group("sample", {"charlie"}, set);
        add_sampler(document, set.planes.primes()[p]);
    }
}

void add_samplers(Document& document) {
    document.begin_group("sample", {"charlie"});
    const ParameterSet set = paper();
    for (const Integer& prime : set.planes.primes()) add_sampler(document, prime);
    document.begin_group("sample", {"randomness"});
    const Integer one = 1;
    const std::vector<Integer> others{
        2, 3, 13, 128, 257, 65537, (one << 31) - 1, (one << 61) - 1, (one << 64) + 13};
    for (const Integer& modulus : others) {
        add_sampler(document, modulus);
    }
}

void add_public_residues(Document& document, const ParameterSet& set) {
    document.begin_group("public_residues", {set.lattice ? "charlie" : "randomness"}, set);
    const Key seed = document.numbers().key();
    const auto add = [&](const char* comment, PublicPurpose purpose, std::uint32_t width,
                         std::uint32_t index, std::size_t count) {
        Bytes bytes;
        for (std::size_t p = 0; p < set.planes.count(); ++p) {
            const Bytes input = public_input(set.code, purpose, p, width, index, seed);
            for (const Integer& residue :
                 public_residues(Ring(set.planes.primes()[p]), input, count)) {
                bytes.push_back(residue.convert_to<std::uint8_t>());
            }
        }
        document.add({.clause = "RAND-8",
                      .requirement = "public residues MUST be sampled from SHAKE-128 of the "
                                     "description and the seed",
                      .comment = comment,
                      .flags = {"ENDIAN"},
                      .input = {{"seed", hex(seed)},
                                {"purpose", json(Integer(static_cast<int>(purpose)))},
                                {"width", json(Integer(width))},
                                {"index", json(Integer(index))},
                                {"count", json(Integer(count))}},
                      .output = {{"residues", hex(bytes)}}});
    };
    add("one residue", PublicPurpose::masks, 1, 0, 1);
    add("more than a block", PublicPurpose::masks, 4096, 1, 200);
    if (!set.lattice) add("the other purpose", PublicPurpose::weights, 4096, 1, 20);
    add("numbers whose bytes all differ", PublicPurpose::masks, 0x05060708, 0x01020304, 20);
}

void add_streams(Document& document, const ParameterSet& set) {
    const Key key = document.numbers().key();
    document.begin_group("draw_mask", {"charlie"}, set);
    const std::vector<std::pair<std::uint64_t, std::size_t>> masks{
        {0, 1}, {0, 5}, {1, 5}, {2, 33}, {std::uint64_t{1} << 40, 7}, {255, 64}, {256, 64}};
    for (const auto& [index, n] : masks) {
        const Vector mask = uniform_residues(set.planes, key, Purpose::mask, index, n);
        document.add(
            {.clause = "MASK-1",
             .requirement = "plane p of a mask MUST be the first n residues of stream "
                            "(p, 1, mask index)",
             .comment = "index " + std::to_string(index) + ", n = " + std::to_string(n),
             .flags = {"PLANE"},
             .input = {{"key", hex(key)}, {"index", json(Integer(index))}, {"n", json(Integer(n))}},
             .output = {{"mask", column(set, mask)}}});
    }
}

}  // namespace

void randomness(Document& document) {
    add_keystream(document);
    add_samplers(document);
    add_public_residues(document, paper());
    add_streams(document, paper());
    add_samplers_of(document, paper_lattice());
    add_public_residues(document, paper_lattice());
    add_streams(document, paper_lattice());
    lattice_randomness(document, paper_lattice());
}

}  // namespace slip::reference::vectors

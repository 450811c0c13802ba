#include "reference/randomness.hpp"

#include "reference/vectors/document.hpp"

namespace slip::reference::vectors {

namespace {

Json hex(const Key& key) { return vectors::hex(Bytes(key.begin(), key.end())); }

void add_keystream(Document& document) {
    const auto add = [&](const char* comment, const Key& key, Tag tag, std::uint64_t index,
                         std::size_t count, const char* flag) {
        document.add({.clause = "RAND-1",
                      .requirement = "the stream MUST be AES-256 of tag[4] || index[8] || "
                                     "counter[4], each big-endian",
                      .comment = comment,
                      .flags = {flag},
                      .input = {{"key", hex(key)},
                                {"tag", json(Integer(static_cast<std::uint32_t>(tag)))},
                                {"index", json(Integer(index))},
                                {"count", json(Integer(count))}},
                      .output = {{"bytes", vectors::hex(Keystream(key, tag, index).take(count))}}});
    };
    document.begin_group("keystream", {"keystream"});
    add("the zero key, one block", Key{}, Tag::mask, 0, 16, "ZERO");
    const Key key = document.numbers().key();
    add("a mask, three blocks and a part", key, Tag::mask, 0, 53, "DERIVED");
    add("rho of group 0 shares no block with mask 0", key, Tag::integrity, 0, 32, "BLOCK");
    add("mask 1", key, Tag::mask, 1, 32, "BLOCK");
    add("an index whose bytes all differ", key, Tag::mask, 0x0102030405060708, 32, "ENDIAN");
    add("an index beyond 32 bits", key, Tag::mask, std::uint64_t{1} << 32, 16, "BLOCK");
    add("the greatest index", key, Tag::mask, ~std::uint64_t{0}, 16, "EDGE");
    add("more than 256 blocks: the counter carries", key, Tag::mask, 5, 257 * 16, "BLOCK");
}

/// A word of the stream, little-endian.
void append(Bytes& bytes, std::size_t word_bytes, Integer value) {
    for (std::size_t i = 0; i < word_bytes; ++i, value >>= 8) {
        bytes.push_back(static_cast<std::uint8_t>(value & 255));
    }
}

void add_sampler(Document& document, const Profile& profile) {
    const Sampler sampler{Ring(profile.modulus)};
    const Integer L = profile.modulus, all = (Integer(1) << (8 * sampler.word_bytes())) - 1;
    const auto add = [&](const char* comment, const std::vector<Integer>& words, std::size_t count,
                         const char* flag) {
        Bytes bytes;
        for (const Integer& word : words) append(bytes, sampler.word_bytes(), word);
        FixedBytes source(bytes);
        const Sample sample = sampler.draw(source, count);
        Vector rejected;
        for (std::size_t position : sample.rejected) rejected.push_back(position);
        document.add({.clause = "RAND-2",
                      .requirement = "a word whose low e bits are not below L MUST be discarded, "
                                     "and the next word used",
                      .comment = comment,
                      .flags = {flag},
                      .input = {{"bytes", vectors::hex(bytes)}, {"count", json(Integer(count))}},
                      .output = {{"residues", json(sample.residues)}},
                      .intermediate = {{"rejectedWords", json(rejected)}}});
    };
    document.begin_group("sample", {"charlie"}, profile);
    add("ordinary words", document.numbers().vector(24, 0, all), 24, "DERIVED");
    add("the low bits are all ones, the rest zero: discarded", {L, 5}, 1, "REJECTION");
    add("all bits are ones: discarded", {all, 6}, 1, "REJECTION");
    add("bits above e are ignored", {all - L + 1, all - L + 8, all - 1}, 3, "TOP_BIT");
    add("the greatest residue is accepted", {L - 1, 0}, 2, "EDGE");
    add("three discarded words in a row", {1, all, L, all, 2, 3}, 3, "REJECTION");
    add("discarded words at the start and in the middle", {L, 9, L, 8, all, 7}, 3, "REJECTION");
    add("discarded words at the ends of blocks", {10, 11, 12, L, 13, 14, 15, all, 16, 17, 18, 19},
        10, "REJECTION");
    std::vector<Integer> words = document.numbers().vector(40, 0, all);
    for (std::size_t i = 0; i < words.size(); i += 7) words[i] = i % 2 == 0 ? L : all;
    add("ordinary words between discarded ones", words, 34, "REJECTION");
}

void add_streams(Document& document, const Profile& profile) {
    const Ring ring(profile.modulus);
    const Key key = document.numbers().key();
    document.begin_group("draw_mask", {"charlie"}, profile);
    const std::vector<std::pair<std::uint64_t, std::size_t>> masks{
        {0, 1}, {0, 5}, {1, 5}, {2, 33}, {std::uint64_t{1} << 40, 7}, {255, 64}, {256, 64}};
    for (const auto& [index, n] : masks) {
        document.add(
            {.clause = "MASK-1",
             .requirement = "a mask MUST be the first n residues of stream (1, mask index)",
             .comment = "index " + std::to_string(index) + ", n = " + std::to_string(n),
             .flags = {"DERIVED"},
             .input = {{"key", hex(key)}, {"index", json(Integer(index))}, {"n", json(Integer(n))}},
             .output = {{"mask", json(uniform_residues(ring, key, Tag::mask, index, n))}}});
    }
}

}  // namespace

void randomness(Document& document) {
    add_keystream(document);
    add_sampler(document, p31());
    add_streams(document, p31());
}

}  // namespace slip::reference::vectors

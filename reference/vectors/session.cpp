#include "reference/session.hpp"

#include "reference/vectors/document.hpp"
#include "reference/vectors/session_cases.hpp"

namespace slip::reference::vectors {

namespace {

void add_good_davids(Document& document, const Scene& scene) {
    const auto add = [&](const char* comment, const std::vector<Bytes>& frames) {
        add_david(document, scene, "SESS-1", "David MUST answer each frame of a good session",
                  comment, "ORDER", frames);
    };
    const Bytes close = scene.frame(Close{}), abort = scene.frame(Abort{});
    add("HELLO and CLOSE", {scene.hello(), close});
    add("HELLO and ABORT", {scene.hello(), abort});
    add("one message", {scene.hello(), scene.apply(0), close});
    add("three messages to two groups",
        {scene.hello(), scene.apply(0), scene.other_apply(1), scene.apply(2), close});
    add_david(document, scene, "SESS-4", "after CLOSE nothing MUST be answered",
              "an APPLY after CLOSE", "AFTER_END",
              {scene.hello(), scene.apply(0), close, scene.apply(1)});
    add_david(document, scene, "SESS-4", "after ABORT nothing MUST be answered",
              "traffic after ABORT", "AFTER_END",
              {scene.hello(), scene.apply(0), abort, scene.apply(1), scene.hello()});
}

void add_refusing_davids(Document& document, const Scene& scene) {
    const auto add = [&](const char* clause, const char* requirement, const char* comment,
                         const char* flag, const std::vector<Bytes>& frames) {
        add_david(document, scene, clause, requirement, comment, flag, frames);
    };
    Digest other = scene.digest;
    other[31] ^= 1;
    const std::uint8_t number = scene.set.code;
    const auto hello = [&](std::uint16_t version, std::uint8_t set, const Digest& digest) {
        return scene.frame(Hello{version, set, digest});
    };
    const char* dictated = "David MUST refuse what he does not hold, by the first that differs";
    const std::uint8_t wrong = number == 1 ? 2 : 1;
    add("SESS-2", dictated, "version 1", "DOWNGRADE", {hello(1, number, scene.digest)});
    add("SESS-2", dictated, "version 0", "DOWNGRADE", {hello(0, number, scene.digest)});
    add("SESS-2", dictated, "version 512: its high byte is 2", "ENDIAN",
        {hello(512, number, scene.digest)});
    add("SESS-2", dictated, wrong == 2 ? "set 2" : "set 1", "DOWNGRADE",
        {hello(2, wrong, scene.digest)});
    add("SESS-2", dictated, "set 0", "DOWNGRADE", {hello(2, 0, scene.digest)});
    add("SESS-2", dictated, "another digest", "DOWNGRADE", {hello(2, number, other)});
    add("SESS-2", dictated, "everything differs: the version counts", "ORDER",
        {hello(1, wrong, other)});
    add("SESS-2", dictated, "set and digest differ: the set counts", "ORDER",
        {hello(2, wrong, other)});

    const char* order = "a frame that this state does not allow MUST be refused with reason 5";
    add("SESS-1", order, "APPLY before HELLO", "STATE", {scene.short_apply()});
    add("SESS-1", order, "CLOSE before HELLO", "STATE", {scene.frame(Close{})});
    add("SESS-1", order, "ABORT before HELLO", "STATE", {scene.frame(Abort{})});
    add("SESS-1", order, "a second HELLO", "STATE", {scene.hello(), scene.hello()});
    add("SESS-1", order, "READY from Charlie", "STATE", {scene.hello(), scene.frame(Ready{})});
    add("SESS-1", order, "REFUSE from Charlie", "STATE",
        {scene.hello(), scene.frame(Refuse{RefuseReason::busy})});
    add("SESS-1", order, "REPLY from Charlie", "STATE",
        {scene.hello(), scene.frame(Reply{0, 0, Matrix(3, 1)})});
    const char* sequence = "an APPLY with another sequence MUST be refused with reason 5";
    add("SESS-3", sequence, "the first sequence is 1", "REPLAY", {scene.hello(), scene.apply(1)});
    add("SESS-3", sequence, "a sequence is repeated", "REPLAY",
        {scene.hello(), scene.apply(0), scene.apply(0)});
    add("SESS-3", sequence, "a sequence is left out", "REPLAY",
        {scene.hello(), scene.apply(0), scene.other_apply(2)});
    add("SESS-3", sequence, "a sequence 2^32 higher", "ENDIAN",
        {scene.hello(), scene.apply(std::uint64_t{1} << 32)});

    Bytes unknown = scene.apply(0);
    unknown[13] = 2;
    add("WIRE-7", "an APPLY to an unknown group MUST be refused with reason 6", "group 2 of 2",
        "EDGE", {scene.hello(), unknown});
    const char* malformed = "a frame that is not canonical MUST be refused with reason 4";
    Bytes residue = scene.apply(0);
    residue.back() = 255;
    add("WIRE-8", malformed, "a byte is not below its prime", "CANONICAL",
        {scene.hello(), residue});
    for (std::size_t p = 0; p < scene.set.planes.count(); ++p) {
        Bytes prime = scene.apply(0);
        prime[21 + 2 * p] = scene.set.planes.primes()[p].convert_to<std::uint8_t>();
        add("WIRE-8", malformed, "a byte is its prime", "CANONICAL", {scene.hello(), prime});
    }
    Bytes swapped = scene.apply(0);
    swapped[13] = 1;
    add("WIRE-8", malformed, "the residues have the shape of another group", "LENGTH",
        {scene.hello(), swapped});
    Bytes magic = scene.hello();
    magic[5] = 'X';
    add("WIRE-8", malformed, "HELLO with another magic", "UNKNOWN_CODE", {magic});
    add("WIRE-8", malformed, "an unknown type", "UNKNOWN_CODE", {scene.hello(), {1, 0, 0, 0, 9}});
    add("SESS-4", "after REFUSE nothing MUST be answered", "a good frame after a bad one",
        "AFTER_END", {scene.hello(), {1, 0, 0, 0, 9}, scene.apply(0)});
}

constexpr const char* dies = "any other frame MUST end the session with a ProtocolError";

void add_unexpected_frames(CharlieCases& cases, const Scene& scene) {
    const std::vector<Bytes> honest = cases.honest();
    const auto dead = [&](const char* clause, const char* comment, const char* flag,
                          std::size_t position, const Bytes& frame) {
        cases.add(clause, dies, comment, flag, followed_by(honest, position, frame));
    };
    dead("SESS-3", "the sequence is not echoed", "REPLAY", 1, flipped(honest[1], 5));
    dead("SESS-3", "the group is not echoed", "REPLAY", 1, flipped(honest[1], 13));
    dead("SESS-3", "the same reply again", "REPLAY", 4, honest[3]);
    dead("SESS-1", "REFUSE in place of READY", "STATE", 0, scene.frame(Refuse{RefuseReason::busy}));
    dead("SESS-1", "REFUSE in place of a REPLY", "STATE", 2,
         scene.frame(Refuse{RefuseReason::out_of_order}));
    dead("SESS-1", "a REPLY in place of READY", "STATE", 0, honest[1]);
    dead("SESS-1", "a second READY", "STATE", 1, honest[0]);
    dead("SESS-1", "ABORT from David", "STATE", 1, scene.frame(Abort{}));
    dead("SESS-1", "CLOSE from David", "STATE", 1, scene.frame(Close{}));
    dead("SESS-1", "HELLO from David", "STATE", 0, scene.hello());
    dead("WIRE-8", "an unknown type", "UNKNOWN_CODE", 1, {1, 0, 0, 0, 8});
}

void add_ended_streams(CharlieCases& cases) {
    const std::vector<Bytes> honest = cases.honest();
    const char* ends = "the end of the stream MUST end the session with a ProtocolError";
    cases.add("SESS-4", ends, "no answer to HELLO", "STATE", {});
    cases.add("SESS-4", ends, "no answer to the second message", "STATE", {honest[0], honest[1]});
}

void add_charlies(Document& document, const Scene& scene) {
    Numbers& numbers = document.numbers();
    const Matrix one = numbers.matrix(2, 1, -1000, 1000);
    CharlieCases cases(document, scene,
                       {{0, numbers.matrix(2, 2, -1000, 1000)},
                        {1, numbers.matrix(5, 1, -1000, 1000)},
                        {0, one},
                        {0, one}});
    const std::vector<Bytes> honest = cases.honest();
    const auto with = [&](std::size_t position, const Bytes& frame) {
        return followed_by(honest, position, frame);
    };
    cases.add("MASK-5", "each column MUST have its own mask index, also for an equal activation",
              "a whole session of Charlie", "MASK_REUSE", honest);
    const char* rejects = "a wrong REPLY MUST be rejected with ABORT, and nothing sent after it";
    cases.add("INTEG-6", rejects, "a byte of the first reply has its lowest bit flipped",
              "WRONG_REPLY", with(1, flipped(honest[1], 21)));
    for (std::size_t p = 0; p < scene.set.planes.count(); ++p) {
        cases.add("INTEG-6", rejects, "a residue of the last reply is wrong in one plane",
                  "WRONG_REPLY", with(4, wrong_in_a_plane(scene.set, honest[4], 3, 3 * p + 2)));
    }
    cases.add("INTEG-6", rejects, "two planes are exchanged", "PLANE",
              with(2, with_planes_exchanged(honest[2], 4)));
    Bytes replay = honest[3];
    replay[5] = 3;
    cases.add("INTEG-6", rejects, "the reply to the message before, with the new sequence",
              "REPLAY", with(4, replay));
    if (!scene.set.lattice) add_unexpected_frames(cases, scene);
    for (std::size_t p = 0; p < scene.set.planes.count(); ++p) {
        Bytes residue = honest[1];
        residue[21 + 3 * p + 1] = scene.set.planes.primes()[p].convert_to<std::uint8_t>();
        cases.add("WIRE-8", dies, "a byte is its prime", "CANONICAL", with(1, residue));
    }
    if (!scene.set.lattice) add_ended_streams(cases);
}

/// MASK-9. A message that uses up a block, and the groups' next masks after it.
void add_second_block(Document& document, const ParameterSet& set) {
    Numbers& numbers = document.numbers();
    const Scene scene(numbers, set, {numbers.matrix(1, 2, -127, 127), Matrix{{-127}}});
    CharlieCases cases(document, scene,
                       {{1, numbers.matrix(1, 257, -4832, 4832)},
                        {0, numbers.matrix(2, 1, -3000, 3000)},
                        {1, numbers.matrix(1, 1, -4832, 4832)}});
    cases.add("MASK-5", "a block MUST serve one group, and each of its 256 masks one column",
              "257 columns, then the other group, then the first again", "BLOCK_NUMBER",
              cases.honest());
}

/// WIRE-7. Where several reasons apply, the one that comes first.
void add_precedence(Document& document, const Scene& scene) {
    const auto add = [&](const char* comment, const std::vector<Bytes>& frames) {
        add_david(document, scene, "WIRE-7",
                  "of several reasons that apply David MUST give the first", comment, "ORDER",
                  frames);
    };
    const auto serving = [&](const char* comment, const Bytes& frame) {
        add(comment, {scene.hello(), frame});
    };
    const auto with = [](Bytes frame, std::size_t offset, std::initializer_list<int> bytes) {
        for (const int byte : bytes) frame[offset++] = static_cast<std::uint8_t>(byte);
        return frame;
    };
    const auto longer = [](Bytes frame) {
        frame.push_back(0);
        ++frame[0];
        return frame;
    };
    const std::size_t last = scene.apply(0).size() - 1;  // 255 is above every prime
    const Bytes apply = scene.apply(0), unknown = with(apply, 13, {2});
    document.begin_group("david_session", {"david"}, scene.set);
    serving("no columns, and the group is unknown: malformed", with(unknown, 17, {0}));
    serving("4097 columns, and the sequence is wrong: malformed",
            with(scene.apply(1), 17, {1, 16}));
    serving("the header is cut, and the sequence is wrong: malformed", [&] {
        Bytes cut = scene.apply(1);
        cut.resize(4 + 16);
        cut[0] = 16;
        return cut;
    }());
    serving("the sequence is wrong, and the group is unknown: out of order",
            with(scene.apply(1), 13, {2}));
    serving("the sequence is wrong, and a byte is not below its prime: out of order",
            with(scene.apply(1), last, {255}));
    serving("the group is unknown, and the length is no multiple of a residue's: unknown group",
            longer(unknown));
    serving("the group is unknown, and a byte is not below its prime: unknown group",
            with(unknown, last, {255}));
    serving("a REPLY that names an unknown group: out of order",
            with(scene.frame(Reply{0, 0, Matrix(3, 1)}), 13, {2}));
    serving("a second HELLO, with another magic: malformed", with(scene.hello(), 5, {'X'}));
    serving("READY with a body: malformed", {2, 0, 0, 0, 2, 0});
    add("HELLO with another magic and another version: malformed",
        {with(scene.hello(), 5, {'X', 'L', 'I', 'P', 2})});
    add("APPLY to an unknown group before HELLO: out of order",
        {with(scene.short_apply(), 13, {2})});
    add("APPLY before HELLO, and a byte is not below its prime: malformed",
        {with(scene.short_apply(), scene.short_apply().size() - 1, {255})});
}

/// WIRE-7. A length that only a David who serves accepts.
void add_length_before_hello(Document& document, const Scene& scene) {
    const Vector column = scene.first.column(0);
    const Bytes apply =
        encode(Apply{0, 0, Matrix::from_columns(2, {column, column, column})}, scene.shapes);
    require(apply.size() == 4 + 41, "the length is the first that is too long");
    const Json malformed = hex(encode(Refuse{RefuseReason::malformed}, scene.shapes));
    document.add(
        {.clause = "WIRE-7",
         .requirement = "a length that the state does not allow MUST be refused with reason 4",
         .comment = "an APPLY of length 41 before HELLO: malformed",
         .flags = {"LENGTH"},
         .input = {{"digest", hex(scene.digest)},
                   {"groups", scene.groups()},
                   {"frames", frames_of({apply})}},
         .output = {{"answers", list({malformed})}},
         .failure = Failure{"receive a frame", "WIRE-7"}});
}

/// SESS-3. Replies that answer another message, and whose length fits all the same.
void add_echoes(Document& document, const ParameterSet& set) {
    Numbers& numbers = document.numbers();
    const Scene scene(numbers, set,
                      {numbers.matrix(3, 2, -127, 127), numbers.matrix(3, 2, -127, 127)});
    CharlieCases cases(
        document, scene,
        {{0, numbers.matrix(2, 2, -1000, 1000)}, {1, numbers.matrix(2, 1, -1000, 1000)}});
    const std::vector<Bytes>& honest = cases.honest();
    const auto add = [&](const char* comment, const Bytes& reply) {
        cases.add("SESS-3", "a REPLY with another group or number of columns MUST end the session",
                  comment, "REPLAY", {honest[0], reply});
    };
    const Matrix right = std::get<Reply>(decode(honest[1], scene.shapes)).residues;
    const auto columns_of = [&](const std::vector<Vector>& kept) {
        return scene.frame(Reply{0, 0, Matrix::from_columns(3, kept)});
    };
    document.begin_group("charlie_session", {"charlie"}, set);
    add("the right residues, with the other group of the same shape",
        scene.frame(Reply{0, 1, right}));
    add("the first of two columns", columns_of({right.column(0)}));
    add("a third column", columns_of({right.column(0), right.column(1), right.column(0)}));
}

/// David's frames around 2^26 bytes, with a group of one row or one column of ones.
class LargeMessage {
public:
    LargeMessage(const ParameterSet& set, std::size_t M, std::size_t n)
        : shapes_{set, {{0, {n, M}}}}, rows_(M), inputs_(n) {}

    /// HELLO, and an APPLY of 4096 columns of ones.
    Json frames() const {
        const Bytes hello = encode(Hello{protocol_version, shapes_.set.code, Digest{}}, shapes_);
        return list({hex(hello), columns_frame(3, inputs_, Bytes{1})});
    }

    Fields input() const {
        return {{"digest", hex(Bytes(32))},
                {"groups", list({repeated(repeated(1, inputs_), rows_)})},
                {"frames", frames()}};
    }

    /// What David answers to a message that fits: every residue is n mod L, of one row.
    Json reply() const {
        return columns_frame(4, rows_, bytes_of(shapes_.set.planes, {Integer(inputs_)}));
    }

    Json ready() const { return hex(encode(Ready{}, shapes_)); }
    Json malformed() const { return hex(encode(Refuse{RefuseReason::malformed}, shapes_)); }

private:
    /// A whole APPLY or REPLY of message 0 to group 0: `unit`, of one plane or of all, as often as
    /// 4096 columns of `rows` residues have it.
    Json columns_frame(std::uint8_t type, std::size_t rows, const Bytes& unit) const {
        const std::size_t bytes = largest_columns * rows * shapes_.set.planes.count();
        Bytes head = little_endian_bytes(17 + bytes, 4);
        head.push_back(type);
        head.resize(17);  // sequence 0, group 0
        const Bytes columns = little_endian_bytes(largest_columns, 4);
        head.insert(head.end(), columns.begin(), columns.end());
        return hex(head, unit, bytes / unit.size());
    }

    static Bytes little_endian_bytes(std::uint64_t value, std::size_t count) {
        Bytes bytes;
        for (std::size_t i = 0; i < count; ++i, value >>= 8) {
            bytes.push_back(static_cast<std::uint8_t>(value & 255));
        }
        return bytes;
    }

    Shapes shapes_;
    std::size_t rows_, inputs_;
};

/// Messages as large as PARAM-3 allows, and one that is larger.
void add_large_messages(Document& document, const ParameterSet& set) {
    document.begin_group("david_session", {"david"}, set);
    const std::size_t half = largest_residue_bytes / set.planes.count() / largest_columns;
    const LargeMessage wide(set, 1, half), high(set, half + 1, 1);
    document.add({.clause = "PARAM-3",
                  .requirement = "an APPLY of 2^26 bytes of residues MUST be answered",
                  .comment = "4096 columns of " + std::to_string(half) + " residues",
                  .flags = {"EDGE"},
                  .input = wide.input(),
                  .output = {{"answers", list({wide.ready(), wide.reply()})}}});
    document.add({.clause = "PARAM-3",
                  .requirement =
                      "an APPLY whose REPLY would exceed 2^26 bytes MUST be refused with "
                      "reason 4",
                  .comment = "4096 columns to a group with one row too many for them",
                  .flags = {"EDGE"},
                  .input = high.input(),
                  .output = {{"answers", list({high.ready(), high.malformed()})}},
                  .failure = Failure{"receive a frame", "PARAM-3"}});
}

}  // namespace

void session_edges(Document& document, const ParameterSet& set) {
    const Scene scene(document.numbers(), set);
    add_precedence(document, scene);
    if (!set.lattice) {
        add_length_before_hello(document, scene);
        add_echoes(document, set);
    }
    add_large_messages(document, set);
}

void session(Document& document) {
    for (const ParameterSet& set : {paper(), paper_lattice()}) {
        const Scene scene(document.numbers(), set);
        document.begin_group("david_session", {"david"}, scene.set);
        add_good_davids(document, scene);
        add_refusing_davids(document, scene);
        document.begin_group("charlie_session", {"charlie"}, scene.set);
        add_charlies(document, scene);
        if (set.lattice) add_second_block(document, set);
    }
}

}  // namespace slip::reference::vectors

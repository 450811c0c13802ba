// Whole sessions of the hidden split, with the set itself: U has 2304 rows, so messages are few.
#include <algorithm>

#include "reference/vectors/session_cases.hpp"

namespace slip::reference::vectors {

namespace {

constexpr const char* rejected =
    "a wrong REPLY MUST be rejected with ABORT, and nothing sent after it";
constexpr const char* ended = "any other frame MUST end the session with a ProtocolError";

/// Two groups, of different classes of widths. The first has a row of the largest 2-norm, a row
/// whose entries have one magnitude, and an ordinary one.
std::vector<Matrix> models(Numbers& numbers) {
    return {{{2417, 0}, {-1708, 1708}, {1, -300}}, numbers.matrix(2, 65, -260, 260)};
}

/// A reply to one column as rows of its residues, each with all its planes.
class Rows {
public:
    Rows(const ParameterSet& set, const Bytes& reply, std::size_t rows)
        : head_(reply.begin(), reply.begin() + residues_offset), planes_(set.planes.count()) {
        for (std::size_t i = 0; i < rows; ++i) {
            Bytes& row = residues_.emplace_back();
            for (std::size_t p = 0; p < planes_; ++p) {
                row.push_back(reply.at(residues_offset + p * rows + i));
            }
        }
    }
    /// The rows from `first` on in front of the others.
    Bytes rotated(std::size_t first) const {
        std::vector<Bytes> rows = residues_;
        std::rotate(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(first), rows.end());
        return joined(rows);
    }
    /// The first rows alone, in a frame of their length.
    Bytes beginning(std::size_t count) const {
        return joined({residues_.begin(), residues_.begin() + static_cast<std::ptrdiff_t>(count)});
    }

private:
    Bytes joined(const std::vector<Bytes>& rows) const {
        Bytes frame = head_;
        for (std::size_t p = 0; p < planes_; ++p) {
            for (const Bytes& row : rows) frame.push_back(row[p]);
        }
        const std::size_t length = frame.size() - 4;
        for (std::size_t i = 0; i < 4; ++i) frame[i] = static_cast<std::uint8_t>(length >> (8 * i));
        return frame;
    }

    Bytes head_;
    std::size_t planes_;
    std::vector<Bytes> residues_;
};

/// A reply to one column with one residue replaced by the next one, modulo every prime.
Bytes wrong_residue(const ParameterSet& set, Bytes reply, std::size_t rows, std::size_t row) {
    for (std::size_t p = 0; p < set.planes.count(); ++p) {
        reply = wrong_in_a_plane(set, reply, rows, p * rows + row);
    }
    return reply;
}

void add_wrong_replies(CharlieCases& cases, const ParameterSet& set, std::size_t M,
                       std::size_t rows) {
    const std::vector<Bytes>& honest = cases.honest();
    const Bytes& reply = honest[1];
    const auto reject = [&](const char* comment, const char* flag, const Bytes& frame) {
        cases.add("INTEG-6", rejected, comment, flag, followed_by(honest, 1, frame));
    };
    reject("a residue of A is wrong", "WRONG_REPLY", wrong_residue(set, reply, rows, 1));
    reject("the first residue of U is wrong", "WRONG_REPLY", wrong_residue(set, reply, rows, M));
    for (std::size_t p = 0; p < set.planes.count(); ++p) {
        reject("the last residue of U is wrong in one plane", "WRONG_REPLY",
               wrong_in_a_plane(set, reply, rows, p * rows + rows - 1));
    }
    reject("the last residue of A is wrong in the last plane", "WRONG_REPLY",
           wrong_in_a_plane(set, reply, rows, (set.planes.count() - 1) * rows + M - 1));
    reject("the rows of U stand above those of A", "ORDER", Rows(set, reply, rows).rotated(M));
    reject("two planes are exchanged", "PLANE", with_planes_exchanged(reply, rows));
    Bytes replay = reply;
    replay[5] = 1;
    cases.add("INTEG-6", rejected, "the reply to the same activation under another mask", "REPLAY",
              followed_by(honest, 2, replay));
}

void add_other_frames(CharlieCases& cases, const ParameterSet& set, std::size_t M,
                      std::size_t rows) {
    const std::vector<Bytes>& honest = cases.honest();
    const auto end = [&](const char* comment, const char* flag, const Bytes& frame) {
        cases.add("WIRE-8", ended, comment, flag, followed_by(honest, 1, frame));
    };
    const std::size_t last = set.planes.count() - 1;
    Bytes prime = honest[1];
    prime[residues_offset + last * rows + M] = set.planes.primes()[last].convert_to<std::uint8_t>();
    end("a byte of U is the prime of the last plane", "CANONICAL", prime);
    end("the rows of A alone", "LENGTH", Rows(set, honest[1], rows).beginning(M));
    end("a row of U less", "LENGTH", Rows(set, honest[1], rows).beginning(rows - 1));
}

void add_hidden_charlies(Document& document, const Scene& scene) {
    Numbers& numbers = document.numbers();
    const Matrix longest{{2417}, {0}};
    CharlieCases cases(document, scene,
                       {{0, longest}, {0, longest}, {1, numbers.matrix(65, 2, -260, 260)}});
    document.begin_group("charlie_session", {"charlie", "hidden"}, scene.set);
    cases.add("HIDE-5", "each output MUST be W' q, decoded with the numbers of its group's width",
              "a whole session: the longest rows and columns, and another class of widths", "NOISE",
              cases.honest());
    const std::size_t M = scene.hidden[0].W.rows(), rows = scene.weights[0].rows();
    add_wrong_replies(cases, scene.set, M, rows);
    add_other_frames(cases, scene.set, M, rows);
}

void add_hidden_davids(Document& document, const Scene& scene) {
    document.begin_group("david_session", {"david", "hidden"}, scene.set);
    const auto add = [&](const char* clause, const char* requirement, const char* comment,
                         const char* flag, const std::vector<Bytes>& frames) {
        add_david(document, scene, clause, requirement, comment, flag, frames);
    };
    const Bytes apply = scene.short_apply();
    add("HIDE-1", "a REPLY MUST have the rows of A x~, then those of U x~, with U from its seed",
        "a message to each group", "ORDER",
        {scene.hello(), apply, scene.other_apply(1), scene.frame(Close{})});
    Matrix largest(2, 1);
    for (std::size_t j = 0; j < 2; ++j) largest(j, 0) = scene.set.ring().modulus() - 1;
    add("HIDE-1", "a REPLY MUST be W_t x~ mod L", "every residue is L - 1", "EDGE",
        {scene.hello(), scene.frame(Apply{0, 0, largest})});
    add("SESS-2", "David MUST refuse what he does not hold, by the first that differs", "set 2",
        "DOWNGRADE", {scene.frame(Hello{protocol_version, 2, scene.digest})});
    for (std::size_t p = 0; p < scene.set.planes.count(); ++p) {
        Bytes prime = apply;
        prime[residues_offset + 2 * p] = scene.set.planes.primes()[p].convert_to<std::uint8_t>();
        add("WIRE-8", "a frame that is not canonical MUST be refused with reason 4",
            "a byte is its prime", "CANONICAL", {scene.hello(), prime});
    }
}

/// PARAM-3, where the rows of U decide.
void add_hidden_limit(Document& document, const ParameterSet& set) {
    const std::size_t planes = set.planes.count(), ell = set.lattice->N * set.lattice->d;
    const std::size_t M = largest_residue_bytes / planes / largest_columns + 1 - ell;
    const Shapes shapes{set, {{0, {1, M + ell}}}};
    Bytes head = encode(Apply{0, 0, Matrix(1, 1)}, shapes);
    const std::size_t length = 17 + largest_columns * planes;
    for (std::size_t i = 0; i < 2; ++i) {
        head[i] = static_cast<std::uint8_t>(length >> (8 * i));
        head[17 + i] = static_cast<std::uint8_t>(largest_columns >> (8 * i));
    }
    head.resize(residues_offset);
    const Json A = hex(Bytes{}, Bytes{1}, M * planes);
    document.add(
        {.clause = "PARAM-3",
         .requirement =
             "an APPLY whose REPLY would exceed 2^26 bytes MUST be refused with reason 4",
         .comment = "4096 columns to a group that has one row too many with those of U",
         .flags = {"EDGE"},
         .input = {{"digest", hex(Bytes(32))},
                   {"groups", list({object({{"A", list({A})}})})},
                   {"frames",
                    list({hex(encode(Hello{protocol_version, set.code, Digest{}}, shapes)),
                          hex(head, Bytes{1}, largest_columns * planes)})},
                   {"public_seed", hex(Key{})}},
         .output = {{"answers", list({hex(encode(Ready{}, shapes)),
                                      hex(encode(Refuse{RefuseReason::malformed}, shapes))})}},
         .failure = Failure{"receive a frame", "PARAM-3"}});
}

}  // namespace

void hidden_sessions(Document& document) {
    Numbers& numbers = document.numbers();
    const Scene scene = hidden_scene(numbers, models(numbers));
    add_hidden_davids(document, scene);
    add_hidden_limit(document, scene.set);
    add_hidden_charlies(document, scene);
}

}  // namespace slip::reference::vectors

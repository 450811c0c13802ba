#include "reference/wire.hpp"

#include <tuple>

#include "reference/vectors/document.hpp"

namespace slip::reference::vectors {

namespace {

Digest any_digest(Numbers& numbers) {
    Digest digest;
    for (std::uint8_t& byte : digest) byte = numbers.bytes(1).front();
    return digest;
}

Json json_of(const Shapes& shapes) {
    std::vector<Json> groups;
    for (const auto& [group, shape] : shapes.groups) {
        groups.push_back(
            object({{"n", json(Integer(shape.inputs))}, {"M", json(Integer(shape.outputs))}}));
    }
    return list(groups);
}

Json message(const char* type, std::uint64_t sequence, std::uint32_t group, const Json& columns) {
    return object({{"type", json(type)},
                   {"sequence", json(Integer(sequence))},
                   {"group", json(Integer(group))},
                   {"columns", columns}});
}

Json json_of(const ParameterSet& set, const Frame& frame) {
    if (const auto* hello = std::get_if<Hello>(&frame)) {
        return object({{"type", json("HELLO")},
                       {"version", json(Integer(hello->version))},
                       {"set", json(Integer(hello->set))},
                       {"digest", hex(Bytes(hello->digest.begin(), hello->digest.end()))}});
    }
    if (const auto* apply = std::get_if<Apply>(&frame)) {
        return message("APPLY", apply->sequence, apply->group,
                       residue_columns(set, apply->residues));
    }
    if (const auto* reply = std::get_if<Reply>(&frame)) {
        return message("REPLY", reply->sequence, reply->group,
                       residue_columns(set, reply->residues));
    }
    if (const auto* refuse = std::get_if<Refuse>(&frame)) {
        return object({{"type", json("REFUSE")},
                       {"reason", json(Integer(static_cast<int>(refuse->reason)))}});
    }
    const char* names[] = {"HELLO", "READY", "APPLY", "REPLY", "ABORT", "CLOSE", "REFUSE"};
    return object({{"type", json(names[frame.index()])}});
}

/// The clause that defines a frame.
std::string clause_of(const Frame& frame) {
    const char* clauses[] = {"WIRE-2", "WIRE-3", "WIRE-4", "WIRE-5", "WIRE-6", "WIRE-6", "WIRE-7"};
    return clauses[frame.index()];
}

std::vector<Frame> valid_frames(Numbers& numbers, const Shapes& shapes) {
    const Integer L = shapes.set.ring().modulus();
    std::vector<Frame> frames{Hello{protocol_version, shapes.set.code, any_digest(numbers)},
                              Hello{513, 77, any_digest(numbers)},
                              Ready{},
                              Abort{},
                              Close{},
                              Apply{0, 0, Matrix::from_columns(3, {{6, L - 2, 7}})},
                              Apply{0x0102030405060708, 1, numbers.matrix(5, 3, 0, L - 1)},
                              Apply{~std::uint64_t{0}, 0, numbers.matrix(3, 7, 0, L - 1)},
                              Reply{0, 0, numbers.matrix(2, 1, 0, L - 1)},
                              Reply{258, 1, numbers.matrix(4, 3, 0, L - 1)}};
    for (int reason = 1; reason <= 7; ++reason) {
        frames.push_back(Refuse{static_cast<RefuseReason>(reason)});
    }
    return frames;
}

void add_valid(Document& document, const Shapes& shapes) {
    const std::vector<Frame> frames = valid_frames(document.numbers(), shapes);
    document.begin_group("decode_frame", {}, shapes.set);
    for (const Frame& frame : frames) {
        document.add({.clause = clause_of(frame),
                      .requirement = "a canonical frame MUST be accepted",
                      .comment = "decode",
                      .flags = {"ENDIAN"},
                      .input = {{"bytes", hex(encode(frame, shapes))}, {"groups", json_of(shapes)}},
                      .output = {{"frame", json_of(shapes.set, frame)}}});
    }
    document.begin_group("encode_frame", {}, shapes.set);
    for (const Frame& frame : frames) {
        document.add({.clause = clause_of(frame),
                      .requirement = "a frame MUST be encoded in its one canonical form",
                      .comment = "encode",
                      .flags = {"ENDIAN"},
                      .input = {{"frame", json_of(shapes.set, frame)}, {"groups", json_of(shapes)}},
                      .output = {{"bytes", hex(encode(frame, shapes))}}});
    }
    const auto refused = [&](const char* comment, const Json& frame) {
        document.add({.clause = "WIRE-8",
                      .requirement = "an encoder MUST refuse what no decoder accepts",
                      .comment = comment,
                      .flags = {"CANONICAL"},
                      .input = {{"frame", frame}, {"groups", json_of(shapes)}},
                      .failure = Failure{"encode", "WIRE-8"}});
    };
    for (std::size_t p = 0; p < shapes.set.planes.count(); ++p) {
        Bytes apply = bytes_of(shapes.set.planes, Vector(3, 1));
        Bytes reply = bytes_of(shapes.set.planes, Vector(2, 1));
        apply[3 * p + 1] = reply[2 * p + 1] =
            shapes.set.planes.primes()[p].convert_to<std::uint8_t>();
        refused("a byte is its prime", message("APPLY", 0, 0, list({hex(apply)})));
        refused("a reply with a byte that is its prime",
                message("REPLY", 0, 0, list({hex(reply)})));
    }
    refused("no columns", message("APPLY", 0, 0, list({})));
    refused("a column of another length",
            message("APPLY", 0, 0, residue_columns(shapes.set, Matrix(4, 1))));
}

/// Writes `value` over `count` bytes at `offset`, least significant first.
Bytes patched(Bytes bytes, std::size_t offset, std::size_t count, Integer value) {
    for (std::size_t i = 0; i < count; ++i, value >>= 8) {
        bytes[offset + i] = static_cast<std::uint8_t>(value & 255);
    }
    return bytes;
}

/// The first bytes of a frame, with or without a length that says so.
Bytes shortened(const Bytes& bytes, std::size_t count, bool length_too) {
    Bytes result(bytes.begin(), bytes.end() - static_cast<std::ptrdiff_t>(count));
    return length_too ? patched(result, 0, 4, Integer(result.size() - 4)) : result;
}

Bytes extended(Bytes bytes, std::size_t count, bool length_too) {
    bytes.insert(bytes.end(), count, 0);
    return length_too ? patched(bytes, 0, 4, Integer(bytes.size() - 4)) : bytes;
}

void add_invalid(Document& document, const Shapes& shapes) {
    document.begin_group("decode_frame", {}, shapes.set);
    const auto refused = [&](const char* comment, const Bytes& bytes, const char* clause,
                             const char* flag) {
        try {
            decode(bytes, shapes);
        } catch (const DecodeError&) {
            document.add({.clause = clause,
                          .requirement = "bytes that are not a canonical frame MUST be refused",
                          .comment = comment,
                          .flags = {flag},
                          .input = {{"bytes", hex(bytes)}, {"groups", json_of(shapes)}},
                          .failure = Failure{"decode", clause}});
            return;
        }
        throw PreconditionError("an invalid frame is refused");
    };
    const Integer L = shapes.set.ring().modulus();
    const std::size_t w = shapes.set.planes.count();
    Numbers& numbers = document.numbers();
    const Bytes hello =
        encode(Hello{protocol_version, shapes.set.code, any_digest(numbers)}, shapes);
    const Bytes apply = encode(Apply{3, 0, numbers.matrix(3, 2, 0, L - 1)}, shapes);
    const Bytes reply = encode(Reply{3, 0, numbers.matrix(2, 2, 0, L - 1)}, shapes);

    refused("nothing", {}, "WIRE-1", "LENGTH");
    refused("a length of three bytes", {1, 0, 0}, "WIRE-1", "LENGTH");
    refused("length zero", {0, 0, 0, 0}, "WIRE-1", "LENGTH");
    refused("a length above 2^26 + 64", patched(apply, 0, 4, (1 << 26) + 65), "WIRE-1", "LENGTH");
    refused("the length in big-endian order", {0, 0, 0, 1, 2}, "WIRE-1", "ENDIAN");
    refused("type 0", {1, 0, 0, 0, 0}, "WIRE-1", "UNKNOWN_CODE");
    refused("type 8", {1, 0, 0, 0, 8}, "WIRE-1", "UNKNOWN_CODE");
    refused("type 255", {1, 0, 0, 0, 255}, "WIRE-1", "UNKNOWN_CODE");
    refused("another magic", patched(hello, 5, 1, 's'), "WIRE-2", "UNKNOWN_CODE");
    refused("a digest lacks a byte", shortened(hello, 1, true), "WIRE-2", "LENGTH");
    refused("a byte behind the digest", extended(hello, 1, true), "WIRE-2", "LENGTH");
    for (const auto& [type, name, clause] :
         std::vector<std::tuple<std::uint8_t, const char*, const char*>>{
             {2, "READY with a body", "WIRE-3"},
             {5, "ABORT with a reason", "WIRE-6"},
             {6, "CLOSE with a body", "WIRE-6"}}) {
        refused(name, {2, 0, 0, 0, type, 1}, clause, "LENGTH");
    }
    for (const std::uint8_t reason : Bytes{0, 8, 255}) {
        refused("a reason that is not defined", {2, 0, 0, 0, 7, reason}, "WIRE-7", "UNKNOWN_CODE");
    }
    refused("no reason", {1, 0, 0, 0, 7}, "WIRE-7", "LENGTH");
    for (const auto& [bytes, clause] : {std::pair{apply, "WIRE-4"}, std::pair{reply, "WIRE-5"}}) {
        const std::size_t rows = (bytes.size() - 21) / 2 / w;
        for (std::size_t p = 0; p < w; ++p) {
            const Integer& prime = shapes.set.planes.primes()[p];
            refused("the first byte of a plane is its prime",
                    patched(bytes, 21 + p * rows, 1, prime), clause, "CANONICAL");
            refused("the last byte of a plane is its prime",
                    patched(bytes, 21 + (w + p + 1) * rows - 1, 1, prime), clause, "CANONICAL");
        }
        refused("the last byte is 255", patched(bytes, bytes.size() - 1, 1, 255), clause,
                "CANONICAL");
        refused("no columns are announced", patched(bytes, 17, 4, 0), clause, "LENGTH");
        refused("no columns, and none follow",
                patched(shortened(bytes, bytes.size() - 21, true), 17, 4, 0), clause, "LENGTH");
        refused("one column more is announced", patched(bytes, 17, 4, 3), clause, "LENGTH");
        refused("4097 columns are announced", patched(bytes, 17, 4, 4097), clause, "LENGTH");
        refused("2^30 columns, whose bytes wrap 32 bits", patched(bytes, 17, 4, 1 << 30), clause,
                "OVERFLOW");
        refused("one residue is missing", shortened(bytes, w, true), clause, "LENGTH");
        refused("one byte too many", extended(bytes, 1, true), clause, "LENGTH");
        refused("a whole residue too many", extended(bytes, w, true), clause, "LENGTH");
        refused("the header is cut", shortened(bytes, bytes.size() - 19, true), clause, "LENGTH");
        refused("the stream ends inside the residues", shortened(bytes, 2, false), "WIRE-8",
                "LENGTH");
        refused("a byte behind the frame", extended(bytes, 1, false), "WIRE-8", "LENGTH");
    }
}

/// A frame of as many columns as there may be, each one residue.
void add_4096_columns(Document& document, const ParameterSet& set) {
    const Shapes shapes{set, {{0, {1, 1}}}};
    const Integer residue = set.ring().modulus() - 2;
    const Bytes unit = [&] {
        const Bytes one = encode(Apply{0, 0, Matrix{{residue}}}, shapes);
        return Bytes(one.begin() + 21, one.end());
    }();
    for (const bool apply : {true, false}) {
        const Matrix residues = all_entries(1, largest_columns, residue);
        const Frame frame = apply ? Frame(Apply{7, 0, residues}) : Frame(Reply{7, 0, residues});
        const Bytes whole = encode(frame, shapes);
        const Json bytes = hex(Bytes(whole.begin(), whole.begin() + 21), unit, largest_columns);
        const Json fields =
            object({{"type", json(apply ? "APPLY" : "REPLY")},
                    {"sequence", json(Integer(7))},
                    {"group", json(Integer(0))},
                    {"columns", repeated(column(set, {residue}), largest_columns)}});
        document.begin_group("decode_frame", {}, set);
        document.add({.clause = clause_of(frame),
                      .requirement = "a frame of 4096 columns MUST be accepted",
                      .comment = "decode",
                      .flags = {"EDGE"},
                      .input = {{"bytes", bytes}, {"groups", json_of(shapes)}},
                      .output = {{"frame", fields}}});
        document.begin_group("encode_frame", {}, set);
        document.add({.clause = clause_of(frame),
                      .requirement = "a frame of 4096 columns MUST be encoded",
                      .comment = "encode",
                      .flags = {"EDGE"},
                      .input = {{"frame", fields}, {"groups", json_of(shapes)}},
                      .output = {{"bytes", bytes}}});
    }
}

}  // namespace

void wire_edges(Document& document, const ParameterSet& set) { add_4096_columns(document, set); }

void wire(Document& document) {
    for (const ParameterSet& set : {paper(), paper_lattice()}) {
        const Shapes shapes{set, {{0, {3, 2}}, {1, {5, 4}}}};
        add_valid(document, shapes);
        add_invalid(document, shapes);
    }
}

}  // namespace slip::reference::vectors

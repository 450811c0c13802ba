#include "reference/offline.hpp"

#include <tuple>

#include "reference/vectors/offline.hpp"

namespace slip::reference::vectors {

namespace {

const std::uint64_t last_index = ~std::uint64_t{0};

/// Two groups, and the keys of a pair and of two connections.
struct Scene {
    Scene(Numbers& numbers, const Profile& chosen)
        : profile(chosen),
          weights{numbers.matrix(2, 3, -127, 127), numbers.matrix(4, 5, -127, 127)},
          shapes(shapes_of(profile, weights)),
          pair_key(numbers.key()),
          keys{numbers.key(), numbers.key()} {
        for (std::uint8_t& byte : digest) byte = numbers.bytes(1).front();
    }

    Bytes frame(const OfflineFrame& frame) const { return encode_offline(frame, shapes); }
    Bytes key() const { return frame(OfflineKey{1, profile.number, digest, keys[0]}); }
    Bytes request(std::uint64_t index, std::uint32_t group, std::uint32_t columns) const {
        return frame(Request{index, group, columns});
    }
    Bytes refuse(RefuseReason reason) const { return frame(Refuse{reason}); }

    Profile profile;
    std::vector<Matrix> weights;
    Shapes shapes;
    Key pair_key;
    Key keys[2];
    Digest digest{};
};

template <class Array>
Json hex_of(const Array& array) {
    return hex(Bytes(array.begin(), array.end()));
}

Json groups_of(const std::vector<Matrix>& weights) {
    std::vector<Json> matrices;
    for (const Matrix& W_D : weights) matrices.push_back(json(W_D));
    return list(matrices);
}

Json shapes_json(const Shapes& shapes) {
    std::vector<Json> groups;
    for (const auto& [group, shape] : shapes.groups) {
        groups.push_back(
            object({{"n", json(Integer(shape.inputs))}, {"M", json(Integer(shape.outputs))}}));
    }
    return list(groups);
}

Json frames_of(const std::vector<Bytes>& frames) {
    std::vector<Json> entries;
    for (const Bytes& frame : frames) entries.push_back(hex(frame));
    return list(entries);
}

/// `bytes` with others at an offset.
Bytes with(Bytes bytes, std::size_t offset, const Bytes& patch) {
    for (const std::uint8_t byte : patch) bytes.at(offset++) = byte;
    return bytes;
}

/// A frame with a body of another length, which its length field tells.
Bytes resized(Bytes bytes, std::size_t size) {
    bytes.resize(size);
    bytes[0] = static_cast<std::uint8_t>(size - 4);
    return bytes;
}

// --- frames
// ----------------------------------------------------------------------------------------

Json json_of(const OfflineFrame& frame) {
    const auto type = [](const char* name) { return std::pair{std::string("type"), json(name)}; };
    if (const auto* key = std::get_if<OfflineKey>(&frame)) {
        return object({type("KEY"),
                       {"version", json(Integer(key->version))},
                       {"profile", json(Integer(key->profile))},
                       {"digest", hex_of(key->digest)},
                       {"key", hex_of(key->key)}});
    }
    if (const auto* request = std::get_if<Request>(&frame)) {
        return object({type("REQUEST"),
                       {"index", json(Integer(request->index))},
                       {"group", json(Integer(request->group))},
                       {"count", json(Integer(request->columns))}});
    }
    const auto& c = std::get<Cancellations>(frame);
    return object({type("CANCELLATIONS"),
                   {"index", json(Integer(c.index))},
                   {"group", json(Integer(c.group))},
                   {"columns", columns(c.residues)}});
}

const char* clause_of(const OfflineFrame& frame) {
    if (std::holds_alternative<OfflineKey>(frame)) return "OFF-2";
    return std::holds_alternative<Request>(frame) ? "OFF-3" : "OFF-4";
}

void add_frames(Document& document, const Scene& scene) {
    Numbers& numbers = document.numbers();
    const Integer top = scene.profile.modulus - 1;
    const std::vector<OfflineFrame> frames = {
        OfflineKey{1, scene.profile.number, scene.digest, scene.keys[0]},
        OfflineKey{513, 77, scene.digest, scene.keys[1]},
        Request{0, 0, 1},
        Request{0x0102030405060708, 1, 4096},
        Request{last_index, 0, 1},
        Cancellations{0, 0, Matrix::from_columns(2, {{0, top}})},
        Cancellations{last_index, 1, numbers.matrix(4, 3, 0, top)}};
    const Json shapes = shapes_json(scene.shapes);
    document.begin_group("decode_offline_frame", {"offline"}, scene.profile);
    for (const OfflineFrame& frame : frames) {
        document.add({.clause = clause_of(frame),
                      .requirement = "a canonical frame MUST be accepted",
                      .comment = "decode",
                      .flags = {"ENDIAN"},
                      .input = {{"bytes", hex(scene.frame(frame))}, {"groups", shapes}},
                      .output = {{"frame", json_of(frame)}}});
    }
    document.begin_group("encode_offline_frame", {"offline"}, scene.profile);
    for (const OfflineFrame& frame : frames) {
        document.add({.clause = clause_of(frame),
                      .requirement = "a frame MUST be encoded in its one canonical form",
                      .comment = "encode",
                      .flags = {"ENDIAN"},
                      .input = {{"frame", json_of(frame)}, {"groups", shapes}},
                      .output = {{"bytes", hex(scene.frame(frame))}}});
    }
}

void add_bad_frames(Document& document, const Scene& scene) {
    document.begin_group("decode_offline_frame", {"offline"}, scene.profile);
    const auto refused = [&](const char* clause, const char* comment, const char* flag,
                             const Bytes& bytes) {
        try {
            decode_offline(bytes, scene.shapes);
        } catch (const DecodeError&) {
            document.add({.clause = clause,
                          .requirement = "bytes that are not a canonical frame MUST be refused",
                          .comment = comment,
                          .flags = {flag},
                          .input = {{"bytes", hex(bytes)}, {"groups", shapes_json(scene.shapes)}},
                          .failure = Failure{"decode", clause}});
            return;
        }
        throw PreconditionError("an invalid frame is refused");
    };
    const Bytes key = scene.key(), request = scene.request(5, 0, 2);
    const std::size_t w = scene.profile.residue_bytes;
    const Bytes c = scene.frame(Cancellations{5, 0, Matrix(2, 2)});
    refused("OFF-2", "another magic", "UNKNOWN_CODE", with(key, 5, {'s'}));
    refused("OFF-2", "the key lacks a byte", "LENGTH", resized(key, key.size() - 1));
    refused("OFF-2", "a byte behind the key", "LENGTH", resized(key, key.size() + 1));
    refused("OFF-2", "no key: the body of HELLO", "LENGTH", resized(key, 44));
    refused("OFF-3", "no columns", "LENGTH", with(request, 17, {0}));
    refused("OFF-3", "4097 columns", "LENGTH", with(request, 17, {1, 16}));
    refused("OFF-3", "2^32 - 1 columns", "OVERFLOW", with(request, 17, {255, 255, 255, 255}));
    refused("OFF-3", "the columns lack a byte", "LENGTH", resized(request, 20));
    refused("OFF-3", "a byte behind the columns", "LENGTH", resized(request, 22));
    refused("OFF-3", "the group is unknown", "EDGE", with(request, 13, {2}));
    refused("OFF-4", "the first residue equals L", "CANONICAL", with(c, 21, [&] {
                Bytes residue(w, 255);
                residue.back() = w == 4 ? 0x7f : 0x1f;
                return residue;
            }()));
    refused("OFF-4", "the last residue has all bits set", "CANONICAL",
            with(c, c.size() - w, Bytes(w, 255)));
    refused("OFF-4", "one residue is missing", "LENGTH", resized(c, c.size() - w));
    refused("OFF-4", "one residue too many", "LENGTH", resized(c, c.size() + w));
    refused("OFF-4", "a column more is announced", "LENGTH", with(c, 17, {3}));
    refused("OFF-4", "no columns", "LENGTH", with(resized(c, 21), 17, {0}));
    for (const std::uint8_t type : Bytes{0, 1, 3, 4, 8, 0x10, 0x14}) {
        refused("OFF-7", "a type that this connection does not know", "UNKNOWN_CODE",
                with(request, 4, {type}));
    }
    refused("OFF-7", "HELLO as David gets it", "UNKNOWN_CODE",
            encode(Hello{1, scene.profile.number, scene.digest}, scene.shapes));
}

// --- the offline David
// -----------------------------------------------------------------------------

/// D2 gets the frames one after the other, until he is dead.
void add_session(Document& document, const Scene& scene, const char* clause,
                 const char* requirement, const char* comment, const char* flag,
                 const std::vector<Bytes>& frames) {
    OfflineDavid david(scene.profile, scene.digest, scene.weights);
    std::vector<Json> answers;
    bool refused = false;
    for (const Bytes& frame : frames) {
        if (david.dead()) break;
        const auto answer = david.receive(frame);
        answers.push_back(answer ? hex(*answer) : Json{"null"});
        refused = answer && (*answer)[4] == 7;
    }
    Case entry{.clause = clause,
               .requirement = requirement,
               .comment = comment,
               .flags = {flag},
               .input = {{"digest", hex_of(scene.digest)},
                         {"groups", groups_of(scene.weights)},
                         {"frames", frames_of(frames)}},
               .output = {{"answers", list(answers)}}};
    if (refused) entry.failure = Failure{"receive a frame", clause};
    document.add(entry);
}

void add_good_sessions(Document& document, const Scene& scene) {
    const Bytes key = scene.key(), close = scene.frame(Close{}), abort = scene.frame(Abort{});
    const auto add = [&](const char* clause, const char* comment, const char* flag,
                         const std::vector<Bytes>& frames) {
        add_session(document, scene, clause,
                    "the offline David MUST answer each frame of a good connection", comment, flag,
                    frames);
    };
    add("OFF-5", "KEY and CLOSE", "ORDER", {key, close});
    add("OFF-5", "KEY and ABORT", "ORDER", {key, abort});
    add("OFF-4", "one mask", "DERIVED", {key, scene.request(0, 0, 1), close});
    add("OFF-4", "three masks in one REQUEST", "ORDER", {key, scene.request(0, 1, 3), close});
    add("OFF-4", "the masks of the case before, one by one", "ORDER",
        {key, scene.request(0, 1, 1), scene.request(1, 1, 1), scene.request(2, 1, 1), close});
    add("OFF-4", "two groups: the index counts over both", "MASK_REUSE",
        {key, scene.request(0, 0, 2), scene.request(2, 1, 1), scene.request(3, 0, 1), close});
    add("OFF-4", "an index above 2^32", "BLOCK",
        {key, scene.request((std::uint64_t{1} << 32) + 1, 0, 2), close});
    add("OFF-5", "indices that were skipped", "ORDER",
        {key, scene.request(7, 0, 1), scene.request(1000, 1, 2), close});
    add("OFF-5", "the last index there is", "EDGE",
        {key, scene.request(last_index - 2, 0, 2), scene.request(last_index, 1, 1), close});
    add_session(document, scene, "OFF-5", "after CLOSE nothing MUST be answered",
                "a REQUEST after CLOSE", "AFTER_END", {key, close, scene.request(0, 0, 1), key});
    add_session(document, scene, "OFF-5", "after ABORT nothing MUST be answered",
                "a REQUEST after ABORT", "AFTER_END", {key, abort, scene.request(0, 0, 1)});
}

void add_refused_keys(Document& document, const Scene& scene) {
    Digest other = scene.digest;
    other[31] ^= 1;
    const std::uint8_t number = scene.profile.number;
    const std::uint8_t wrong = number == 1 ? 2 : 1;
    const auto add = [&](const char* comment, const char* flag, std::uint16_t version,
                         std::uint8_t profile, const Digest& digest) {
        add_session(
            document, scene, "OFF-2",
            "the offline David MUST refuse what he does not hold, by the first that differs",
            comment, flag,
            {scene.frame(OfflineKey{version, profile, digest, scene.keys[0]}),
             scene.request(0, 0, 1)});
    };
    add("version 2", "DOWNGRADE", 2, number, scene.digest);
    add("version 256: its low byte is 0", "ENDIAN", 256, number, scene.digest);
    add("the other profile", "DOWNGRADE", 1, wrong, scene.digest);
    add("a profile that does not exist", "DOWNGRADE", 1, 3, scene.digest);
    add("another digest", "DOWNGRADE", 1, number, other);
    add("everything differs: the version counts", "ORDER", 2, wrong, other);
    add("profile and digest differ: the profile counts", "ORDER", 1, wrong, other);
}

void add_order(Document& document, const Scene& scene) {
    const Bytes key = scene.key();
    const auto add = [&](const char* comment, const char* flag, const std::vector<Bytes>& frames) {
        add_session(document, scene, "OFF-5",
                    "a frame that this state does not allow MUST be refused with reason 5", comment,
                    flag, frames);
    };
    add("REQUEST before KEY", "STATE", {scene.request(0, 0, 1)});
    add("CANCELLATIONS before KEY", "STATE", {scene.frame(Cancellations{0, 0, Matrix(2, 1)})});
    add("CLOSE before KEY", "STATE", {scene.frame(Close{})});
    add("ABORT before KEY", "STATE", {scene.frame(Abort{})});
    add("READY from Charlie", "STATE", {key, scene.frame(Ready{})});
    add("REFUSE from Charlie", "STATE", {key, scene.refuse(RefuseReason::busy)});
    add("an index again", "REPLAY", {key, scene.request(4, 0, 1), scene.request(4, 0, 1)});
    add("the last of the indices before again", "REPLAY",
        {key, scene.request(4, 0, 3), scene.request(6, 1, 1)});
    add("an index of the other group again", "MASK_REUSE",
        {key, scene.request(0, 0, 2), scene.request(1, 1, 1)});
    add("a lower index", "REPLAY", {key, scene.request(4, 0, 1), scene.request(0, 0, 1)});
    add("an index 2^32 lower", "BLOCK",
        {key, scene.request(std::uint64_t{1} << 32, 0, 1), scene.request(1, 0, 1)});
    add("an index after the last one", "EDGE",
        {key, scene.request(last_index, 0, 1), scene.request(0, 0, 1)});
}

void add_precedence(Document& document, const Scene& scene) {
    const Bytes key = scene.key(), request = scene.request(0, 0, 1);
    const Bytes unknown = with(request, 13, {2});
    const auto add = [&](const char* comment, const std::vector<Bytes>& frames) {
        add_session(document, scene, "OFF-6",
                    "of several reasons that apply the offline David MUST give the first", comment,
                    "ORDER", frames);
    };
    const Bytes c = scene.frame(Cancellations{0, 0, Matrix(2, 1)});
    add("an unknown group", {key, unknown});
    add("an unknown group before KEY: out of order", {unknown});
    add("no columns before KEY: malformed", {with(request, 17, {0})});
    add("no columns, and the group is unknown: malformed", {key, with(unknown, 17, {0})});
    add("a byte too many, and the group is unknown: malformed", {key, resized(unknown, 22)});
    add("the index does not rise, and the group is unknown: out of order",
        {key, scene.request(3, 0, 1), unknown});
    add("4097 columns, and the index does not rise: malformed",
        {key, scene.request(3, 0, 1), with(request, 17, {1, 16})});
    add("KEY with another magic and another version: malformed",
        {with(key, 5, {'X', 'L', 'I', 'P', 2})});
    add("READY with a body: malformed", {key, {2, 0, 0, 0, 2, 0}});
    add("CANCELLATIONS of an unknown group before KEY: out of order", {with(c, 13, {2})});
    add("CANCELLATIONS with a residue not below L before KEY: malformed",
        {with(c, 21, Bytes(scene.profile.residue_bytes, 255))});
    const Bytes beyond = scene.request(last_index, 0, 2);
    add("indices beyond 2^64: malformed", {key, beyond});
    add("indices beyond 2^64, 4096 columns: malformed",
        {key, scene.request(last_index - 4094, 0, 4096)});
    add("indices beyond 2^64, and the group is unknown: malformed", {key, with(beyond, 13, {2})});
    add("indices beyond 2^64 before KEY: out of order", {beyond});
    add("a good frame after a bad one gets no answer", {key, {1, 0, 0, 0, 9}, request});
    const std::size_t most = 55 / scene.profile.residue_bytes / 2;
    const auto of_columns = [&](std::size_t count) {
        return scene.frame(Cancellations{0, 0, Matrix(2, count)});
    };
    const auto bounded = [&](const char* comment, const std::vector<Bytes>& frames) {
        add_session(document, scene, "OFF-7",
                    "a frame that is longer than its state allows MUST be refused with reason 4",
                    comment, "LENGTH", frames);
    };
    bounded("CANCELLATIONS no longer than KEY, before KEY: out of order", {of_columns(most)});
    bounded("CANCELLATIONS longer than KEY, before KEY: malformed", {of_columns(most + 1)});
    bounded("a length field of 73", {with(key, 0, {73})});
    bounded("a second KEY: longer than REQUEST", {key, key});
    bounded("CANCELLATIONS after KEY: longer than REQUEST", {key, c});
    bounded("a length field of 18", {key, with(request, 0, {18})});
    add_session(document, scene, "OFF-7",
                "a frame of a session with David MUST be refused with reason 4", "HELLO", "STATE",
                {encode(Hello{1, scene.profile.number, scene.digest}, scene.shapes)});
    add_session(document, scene, "OFF-7",
                "a frame of a session with David MUST be refused with reason 4", "APPLY", "STATE",
                {key, encode(Apply{0, 0, Matrix(3, 1)}, scene.shapes)});
}

/// OFF-3. As many masks as one REQUEST may ask for, and more than fit.
void add_large(Document& document, const Profile& profile) {
    Numbers& numbers = document.numbers();
    Scene scene(numbers, profile);
    scene.weights = {numbers.matrix(1, 1, -127, 127)};
    scene.shapes = shapes_of(profile, scene.weights);
    document.begin_group("offline_session", {"offline"}, profile);
    add_session(document, scene, "OFF-3", "a REQUEST for 4096 masks MUST be answered",
                "4096 columns of one residue", "EDGE",
                {scene.key(), scene.request(17, 0, 4096), scene.frame(Close{})});
    const std::size_t rows = largest_residue_bytes / profile.residue_bytes / 4096;
    for (const bool high : {true, false}) {
        const std::size_t M = high ? rows + 1 : 1, n = high ? 1 : rows + 1;
        const Bytes request = scene.request(0, 0, 4096);
        document.add({.clause = "OFF-3",
                      .requirement = "a REQUEST for more than 2^26 bytes of residues MUST be "
                                     "refused with reason 4",
                      .comment = high ? "the cancellations do not fit" : "the masks do not fit",
                      .flags = {"EDGE"},
                      .input = {{"digest", hex_of(scene.digest)},
                                {"groups", list({repeated(repeated(Integer(1), n), M)})},
                                {"frames", frames_of({scene.key(), request})}},
                      .output = {{"answers", frames_of({scene.frame(Ready{}),
                                                        scene.refuse(RefuseReason::malformed)})}},
                      .failure = Failure{"receive a frame", "OFF-3"}});
    }
}

/// David, who is asked as if he were the offline David.
void add_david(Document& document, const Scene& scene) {
    document.begin_group("david_session", {"david"}, scene.profile);
    const Bytes hello = encode(Hello{1, scene.profile.number, scene.digest}, scene.shapes);
    const std::tuple<const char*, std::vector<Bytes>> cases[] = {
        {"KEY in place of HELLO", {scene.key()}},
        {"KEY after HELLO", {hello, scene.key()}},
        {"REQUEST after HELLO", {hello, scene.request(0, 0, 1)}}};
    for (const auto& [comment, frames] : cases) {
        DavidSession david(scene.profile, scene.digest, scene.weights);
        std::vector<Json> answers;
        for (const Bytes& frame : frames) answers.push_back(hex(*david.receive(frame)));
        document.add({.clause = "OFF-7",
                      .requirement = "David MUST refuse the offline David's frames with reason 4",
                      .comment = comment,
                      .flags = {"UNKNOWN_CODE"},
                      .input = {{"digest", hex_of(scene.digest)},
                                {"groups", groups_of(scene.weights)},
                                {"frames", frames_of(frames)}},
                      .output = {{"answers", list(answers)}},
                      .failure = Failure{"receive a frame", "OFF-7"}});
    }
}

}  // namespace

void offline(Document& document) {
    for (const Profile& profile : {p31(), p61()}) {
        const Scene scene(document.numbers(), profile);
        add_frames(document, scene);
        add_bad_frames(document, scene);
        document.begin_group("offline_session", {"offline"}, profile);
        add_good_sessions(document, scene);
        add_refused_keys(document, scene);
        add_order(document, scene);
        add_precedence(document, scene);
        add_large(document, profile);
        add_david(document, scene);
    }
    for (const Profile& profile : {p31(), p61()}) offline_charlie(document, profile);
}

}  // namespace slip::reference::vectors

// Operations on frames, sessions and whole models.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "optimized/artifact/layout.hpp"
#include "optimized/base/error.hpp"
#include "optimized/protocol/charlie.hpp"
#include "optimized/protocol/david.hpp"
#include "optimized/protocol/frames.hpp"
#include "property_tests/conformance/arithmetic.hpp"
#include "property_tests/conformance/hiding.hpp"
#include "property_tests/conformance/lattice.hpp"
#include "property_tests/conformance/splitting.hpp"

namespace slip::answers {

// Frames ----------------------------------------------------------------------------------------

using protocol::wire::FrameType;

const std::map<std::string, FrameType>& type_names() {
    static const std::map<std::string, FrameType> names{
        {"HELLO", FrameType::hello},  {"READY", FrameType::ready}, {"APPLY", FrameType::apply},
        {"REPLY", FrameType::reply},  {"ABORT", FrameType::abort}, {"CLOSE", FrameType::close},
        {"REFUSE", FrameType::refuse}};
    return names;
}

inline Json decoded(std::span<const std::byte> payload, const Json& groups) {
    const FrameType type = protocol::wire::frame_type(payload);
    Json frame;
    for (const auto& [name, value] : type_names()) {
        if (value == type) frame["type"] = name;
    }
    if (type == FrameType::hello) {
        const protocol::wire::Hello hello = protocol::wire::decode_hello(payload);
        frame["version"] = hello.version;
        frame["set"] = hello.set;
        frame["digest"] = hex_of(std::as_bytes(std::span(hello.digest)));
    } else if (type == FrameType::refuse) {
        frame["reason"] = static_cast<int>(protocol::wire::decode_refuse(payload));
    } else if (type == FrameType::apply || type == FrameType::reply) {
        const protocol::wire::ColumnsHeader header =
            protocol::wire::decode_columns_header(type, payload);
        const Json& shape = groups.at(header.group);
        const std::size_t rows = shape.at(type == FrameType::apply ? "n" : "M");
        const auto residues = protocol::wire::decode_residues(payload, header, planes(), rows);
        frame["sequence"] = header.sequence;
        frame["group"] = header.group;
        frame["columns"] = columns_json(residues, planes() * rows);
    } else {
        protocol::wire::decode_empty(type, payload);
    }
    return frame;
}

/// The payload of a frame: everything after its length field.
inline std::span<const std::byte> payload_of(const Bytes& bytes) {
    if (bytes.size() < protocol::wire::length_bytes) throw Refused("the length is cut");
    const std::size_t length = protocol::wire::decode_length(
        std::span<const std::byte>(bytes).first<protocol::wire::length_bytes>(),
        protocol::wire::max_frame_length);
    if (bytes.size() != protocol::wire::length_bytes + length) {
        throw Refused("bytes are missing or too many");
    }
    return std::span(bytes).subspan(protocol::wire::length_bytes);
}

inline Json decode_frame(const Json& in) {
    const Bytes bytes = bytes_of(in["bytes"]);
    return {{"frame", decoded(payload_of(bytes), in["groups"])}};
}

/// Sessions write canonical residues only; those of a case are looked at first.
inline Bytes encoded_columns(FrameType type, std::uint64_t sequence, const Json& frame,
                             std::size_t rows) {
    const Residues columns = canonical_columns(frame["columns"], rows);
    Bytes bytes(protocol::wire::columns_frame_bytes(columns.size()));
    const auto room = protocol::wire::begin_columns(
        type, {sequence, frame["group"], static_cast<std::uint32_t>(frame["columns"].size())},
        bytes);
    std::copy(columns.begin(), columns.end(), room.begin());
    return bytes;
}

inline Bytes encoded(const Json& frame, const Json& groups) {
    const FrameType type = type_names().at(frame["type"]);
    if (type == FrameType::hello) {
        return protocol::wire::encode_hello(
            {frame["version"], frame["set"], array_of<std::uint8_t, 32>(frame["digest"])});
    }
    if (type == FrameType::refuse) {
        return protocol::wire::encode_refuse(static_cast<protocol::wire::Refusal>(frame["reason"]));
    }
    if (type != FrameType::apply && type != FrameType::reply) {
        return protocol::wire::encode_empty(type);
    }
    const Json& shape = groups.at(frame["group"].get<std::size_t>());
    return encoded_columns(type, frame["sequence"], frame,
                           shape.at(type == FrameType::apply ? "n" : "M"));
}

inline Json encode_frame(const Json& in) {
    try {
        return {{"bytes", hex_of(encoded(in["frame"], in["groups"]))}};
    } catch (const InternalError& error) {
        throw Refused(error.what());  // the encoder refuses its arguments (WIRE-8)
    }
}

// Sessions --------------------------------------------------------------------------------------

/// The stacked W_D of every group, and the views that sessions take.
struct Weights {
    /// `W_D_of` finds it in the description of a group.
    template <class Find>
    Weights(const Json& groups, const Find& W_D_of) {
        for (const Json& group : groups) tables.emplace_back(W_D_of(group));
        for (const auto& table : tables) views.push_back(table.view());
    }

    std::vector<Table<std::int8_t>> tables;
    kernels::OffloadedWeights views;
};

/// What Charlie holds of every group: {W_D, s}, or {W, key, s} of the hidden split.
struct CharliesGroups {
    explicit CharliesGroups(const Json& in)
        : weights(set_of_case->hides_weights ? Json::array() : in["groups"],
                  [](const Json& group) -> const Json& { return group["W_D"]; }),
          seed(array_of<std::uint8_t, 32>(in["seed"])) {
        for (const Json& group : in["groups"]) companions.push_back(columns_of(group["s"]));
        if (set_of_case->hides_weights) {
            hidden = std::make_unique<HiddenGroups>(in);
        } else if (in.contains("public_seed")) {
            lattice = std::make_unique<GroupsMasks>(in, weights.tables);
        }
    }
    /// The shapes of the products that David makes.
    std::vector<base::ProductShape> shapes() const {
        if (!hidden) return kernels::shapes_of(weights.views);
        std::vector<base::ProductShape> shapes = hidden->shapes();
        for (base::ProductShape& shape : shapes) shape.rows += set_of_case->public_rows();
        return shapes;
    }
    protocol::IntegrityCheck check() const {
        return {{seed, {companions.begin(), companions.end()}, {}}, shapes(), planes()};
    }
    protocol::SharedSecrets masks() const {
        if (hidden) return hidden->masks();
        return lattice ? lattice->masks() : protocol::SharedSecrets{};
    }
    /// Outputs of a group.
    std::size_t rows(base::GroupId group) const {
        return shapes().at(group).rows - set_of_case->public_rows();
    }

    Weights weights;
    std::array<std::uint8_t, 32> seed;
    std::vector<Residues> companions;
    std::unique_ptr<GroupsMasks> lattice;  // of a set with lattice masks
    std::unique_ptr<HiddenGroups> hidden;  // of the hidden split
};

/// WIRE-9: of a frame whose length he does not accept, David gets nothing.
inline std::span<const std::byte> payload_of(std::span<const std::byte> frame,
                                             const protocol::DavidSession& david) {
    constexpr std::size_t field = protocol::wire::length_bytes;
    try {
        protocol::wire::decode_length(frame.first<field>(), david.max_payload());
    } catch (const ProtocolError&) {
        return {};
    }
    return frame.subspan(field);
}

/// The answers of a David with these weights.
inline Json answers_to_frames(const Json& in, const kernels::OffloadedWeights& weights) {
    const protocol::DavidModel model{weights, *set_of_case,
                                     array_of<std::uint8_t, 32>(in["digest"])};
    protocol::DavidSession david(model);
    Json answers = Json::array();
    bool refused = false;
    for (const Json& frame : in["frames"]) {
        const Bytes bytes = bytes_of(frame);
        if (david.finished()) {  // after the end there is no answer
            try {
                answers.push_back(
                    hex_of(david.handle(std::span(bytes).subspan(protocol::wire::length_bytes))));
            } catch (const ProtocolError&) {
            }
            continue;
        }
        const auto answer = david.handle(payload_of(bytes, david));
        answers.push_back(answer.empty() ? Json(nullptr) : hex_of(answer));
        refused = !answer.empty() && answer[protocol::wire::length_bytes] == std::byte{7};
    }
    if (refused) throw Refused("David refuses", {{"answers", answers}});
    return {{"answers", answers}};
}

inline Json david_session(const Json& in) {
    if (set_of_case->hides_weights) {
        const StackedWeights weights(in);
        return answers_to_frames(in, weights.views);
    }
    const Weights weights(in["groups"], [](const Json& W_D) -> const Json& { return W_D; });
    return answers_to_frames(in, weights.views);
}

/// A peer whose frames are given in advance.
class Script : public Transport {
public:
    explicit Script(const Json& answers) {
        for (const Json& frame : answers) {
            const Bytes bytes = bytes_of(frame);
            script_.insert(script_.end(), bytes.begin(), bytes.end());
        }
    }
    void send(std::span<const std::byte> bytes) override {
        sent_.insert(sent_.end(), bytes.begin(), bytes.end());
    }
    void receive(std::span<std::byte> bytes) override {
        if (script_.size() - read_ < bytes.size()) throw ProtocolError("the stream ended");
        std::copy_n(script_.begin() + static_cast<std::ptrdiff_t>(read_), bytes.size(),
                    bytes.begin());
        read_ += bytes.size();
    }
    /// The frames that were sent.
    std::vector<Bytes> frames() const {
        std::vector<Bytes> result;
        for (std::size_t at = 0; at < sent_.size();) {
            std::uint32_t length = 0;
            std::memcpy(&length, sent_.data() + at, sizeof length);
            const auto first = sent_.begin() + static_cast<std::ptrdiff_t>(at);
            at += protocol::wire::length_bytes + length;
            result.emplace_back(first, sent_.begin() + static_cast<std::ptrdiff_t>(at));
        }
        return result;
    }

private:
    Bytes script_, sent_;
    std::size_t read_ = 0;
};

inline Json hex_of(const std::vector<Bytes>& frames) {
    Json list = Json::array();
    for (const Bytes& frame : frames) list.push_back(hex_of(std::span<const std::byte>(frame)));
    return list;
}

/// Removes a final ABORT; returns whether there was one.
inline bool take_abort(std::vector<Bytes>& frames) {
    const bool abort =
        !frames.empty() && frames.back() == protocol::wire::encode_empty(FrameType::abort);
    if (abort) frames.pop_back();
    return abort;
}

/// Opens a session with a scripted David, does `work`, closes. Returns what was sent.
inline Json run_charlie(const Json& in, const CharliesGroups& groups,
                        const std::function<void(protocol::CharlieSession&)>& work) {
    Script script(in["answers"]);
    const auto key = array_of<std::uint8_t, 32>(in["key"]);
    const auto ended = [&](const char* end) {
        std::vector<Bytes> frames = script.frames();
        const bool abort = take_abort(frames);
        return Json{{"end", end}, {"sent", hex_of(frames)}, {"abort", abort}};
    };
    try {
        protocol::SessionOptions options;
        options.stock.depth = 0;  // masks are drawn when they are used, in the order of the case
        options.keys.given_keys = key;
        options.wrong_peers = nullptr;  // a wrong reply in one case must not refuse the next
        options.shared = groups.masks();
        const protocol::IntegrityCheck check = groups.check();
        protocol::CharlieSession charlie(groups.weights.views, check, *set_of_case,
                                         array_of<std::uint8_t, 32>(in["digest"]), script, options);
        work(charlie);
        charlie.close();
    } catch (const IntegrityError& error) {
        throw Refused(error.what(), ended("integrity error"));
    } catch (const ProtocolError& error) {
        throw Refused(error.what(), ended("protocol error"));
    }
    return hex_of(script.frames());
}

inline Products apply(protocol::CharlieSession& charlie, const CharliesGroups& groups,
                      base::GroupId group, base::MatrixView<const std::int16_t> q) {
    const std::size_t rows = groups.rows(group);
    Products products(q.rows() * rows);
    charlie.send(group, q);
    charlie.receive({products.data(), q.rows(), rows});
    return products;
}

inline Json charlie_session(const Json& in) {
    const CharliesGroups groups(in);
    Json results = Json::array();
    const Json sent = run_charlie(in, groups, [&](protocol::CharlieSession& charlie) {
        for (const Json& message : in["messages"]) {
            const Table<std::int16_t> q(message["q"]);
            const base::GroupId group = message["group"];
            results.push_back(
                lists_of(apply(charlie, groups, group, q.view()), groups.rows(group)));
        }
    });
    return {{"end", "closed"}, {"sent", sent}, {"y_D", results}};
}

/// The outputs of all members of a group for one token.
inline Json outputs_of(const Json& group, const Token& token, std::span<const std::int64_t> y_D) {
    std::vector<float> all;
    for (const Json& member : group["members"]) {
        const std::size_t m = member["A"].size();
        const auto part = y_D.subspan(all.size(), m);
        const auto y_int =
            low_rank(member["A"], member["B"], token.q, Products(part.begin(), part.end()));
        const auto y = dequantised(y_int, member["row_scale"], token.scale);
        all.insert(all.end(), y.begin(), y.end());
    }
    return bits_of(all);
}

inline Json apply_to_tokens(protocol::CharlieSession& charlie, const CharliesGroups& groups,
                            const Json& group, const Json& message) {
    std::vector<Token> tokens;
    std::vector<std::int16_t> q;
    for (const Json& x : message["x"]) {
        tokens.push_back(quantised(floats_of(x), group["activation_norm"]));
        q.insert(q.end(), tokens.back().q.begin(), tokens.back().q.end());
    }
    const Products products = apply(charlie, groups, message["group"],
                                    {q.data(), tokens.size(), q.size() / tokens.size()});
    Json outputs = Json::array();
    const std::size_t rows = products.size() / tokens.size();
    for (std::size_t t = 0; t < tokens.size(); ++t) {
        outputs.push_back(
            outputs_of(group, tokens[t], std::span(products).subspan(t * rows, rows)));
    }
    return outputs;
}

inline Json model_transcript(const Json& in) {
    const CharliesGroups groups(in);
    Json y = Json::array();
    const Json sent = run_charlie(in, groups, [&](protocol::CharlieSession& charlie) {
        for (const Json& message : in["messages"]) {
            const Json& group = in["groups"].at(message["group"].get<std::size_t>());
            y.push_back(apply_to_tokens(charlie, groups, group, message));
        }
    });
    return {{"sent", sent}, {"y", y}};
}

}  // namespace slip::answers

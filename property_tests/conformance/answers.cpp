// Answers the conformance vectors with optimized/: one JSON object a line on stdin, one on stdout.
// conformance/README.md describes the exchange and the operations. What an operation names is done
// by the functions and the sessions that the product ships; here is only the reading and writing.
#include <functional>
#include <iostream>
#include <map>
#include <string>

<<<<<<< HEAD
#include "property_tests/conformance/arithmetic.hpp"
#include "property_tests/conformance/sessions.hpp"
#include "property_tests/conformance/splitting.hpp"
=======
#include "optimized/artifact/layout.hpp"
#include "optimized/artifact/plan.hpp"
#include "optimized/artifact/plan_json.hpp"
#include "optimized/base/error.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/kernels/mersenne31.hpp"
#include "optimized/kernels/mersenne61.hpp"
#include "optimized/kernels/registry.hpp"
#include "optimized/protocol/charlie.hpp"
#include "optimized/protocol/david.hpp"
#include "optimized/protocol/frames.hpp"
#include "optimized/protocol/integrity.hpp"
#include "optimized/protocol/mask_stream.hpp"
#include "optimized/split/decomposition.hpp"
#include "property_tests/generators/packed_factors.hpp"
>>>>>>> main

namespace slip::answers {
namespace {

<<<<<<< HEAD
=======
using Json = nlohmann::json;
using Bytes = std::vector<std::byte>;
template <class P>
using Residues = std::vector<typename P::Residue>;
template <class P>
using Products = std::vector<typename P::Product>;

template <class P>
const kernels::ResidueKernels<P>& residue_kernels() {
    return kernels::active().of<P>();
}

/// The case is invalid: a step refuses its input, as it must.
class Refused : public std::runtime_error {
public:
    explicit Refused(const std::string& why, Json what = nullptr)
        : std::runtime_error(why), output(std::move(what)) {}
    Json output;  ///< what was sent before, or null
};

// Reading and writing ---------------------------------------------------------------------------

Bytes bytes_of(const Json& hex) {
    const std::string text = hex.get<std::string>();
    Bytes bytes;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
        bytes.push_back(static_cast<std::byte>(std::stoul(text.substr(i, 2), nullptr, 16)));
    }
    return bytes;
}

Json hex_of(std::span<const std::byte> bytes) {
    std::string text;
    for (const std::byte byte : bytes) {
        text += "0123456789abcdef"[std::to_integer<unsigned>(byte >> 4)];
        text += "0123456789abcdef"[std::to_integer<unsigned>(byte & std::byte{15})];
    }
    return text;
}

template <class T, std::size_t n>
std::array<T, n> array_of(const Json& hex) {
    const Bytes bytes = bytes_of(hex);
    std::array<T, n> result{};
    std::transform(bytes.begin(), bytes.end(), result.begin(),
                   [](std::byte byte) { return std::to_integer<T>(byte); });
    return result;
}

float float_of(const Json& bits) {
    return std::bit_cast<float>(
        static_cast<std::uint32_t>(std::stoul(bits.get<std::string>(), nullptr, 16)));
}

double double_of(const Json& bits) {
    return std::bit_cast<double>(std::uint64_t{std::stoull(bits.get<std::string>(), nullptr, 16)});
}

Json bits_of(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    std::string text;
    for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[(bits >> shift) & 15];
    return text;
}

std::vector<float> floats_of(const Json& bits) {
    std::vector<float> values;
    for (const Json& entry : bits) values.push_back(float_of(entry));
    return values;
}

Json bits_of(std::span<const float> values) {
    Json result = Json::array();
    for (const float value : values) result.push_back(bits_of(value));
    return result;
}

/// A matrix by rows, or a message by columns: lists of equal length, one after the other.
template <class T>
struct Table {
    std::size_t rows = 0;
    std::size_t cols = 0;
    std::vector<T> entries;

    explicit Table(const Json& lists) : rows(lists.size()) {
        for (const Json& list : lists) {
            cols = list.size();
            for (const Json& entry : list) entries.push_back(entry.get<T>());
        }
        require(entries.size() == rows * cols, "the lists of a table have one length");
    }
    MatrixView<const T> view() const { return {entries.data(), rows, cols}; }
};

/// Cuts `entries` into lists of `length`.
template <class T>
Json lists_of(const std::vector<T>& entries, std::size_t length) {
    Json lists = Json::array();
    for (std::size_t i = 0; i < entries.size(); i += length) {
        lists.push_back(std::vector<T>(entries.begin() + static_cast<std::ptrdiff_t>(i),
                                       entries.begin() + static_cast<std::ptrdiff_t>(i + length)));
    }
    return lists;
}

KeyStream keystream_of(const std::array<std::uint8_t, 32>& key) {
    return KeyStream({.test_keys = key});
}

// Arithmetic, sampler, masks --------------------------------------------------------------------

template <class P>
Json embed(const Json& in) {
    Json residues = Json::array();
    for (const Json& v : in["values"]) {
        const auto value = v.get<std::int64_t>();
        if constexpr (profile_of<P> == Profile::p31) {
            residues.push_back(kernels::embed_p31(value));
        } else if (std::abs(value) < static_cast<std::int64_t>(P::p)) {
            residues.push_back(kernels::embed_p61(value));
        } else {  // beyond what embed_p61 takes: a multiple of p makes it positive
            const auto positive = kernels::Int128{value} + 8 * kernels::Int128{P::p};
            residues.push_back(kernels::reduce_p61_wide(static_cast<kernels::UInt128>(positive)));
        }
    }
    return {{"residues", residues}};
}

template <class P>
Json lift(const Json& in) {
    Json values = Json::array();
    for (const Json& r : in["residues"]) {
        if constexpr (profile_of<P> == Profile::p31) {
            values.push_back(kernels::lift_p31(r.get<std::uint32_t>()));
        } else {
            values.push_back(kernels::lift_p61(r.get<std::uint64_t>()));
        }
    }
    return {{"values", values}};
}

/// `operation` of every pair (a, b), below 2^122, reduced.
template <class P, class Operation>
Json entrywise(const Json& in, const Operation& operation) {
    Json result = Json::array();
    for (std::size_t i = 0; i < in["a"].size(); ++i) {
        const kernels::UInt128 value = operation(kernels::UInt128{in["a"][i].get<std::uint64_t>()},
                                                 kernels::UInt128{in["b"][i].get<std::uint64_t>()});
        if constexpr (profile_of<P> == Profile::p31) {
            result.push_back(kernels::reduce_p31(static_cast<std::uint64_t>(value)));
        } else {
            result.push_back(kernels::reduce_p61_wide(value));
        }
    }
    return {{"result", result}};
}

template <class P>
Json ring_add(const Json& in) {
    return entrywise<P>(in, [](auto a, auto b) { return a + b; });
}
template <class P>
Json ring_subtract(const Json& in) {
    return entrywise<P>(in, [](auto a, auto b) { return a + P::p - b; });
}
template <class P>
Json ring_multiply(const Json& in) {
    return entrywise<P>(in, [](auto a, auto b) { return a * b; });
}

template <class P>
Json sample(const Json& in) {
    const Bytes bytes = bytes_of(in["bytes"]);
    Residues<P> words(bytes.size() / sizeof(typename P::Residue));
    std::memcpy(words.data(), bytes.data(), words.size() * sizeof(typename P::Residue));
    Residues<P> residues(words.size());
    const std::size_t accepted =
        residue_kernels<P>().sample(words.data(), words.size(), residues.data());
    require(accepted >= in["count"].get<std::size_t>(), "the words are enough");
    residues.resize(in["count"].get<std::size_t>());
    return {{"residues", residues}};
}

template <class P>
Residues<P> stream_of(const Json& key, StreamTag tag, std::uint64_t index, std::size_t count) {
    const auto key_bytes = array_of<std::uint8_t, 32>(key);
    Residues<P> residues(count);
    keystream_of(key_bytes).draw<P>(tag, index, std::span(residues));
    return residues;
}

template <class P>
Json draw_mask(const Json& in) {
    return {{"mask", stream_of<P>(in["key"], StreamTag::mask, in["index"], in["n"])}};
}

template <class P>
Json draw_rho(const Json& in) {
    const std::size_t rows = in["rows"];
    return {{"rho",
             lists_of(stream_of<P>(in["key"], StreamTag::integrity, in["group"], rows * kappa<P>),
                      kappa<P>)}};
}

template <class P>
Json mask(const Json& in) {
    const std::vector<std::int16_t> q = in["q"];
    const Residues<P> r = in["r"];
    Residues<P> masked(q.size());
    residue_kernels<P>().mask(q.data(), r.data(), q.size(), masked.data());
    return {{"x_masked", masked}};
}

template <class P>
Json unmask(const Json& in) {
    const Residues<P> y = in["y_masked"], c = in["c"];
    Products<P> products(y.size());
    residue_kernels<P>().unmask(y.data(), c.data(), y.size(), products.data());
    return {{"y_D", products}};
}

// Products and the check ------------------------------------------------------------------------

template <class P>
Residues<P> multiply(const Table<std::int8_t>& W_D, const Table<typename P::Residue>& x) {
    Residues<P> y(W_D.rows * x.rows);
    WeightMatrix(W_D.view()).multiply<P>(x.entries, y);
    return y;
}

template <class P>
Json cancellation(const Json& in) {
    return {{"c", multiply<P>(Table<std::int8_t>(in["W_D"]),
                              Table<typename P::Residue>(Json{in["r"]}))}};
}

template <class P>
Json david_product(const Json& in) {
    const Table<std::int8_t> W_D(in["W_D"]);
    return {{"y_masked",
             lists_of(multiply<P>(W_D, Table<typename P::Residue>(in["x_masked"])), W_D.rows)}};
}

template <class P>
Json integrity_s(const Json& in) {
    const Table<std::int8_t> W_D(in["W_D"]);
    Json rows(W_D.cols, Json::array());
    for (std::size_t repetition = 0; repetition < kappa<P>; ++repetition) {
        Residues<P> rho, s(W_D.cols);
        for (const Json& row : in["rho"]) rho.push_back(row[repetition]);
        WeightMatrix(W_D.view()).check_vector<P>(rho, s);
        for (std::size_t j = 0; j < s.size(); ++j) rows[j].push_back(s[j]);
    }
    return {{"s", rows}};
}

template <class P>
Json integrity_check(const Json& in) {
    const Table<std::int8_t> W_D(in["W_D"]);
    const auto key = array_of<std::uint8_t, 32>(in["key"]);
    KeyStream keys = keystream_of(key);
    Life life;
    const IntegrityCheck<P> check(W_D.view(), in["group"], keys, life);
    if (!check.accepts(Table<typename P::Residue>(in["x_masked"]).entries,
                       Table<typename P::Residue>(in["y_masked"]).entries)) {
        throw Refused("the reply is rejected");
    }
    return Json::object();
}

/// LIN-2 for one member. `y_D` may exceed 32 bits in the cases about wrapping, so the kernel of the
/// wide profile is asked; its arithmetic is the same.
std::vector<std::int64_t> low_rank(const Json& A_rows, const Json& B_rows,
                                   const std::vector<std::int16_t>& q,
                                   const std::vector<std::int64_t>& y_D) {
    const Table<std::int32_t> A(A_rows);
    const Table<std::int16_t> B(B_rows);
    const auto z = low_rank_inner(kernels::active(), B.entries, B.rows, q.data(), q.size());
    return low_rank_outer<P61>(kernels::active(), A.entries, A.rows, z, limbs_of(z), y_D.data());
}

Json low_rank(const Json& in) {
    return {{"y_int", low_rank(in["A"], in["B"], in["q"], in["y_D"])}};
}

// Encoding --------------------------------------------------------------------------------------

struct Token {
    std::vector<std::int16_t> q;
    float scale;
};

Token quantised(const std::vector<float>& x, std::int32_t qa_max) {
    Token token{std::vector<std::int16_t>(x.size()), 0};
    token.scale = kernels::active().quantise(x.data(), x.size(), qa_max, token.q.data());
    if (!(token.scale > 0)) throw Refused("activation is not finite");
    return token;
}

Json quantise(const Json& in) {
    const Token token = quantised(floats_of(in["x"]), in["qa_max"]);
    return {{"q", token.q}, {"scale", bits_of(token.scale)}};
}

std::vector<float> dequantised(const std::vector<std::int64_t>& y, const Json& row_scale,
                               float token_scale) {
    std::vector<float> result(y.size());
    kernels::active().dequantise(y.data(), floats_of(row_scale).data(), token_scale, y.size(),
                                 result.data());
    return result;
}

Json dequantise(const Json& in) {
    return {{"y", bits_of(dequantised(in["y_int"], in["row_scale"], float_of(in["token_scale"])))}};
}

// Splitting -------------------------------------------------------------------------------------

Json round(const Json& in) {
    Json integers = Json::array();
    for (const Json& value : in["values"]) {
        integers.push_back(static_cast<std::int64_t>(round_half_even(double_of(value))));
    }
    return {{"integers", integers}};
}

template <class P>
std::int32_t largest_activation_of(const Json& row_norms) {
    const auto norms = row_norms.get<std::vector<std::uint64_t>>();
    return largest_activation(profile_of<P>, *std::max_element(norms.begin(), norms.end()));
}

template <class P>
Json activation_bound(const Json& in) {
    const std::int32_t qa_max = largest_activation_of<P>(in["row_norms"]);
    if (qa_max < parameters::smallest_qa_max) throw Refused("too few steps for an activation");
    return {{"qa_max", qa_max}};
}

template <class P>
Json modulus_bound(const Json& in) {
    if (in["qa_max"] > largest_activation_of<P>(in["row_norms"])) {
        throw Refused("activations are too wide");
    }
    return Json::object();
}

Json product_bound(const Json& in) {
    const Table<std::int32_t> A(in["A"]);
    const Table<std::int16_t> B(in["B"]);
    const Table<std::int8_t> W_D(in["W_D"]);
    if (!fits_64_bits({W_D.rows, W_D.cols, B.rows, W_D.entries, A.entries, B.entries, {}},
                      in["qa_max"])) {
        throw Refused("a product may not fit 64 bits");
    }
    return Json::object();
}

/// A layer of [block or null, layer type] with an m x n matrix, as a group of its own.
GroupShape layer(const Json& name, std::size_t m, std::size_t n) {
    MemberShape member;
    if (!name[0].is_null()) member.block = name[0].get<std::size_t>();
    member.layer_type = name[1];
    member.m = m;
    return {n, {member}};
}

Json plan(const Json& in) {
    std::vector<GroupShape> layers;
    for (const Json& name : in["layers"]) layers.push_back(layer(name, 1024, 1024));
    std::vector<std::string> cuts;
    Json ranks = Json::array();
    for (const auto& members :
         ranks_of(plan_from_json(in["plan"], "plan"), layers, Strategy::lsc, cuts)) {
        ranks.push_back(members.front());
    }
    return {{"ranks", ranks}};
}

Json retained_rank(const Json& in) {
    std::vector<std::string> cuts;
    const auto ranks = ranks_of({{0, "q_proj", in["K"]}}, {layer({0, "q_proj"}, in["m"], in["n"])},
                                Strategy::lsc, cuts);
    return {{"rank", ranks.front().front()}};
}

Json row_scale_of(const Json& in) {
    const float delta =
        row_scale(double_of(in["largest_residual"]), largest_weight(in.value("weight_bits", 8U)),
                  double_of(in["largest_factor"]), double_of(in["row_norm"]));
    return {{"delta", bits_of(delta)}};
}

Json integer_weights_of(const Json& in) {
    const Table<std::int32_t> A(in["A"]);
    const Table<std::int16_t> B(in["B"]);
    const Table<std::int8_t> W_D(in["W_D"]);
    // Without rows B does not tell its columns.
    const auto W_int = integer_weights(W_D.view(), A.view(), {B.entries.data(), B.rows, W_D.cols});
    return {{"W_int", lists_of(W_int, W_D.cols)}};
}

// Frames ----------------------------------------------------------------------------------------

template <class P>
Json residue_encode(const Json& in) {
    const Residues<P> residues = in["residues"];
    Bytes frame(wire::columns_frame_bytes(std::span(residues).size_bytes()));
    wire::encode_columns<P>(wire::FrameType::apply, {0, 0, 1}, std::span(residues), frame);
    return {{"bytes", hex_of(std::span(frame).subspan(wire::columns_header_bytes))}};
}

template <class P>
Json residue_decode(const Json& in) {
    const Bytes bytes = bytes_of(in["bytes"]);
    Residues<P> residues(bytes.size() / sizeof(typename P::Residue));
    Bytes payload(wire::columns_header_bytes - wire::length_bytes);
    payload[0] = std::byte{3};
    payload.insert(payload.end(), bytes.begin(), bytes.end());
    wire::decode_residues<P>(payload, {0, 0, 1}, residues.size(), std::span(residues));
    return {{"residues", residues}};
}

using wire::FrameType;

const std::map<std::string, FrameType>& type_names() {
    static const std::map<std::string, FrameType> names{
        {"HELLO", FrameType::hello},  {"READY", FrameType::ready}, {"APPLY", FrameType::apply},
        {"REPLY", FrameType::reply},  {"ABORT", FrameType::abort}, {"CLOSE", FrameType::close},
        {"REFUSE", FrameType::refuse}};
    return names;
}

template <class P>
Json decoded(std::span<const std::byte> payload, const Json& groups) {
    const FrameType type = wire::frame_type(payload);
    Json frame;
    for (const auto& [name, value] : type_names()) {
        if (value == type) frame["type"] = name;
    }
    if (type == FrameType::hello) {
        const wire::Hello hello = wire::decode_hello(payload);
        frame["version"] = hello.version;
        frame["profile"] = static_cast<int>(hello.profile);
        frame["digest"] = hex_of(std::as_bytes(std::span(hello.digest)));
    } else if (type == FrameType::refuse) {
        frame["reason"] = static_cast<int>(wire::decode_refuse(payload));
    } else if (type == FrameType::apply || type == FrameType::reply) {
        const wire::ColumnsHeader header = wire::decode_columns_header(type, payload);
        const Json& shape = groups.at(header.group);
        const std::size_t rows = shape.at(type == FrameType::apply ? "n" : "M");
        wire::require_columns_length<P>(payload, header, rows);
        Residues<P> residues(header.columns * rows);
        wire::decode_residues<P>(payload, header, rows, std::span(residues));
        frame["sequence"] = header.sequence;
        frame["group"] = header.group;
        frame["columns"] = lists_of(residues, rows);
    } else {
        wire::decode_empty(type, payload);
    }
    return frame;
}

template <class P>
Json decode_frame(const Json& in) {
    const Bytes bytes = bytes_of(in["bytes"]);
    if (bytes.size() < wire::length_bytes) throw Refused("the length is cut");
    const std::size_t length = wire::decode_length(
        std::span<const std::byte>(bytes).first<wire::length_bytes>(), wire::max_frame_length);
    if (bytes.size() != wire::length_bytes + length) throw Refused("bytes are missing or too many");
    return {{"frame", decoded<P>(std::span(bytes).subspan(wire::length_bytes), in["groups"])}};
}

template <class P>
Bytes encoded(const Json& frame, const Json& groups) {
    const FrameType type = type_names().at(frame["type"]);
    if (type == FrameType::hello) {
        return wire::encode_hello({frame["version"], static_cast<Profile>(frame["profile"]),
                                   array_of<std::uint8_t, 32>(frame["digest"])});
    }
    if (type == FrameType::refuse) {
        return wire::encode_refuse(static_cast<wire::Refusal>(frame["reason"]));
    }
    if (type != FrameType::apply && type != FrameType::reply) return wire::encode_empty(type);
    const Table<typename P::Residue> columns(frame["columns"]);
    const Json& shape = groups.at(frame["group"].template get<std::size_t>());
    const std::size_t rows = shape.at(type == FrameType::apply ? "n" : "M");
    // The sessions know the shapes of their groups; the encoder sees the residues only.
    if (columns.rows > 0 && columns.cols != rows) throw Refused("a column of another length");
    Bytes bytes(wire::columns_frame_bytes(std::span(columns.entries).size_bytes()));
    wire::encode_columns<P>(
        type, {frame["sequence"], frame["group"], static_cast<std::uint32_t>(columns.rows)},
        std::span(columns.entries), bytes);
    return bytes;
}

template <class P>
Json encode_frame(const Json& in) {
    try {
        return {{"bytes", hex_of(encoded<P>(in["frame"], in["groups"]))}};
    } catch (const InternalError& error) {
        throw Refused(error.what());  // the encoder refuses its arguments (WIRE-8)
    }
}

// Sessions --------------------------------------------------------------------------------------

/// The stacked W_D of every group, and the views that sessions take.
struct Weights {
    std::vector<Table<std::int8_t>> tables;
    OffloadedWeights views;

    void add(const Json& W_D) { tables.emplace_back(W_D); }
    void finish() {
        for (const auto& table : tables) views.push_back(table.view());
    }
};

template <class P>
Json david_session(const Json& in) {
    Weights weights;
    for (const Json& W_D : in["groups"]) weights.add(W_D);
    weights.finish();
    const DavidModel model{weights.views, array_of<std::uint8_t, 32>(in["digest"]), profile_of<P>};
    const auto david = make_david_session(model);
    Json answers = Json::array();
    bool refused = false;
    for (const Json& frame : in["frames"]) {
        const Bytes bytes = bytes_of(frame);
        if (david->finished()) {  // after the end there is no answer
            try {
                answers.push_back(
                    hex_of(david->handle(std::span(bytes).subspan(wire::length_bytes))));
            } catch (const ProtocolError&) {
            }
            continue;
        }
        const auto answer = david->handle(std::span(bytes).subspan(wire::length_bytes));
        answers.push_back(answer.empty() ? Json(nullptr) : hex_of(answer));
        refused = !answer.empty() && answer[wire::length_bytes] == std::byte{7};
    }
    if (refused) throw Refused("David refuses", {{"answers", answers}});
    return {{"answers", answers}};
}

/// A peer whose bytes are written down.
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
    /// What was sent, a frame each.
    std::vector<Bytes> frames() const {
        std::vector<Bytes> result;
        for (std::size_t at = 0; at < sent_.size();) {
            std::uint32_t length = 0;
            std::memcpy(&length, sent_.data() + at, sizeof length);
            const auto first = sent_.begin() + static_cast<std::ptrdiff_t>(at);
            at += wire::length_bytes + length;
            result.emplace_back(first, sent_.begin() + static_cast<std::ptrdiff_t>(at));
        }
        return result;
    }

private:
    Bytes script_, sent_;
    std::size_t read_ = 0;
};

Json hex_of(const std::vector<Bytes>& frames) {
    Json list = Json::array();
    for (const Bytes& frame : frames) list.push_back(hex_of(std::span<const std::byte>(frame)));
    return list;
}

/// Opens a session with a scripted David, does `work`, closes. Returns what was sent.
template <class P>
Json run_charlie(const Json& in, const Weights& weights,
                 const std::function<void(CharlieSession<P>&)>& work) {
    Script script(in["answers"]);
    const auto key = array_of<std::uint8_t, 32>(in["key"]);
    const auto ended = [&](const char* end) {
        std::vector<Bytes> frames = script.frames();
        const bool abort = !frames.empty() && frames.back() == wire::encode_empty(FrameType::abort);
        if (abort) frames.pop_back();
        return Json{{"end", end}, {"sent", hex_of(frames)}, {"abort", abort}};
    };
    try {
        SessionOptions options;
        options.pool.depth = 0;  // masks are made as they are used, so that indices are as given
        options.keys.test_keys = key;
        options.limiter = nullptr;  // every case is a session, whatever the one before it was
        CharlieSession<P> charlie(weights.views, array_of<std::uint8_t, 32>(in["digest"]), script,
                                  options);
        work(charlie);
        charlie.close();
    } catch (const IntegrityError& error) {
        throw Refused(error.what(), ended("integrity error"));
    } catch (const ProtocolError& error) {
        throw Refused(error.what(), ended("protocol error"));
    }
    return hex_of(script.frames());
}

template <class P>
Products<P> apply(CharlieSession<P>& charlie, const Weights& weights, GroupId group,
                  MatrixView<const std::int16_t> q) {
    const std::size_t rows = weights.tables.at(group).rows;
    Products<P> products(q.rows() * rows);
    charlie.send(group, q);
    charlie.receive({products.data(), q.rows(), rows});
    return products;
}

template <class P>
Json charlie_session(const Json& in) {
    Weights weights;
    for (const Json& W_D : in["groups"]) weights.add(W_D);
    weights.finish();
    Json results = Json::array();
    const Json sent = run_charlie<P>(in, weights, [&](CharlieSession<P>& charlie) {
        for (const Json& message : in["messages"]) {
            const Table<std::int16_t> q(message["q"]);
            const GroupId group = message["group"];
            results.push_back(lists_of(apply<P>(charlie, weights, group, q.view()),
                                       weights.tables.at(group).rows));
        }
    });
    return {{"end", "closed"}, {"sent", sent}, {"y_D", results}};
}

/// The outputs of all members of a group for one token.
template <class P>
Json outputs_of(const Json& group, const Token& token, std::span<const typename P::Product> y_D) {
    std::vector<float> all;
    for (const Json& member : group["members"]) {
        const std::size_t m = member["A"].size();
        const auto part = y_D.subspan(all.size(), m);
        const auto y_int = low_rank(member["A"], member["B"], token.q,
                                    std::vector<std::int64_t>(part.begin(), part.end()));
        const auto y = dequantised(y_int, member["row_scale"], token.scale);
        all.insert(all.end(), y.begin(), y.end());
    }
    return bits_of(all);
}

template <class P>
Json apply_to_tokens(CharlieSession<P>& charlie, const Weights& weights, const Json& group,
                     const Json& message) {
    std::vector<Token> tokens;
    std::vector<std::int16_t> q;
    for (const Json& x : message["x"]) {
        tokens.push_back(quantised(floats_of(x), group["qa_max"]));
        q.insert(q.end(), tokens.back().q.begin(), tokens.back().q.end());
    }
    const Products<P> products = apply<P>(charlie, weights, message["group"],
                                          {q.data(), tokens.size(), q.size() / tokens.size()});
    Json outputs = Json::array();
    const std::size_t rows = products.size() / tokens.size();
    for (std::size_t t = 0; t < tokens.size(); ++t) {
        outputs.push_back(
            outputs_of<P>(group, tokens[t], std::span(products).subspan(t * rows, rows)));
    }
    return outputs;
}

template <class P>
Json model_transcript(const Json& in) {
    Weights weights;
    for (const Json& group : in["groups"]) weights.add(group["W_D"]);
    weights.finish();
    Json y = Json::array();
    const Json sent = run_charlie<P>(in, weights, [&](CharlieSession<P>& charlie) {
        for (const Json& message : in["messages"]) {
            const Json& group = in["groups"].at(message["group"].get<std::size_t>());
            y.push_back(apply_to_tokens<P>(charlie, weights, group, message));
        }
    });
    return {{"sent", sent}, {"y", y}};
}

// The exchange ----------------------------------------------------------------------------------

>>>>>>> main
using Operations = std::map<std::string, std::function<Json(const Json&)>>;

/// What does not depend on the profile stands in both tables.
template <class P>
const Operations& operations() {
    static const Operations table{
        {"embed", embed<P>},
        {"lift", lift<P>},
        {"ring_add", ring_add<P>},
        {"ring_subtract", ring_subtract<P>},
        {"ring_multiply", ring_multiply<P>},
        {"residue_encode", residue_encode<P>},
        {"residue_decode", residue_decode<P>},
        {"sample", sample<P>},
        {"draw_mask", draw_mask<P>},
        {"draw_rho", draw_rho<P>},
        {"mask", mask<P>},
        {"unmask", unmask<P>},
        {"cancellation", cancellation<P>},
        {"david_product", david_product<P>},
        {"low_rank", [](const Json& in) { return low_rank(in); }},
        {"integrity_s", integrity_s<P>},
        {"integrity_check", integrity_check<P>},
        {"quantise", quantise},
        {"dequantise", dequantise},
        {"round", round},
        {"activation_bound", activation_bound<P>},
        {"modulus_bound", modulus_bound<P>},
        {"product_bound", product_bound},
        {"plan", plan},
        {"retained_rank", retained_rank},
        {"row_scale", row_scale_of},
        {"integer_weights", integer_weights_of},
        {"decode_frame", decode_frame<P>},
        {"encode_frame", encode_frame<P>},
        {"david_session", david_session<P>},
        {"charlie_session", charlie_session<P>},
        {"model_transcript", model_transcript<P>},
    };
    return table;
}

Json answer(const Json& request) {
    if (request["request"] == "hello") {
        return {{"name", std::string("slip, kernels ") + kernels::active().name},
                {"features", {"david", "charlie", "p61", "arithmetic", "owner"}}};
    }
    Json reply{{"id", request["id"]}};
    const Operations& table = request["profile"] == "P61" ? operations<P61>() : operations<P31>();
    const auto operation = table.find(request["operation"]);
    if (operation == table.end()) {
        reply["result"] = "unimplemented";
        return reply;
    }
    try {
        reply["output"] = operation->second(request["input"]);
        reply["result"] = "valid";
    } catch (const Refused& refused) {
        reply["result"] = "invalid";
        reply["output"] = refused.output.is_null() ? Json::object() : refused.output;
    } catch (const ProtocolError&) {
        reply["result"] = "invalid";
    } catch (const BadInput&) {
        reply["result"] = "invalid";
    }
    return reply;
}

}  // namespace
}  // namespace slip::answers

int main() {
    for (std::string line; std::getline(std::cin, line);) {
        std::cout << slip::answers::answer(nlohmann::json::parse(line)) << std::endl;
    }
}

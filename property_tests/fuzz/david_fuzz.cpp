// David's state machine (SESS-1): any bytes at all in the place of Charlie's frames.
#include <optional>

#include "property_tests/fuzz/session.hpp"

namespace slip::fuzz {
namespace {

namespace wire = protocol::wire;
using protocol::wire::FrameType;
using Payload = std::span<const std::byte>;
using Residues = std::vector<P31::Residue>;

/// LIN-1, one element at a time.
Residues product(base::MatrixView<const std::int8_t> w, std::uint32_t columns,
                 const Residues& masked) {
    constexpr std::int64_t p = P31::p;
    Residues result;
    for (std::size_t c = 0; c < columns; ++c) {
        for (std::size_t i = 0; i < w.rows(); ++i) {
            std::int64_t sum = 0;
            for (std::size_t j = 0; j < w.cols(); ++j) {
                sum += std::int64_t{w.row(i)[j]} * masked[c * w.cols() + j];
            }
            result.push_back(static_cast<P31::Residue>((sum % p + p) % p));
        }
    }
    return result;
}

/// The REPLY that an APPLY must get, or nothing where David must refuse it.
std::optional<Bytes> expected_reply(Payload apply, std::uint64_t sequence) {
    std::optional<Bytes> reply;
    accepts<ProtocolError>([&] {
        const auto header = wire::decode_columns_header(FrameType::apply, apply);
        if (header.sequence != sequence || header.group >= matrices().size()) return;
        const auto w = matrices()[header.group];
        wire::require_columns_length<P31>(apply, header, w.cols());
        Residues masked(header.columns * w.cols());
        wire::decode_residues<P31>(apply, header, w.cols(), masked);
        reply = columns_frame(FrameType::reply, header, product(w, header.columns, masked));
    });
    return reply;
}

bool is(Payload payload, FrameType type) { return wire::frame_type(payload) == type; }

/// The frames of the input as David must have read them, one for each of his answers.
class Frames {
public:
    explicit Frames(Payload input) : rest_(input) {}

    /// The next payload; nothing if the input ends before it does.
    std::optional<Payload> next() {
        std::uint32_t length = 0;
        if (rest_.size() < sizeof length) return std::nullopt;
        std::memcpy(&length, rest_.data(), sizeof length);
        if (rest_.size() - sizeof length < length) return std::nullopt;
        const Payload payload = rest_.subspan(sizeof length, length);
        rest_ = rest_.subspan(sizeof length + length);
        return payload;
    }

private:
    Payload rest_;
};

/// Every answer is READY for the HELLO, the exact REPLY for the APPLY beside it, or a REFUSE that
/// ends the session.
void check_answers(Payload input, const std::vector<Payload>& answers) {
    Frames frames(input);
    std::uint64_t sequence = 0;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const auto frame = frames.next();
        if (is(answers[i], FrameType::refuse)) {
            wire::decode_refuse(answers[i]);
            expect(i + 1 == answers.size(), "David answers after a REFUSE");
            expect(i == 0 || !frame || !expected_reply(*frame, sequence),
                   "David refuses what he must answer");
        } else if (i == 0) {
            wire::decode_empty(FrameType::ready, answers[i]);
            expect(frame && wire::decode_hello(*frame) == wire::Hello{}, "READY for another HELLO");
        } else {
            const auto expected = frame ? expected_reply(*frame, sequence++) : std::nullopt;
            expect(expected && std::equal(answers[i].begin(), answers[i].end(),
                                          expected->begin() + wire::length_bytes, expected->end()),
                   "David's reply is not W_D x");
        }
    }
}

Bytes one_message_per_group() {
    constexpr P31::Residue largest = P31::p - 1;
    Bytes stream = wire::encode_hello({});
    append(stream, columns_frame(FrameType::apply, {0, 0, 1}, {0, 1, largest}));
    append(stream, columns_frame(FrameType::apply, {1, 2, 2}, {5, 6, 7, 8}));
    append(stream, columns_frame(FrameType::apply, {2, 1, 3}, {largest, 0, 1}));
    append(stream, columns_frame(FrameType::apply, {3, 3, 1}, {largest, 2, 0, 7}));
    return stream;
}

}  // namespace

/// WIRE-9: the largest APPLY that the groups allow, and its reply of 8 residues per column; the
/// vectors that grow to them have at most twice that.
const std::size_t allowance = 2 * 8 * 4096 * sizeof(P31::Residue) + 4096;

std::vector<Bytes> seeds() {
    std::vector<Bytes> inputs;
    for (const FrameType end : {FrameType::close, FrameType::abort}) {
        Bytes stream = one_message_per_group();
        append(stream, wire::encode_empty(end));
        inputs.push_back(stream);
    }
    return inputs;
}

/// Accepted is a session that Charlie ends.
bool check(std::span<const std::byte> input) {
    const auto session = protocol::make_david_session(model());
    Recording transport(input);
    const bool ended = accepts<ProtocolError>([&] { protocol::serve(*session, transport); });
    expect(ended == session->finished(), "serve returns before the session has ended");
    const auto answers = transport.sent();
    check_answers(input, answers);
    return ended && !answers.empty() && !is(answers.back(), FrameType::refuse);
}

}  // namespace slip::fuzz

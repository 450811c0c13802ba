// David's state machine (SESS-1): any bytes at all in the place of Charlie's frames.
#include <optional>
#include <utility>

#include "property_tests/fuzz/session.hpp"

namespace slip::fuzz {
namespace {

namespace wire = protocol::wire;
using protocol::wire::FrameType;
using Payload = std::span<const std::byte>;

/// LIN-1, one element at a time.
Residues product(base::MatrixView<const std::int8_t> w, std::span<const std::uint8_t> masked) {
    Residues result;
    for (std::size_t plane = 0; plane < masked.size() / w.cols(); ++plane) {
        const int prime = static_cast<int>(primes[plane % planes]);
        for (std::size_t i = 0; i < w.rows(); ++i) {
            int sum = 0;
            for (std::size_t j = 0; j < w.cols(); ++j) {
                sum += w.row(i)[j] * masked[plane * w.cols() + j];
            }
            result.push_back(static_cast<std::uint8_t>((sum % prime + prime) % prime));
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
        const auto masked = wire::decode_residues(apply, header, planes, w.cols());
        reply = columns_frame(FrameType::reply, header, product(w, masked));
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
            expect(frame && wire::decode_hello(*frame) == hello, "READY for another HELLO");
        } else {
            const auto expected = frame ? expected_reply(*frame, sequence++) : std::nullopt;
            expect(expected && std::equal(answers[i].begin(), answers[i].end(),
                                          expected->begin() + wire::length_bytes, expected->end()),
                   "David's reply is not W_D x");
        }
    }
}

Bytes one_message_per_group() {
    Bytes stream = wire::encode_hello(hello);
    std::uint64_t sequence = 0;
    for (const auto& [group, columns] : {std::pair{0U, 1U}, {2U, 2U}, {1U, 3U}, {3U, 1U}}) {
        const std::size_t n = matrices()[group].cols();
        Residues residues;  // all edges, and others
        for (std::size_t at = 0; at < columns * planes * n; ++at) {
            const unsigned prime = primes[at / n % planes];
            residues.push_back(
                static_cast<std::uint8_t>((at % 3 == 0 ? prime - 1 : 5 * at) % prime));
        }
        append(stream, columns_frame(FrameType::apply, {sequence++, group, columns}, residues));
    }
    return stream;
}

}  // namespace

/// WIRE-9: the largest APPLY that the groups allow, and its reply of 8 residues per column; the
/// vectors that grow to them have at most twice that.
const std::size_t allowance = 2 * 8 * 4096 * planes + 4096;

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
    protocol::DavidSession session(model());
    Recording transport(input);
    const bool ended = accepts<ProtocolError>([&] { protocol::serve(session, transport); });
    expect(ended == session.finished(), "serve returns before the session has ended");
    const auto answers = transport.sent();
    check_answers(input, answers);
    return ended && !answers.empty() && !is(answers.back(), FrameType::refuse);
}

}  // namespace slip::fuzz

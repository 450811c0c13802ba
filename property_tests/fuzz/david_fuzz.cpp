// David's state machine (SESS-1): any bytes at all in the place of Charlie's frames.
#include <array>
#include <functional>
#include <optional>

#include "property_tests/fuzz/session.hpp"

namespace slip::fuzz::david_fuzz {
namespace {

namespace wire = protocol::wire;
using protocol::wire::FrameType;
using Payload = std::span<const std::byte>;

using Matrix = base::MatrixView<const std::int8_t>;
/// What a group multiplies a column by in plane p: these matrices, stacked.
using Group = std::function<std::vector<Matrix>(std::size_t p)>;

/// A David, as the oracle knows him.
struct Held {
    const protocol::DavidModel& model;
    wire::Hello hello;
    std::vector<Group> groups;
};

/// A David with W_D in the clear, and one with a hidden matrix.
const std::array<Held, 2>& davids() {
    static const std::array<Held, 2> both = [] {
        std::vector<Group> clear;
        for (const Matrix& w : matrices()) {
            clear.emplace_back([w](std::size_t) { return std::vector{w}; });
        }
        const Group hidden = [](std::size_t p) {
            return std::vector<Matrix>{{hidden_rows.data() + p * 6, 2, hidden_width},
                                       {public_rows.data() + p * 12, 4, hidden_width}};
        };
        return std::array<Held, 2>{
            {{model(), hello, clear}, {hidden_model(), hidden_hello, {hidden}}}};
    }();
    return both;
}

/// LIN-1, one element at a time.
Residues product(const Group& group, std::span<const std::uint8_t> masked, std::size_t planes) {
    const std::size_t n = group(0).front().cols();
    Residues result;
    for (std::size_t at = 0; at < masked.size() / n; ++at) {
        const int prime = static_cast<int>(primes[at % planes]);
        for (const Matrix& w : group(at % planes)) {
            for (std::size_t i = 0; i < w.rows(); ++i) {
                int sum = 0;
                for (std::size_t j = 0; j < n; ++j) sum += w.row(i)[j] * masked[at * n + j];
                result.push_back(static_cast<std::uint8_t>((sum % prime + prime) % prime));
            }
        }
    }
    return result;
}

/// The REPLY that an APPLY must get, or nothing where David must refuse it.
std::optional<Bytes> expected_reply(const Held& held, Payload apply, std::uint64_t sequence) {
    std::optional<Bytes> reply;
    accepts<ProtocolError>([&] {
        const auto header = wire::decode_columns_header(FrameType::apply, apply);
        if (header.sequence != sequence || header.group >= held.groups.size()) return;
        const Group& group = held.groups[header.group];
        const std::size_t planes = held.model.set.planes;
        const auto masked = wire::decode_residues(apply, header, planes, group(0).front().cols());
        reply = columns_frame(FrameType::reply, header, product(group, masked, planes));
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
void check_answers(const Held& held, Payload input, const std::vector<Payload>& answers) {
    Frames frames(input);
    std::uint64_t sequence = 0;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const auto frame = frames.next();
        if (is(answers[i], FrameType::refuse)) {
            wire::decode_refuse(answers[i]);
            expect(i + 1 == answers.size(), "David answers after a REFUSE");
            expect(i == 0 || !frame || !expected_reply(held, *frame, sequence),
                   "David refuses what he must answer");
        } else if (i == 0) {
            wire::decode_empty(FrameType::ready, answers[i]);
            expect(frame && wire::decode_hello(*frame) == held.hello, "READY for another HELLO");
        } else {
            const auto expected = frame ? expected_reply(held, *frame, sequence++) : std::nullopt;
            expect(expected && std::equal(answers[i].begin(), answers[i].end(),
                                          expected->begin() + wire::length_bytes, expected->end()),
                   "David's reply is not what he holds times x");
        }
    }
}

/// Messages of 1, 2, ... columns.
Bytes one_message_per_group(const Held& held) {
    Bytes stream = wire::encode_hello(held.hello);
    const std::size_t planes = held.model.set.planes;
    std::uint64_t sequence = 0;
    for (std::uint32_t group = 0; group < held.groups.size(); ++group) {
        const std::size_t n = held.groups[group](0).front().cols();
        const std::uint32_t columns = group + 1;
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
const std::size_t allowance = 2 * 8 * 4096 * hidden_planes + 4096;

std::vector<Bytes> seeds() {
    std::vector<Bytes> inputs;
    for (const Held& held : davids()) {
        for (const FrameType end : {FrameType::close, FrameType::abort}) {
            Bytes stream = one_message_per_group(held);
            append(stream, wire::encode_empty(end));
            inputs.push_back(stream);
        }
    }
    return inputs;
}

namespace {

/// Whether `held` holds a session that Charlie ends.
bool serves(const Held& held, std::span<const std::byte> input) {
    protocol::DavidSession session(held.model);
    Recording transport(input);
    const bool ended = accepts<ProtocolError>([&] { protocol::serve(session, transport); });
    expect(ended == session.finished(), "serve returns before the session has ended");
    const auto answers = transport.sent();
    check_answers(held, input, answers);
    return ended && !answers.empty() && !is(answers.back(), FrameType::refuse);
}

}  // namespace

/// Either David gets the input; he to whom its HELLO is another's refuses it.
bool check(std::span<const std::byte> input) {
    const bool clear = serves(davids()[0], input);
    const bool hidden = serves(davids()[1], input);
    expect(!clear || !hidden, "two Davids of different sets accept the same HELLO");
    return clear || hidden;
}

const Target target{"david_fuzz", allowance, seeds, check};

}  // namespace slip::fuzz::david_fuzz

#include "optimized/protocol/charlie.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "optimized/base/error.hpp"
#include "optimized/protocol/charlie_columns.hpp"
#include "optimized/protocol/frames.hpp"
#include "optimized/protocol/growing_buffer.hpp"
#include "optimized/protocol/thread_clock.hpp"

namespace slip {

using wire::FrameType;
using Clock = std::chrono::steady_clock;

struct CharlieSession::State {
    State(const OffloadedWeights& w, Transport& t, const Options& options)
        : weights(w),
          transport(t),
          limiter(options.limiter),
          peer(t.peer_name()),
          keys(options.keys) {}

    void prepare(Profile profile);
    void open(const Digest& digest, const PoolOptions& pool_options);

    void send(std::uint32_t group, MatrixView<const std::int16_t> activations);
    void require_sendable(std::uint32_t group, MatrixView<const std::int16_t> activations) const;

    template <class Product>
    void receive(MatrixView<Product> products);
    void decode_reply(std::span<const std::byte> payload);
    [[noreturn]] void reject();

    void transmit(std::span<const std::byte> frame);
    std::span<const std::byte> receive_payload(std::size_t max_length);

    void wipe_secrets() noexcept;
    void give_up() noexcept;
    template <class Step>
    void run(const Step& step);

    const OffloadedWeights& weights;
    Transport& transport;
    ReconnectLimiter* limiter;  // null for no limit
    std::string peer;

    KeyStream keys;
    std::unique_ptr<CharlieColumns> columns;  // after the keys, which its pool's thread uses

    bool alive = false;    // READY has come, and nothing has ended the session since
    bool in_step = false;  // Charlie may send: no transport call has failed, David has not refused
    std::uint64_t next_sequence = 0;
    std::optional<wire::ColumnsHeader> outstanding;  // the APPLY that waits for its REPLY
    Clock::time_point sent_at;
    std::vector<std::byte> payload;  // as large as the largest so far
    SessionStatistics statistics;
};

void CharlieSession::State::prepare(Profile profile) {
    const double start = thread_seconds();
    columns = CharlieColumns::make(profile, weights, keys);
    statistics.setup_seconds = thread_seconds() - start;
}

/// SESS-2: HELLO, and READY or the end. The pool comes last: it shares the keys with its thread.
void CharlieSession::State::open(const Digest& digest, const PoolOptions& pool_options) {
    transmit(wire::encode_hello({protocol_version, columns->profile(), digest}));
    const auto answer = receive_payload(2);
    if (wire::frame_type(answer) == FrameType::refuse) {
        throw ProtocolError(std::string("David refuses the session: ") +
                            wire::describe(wire::decode_refuse(answer)));
    }
    wire::decode_empty(FrameType::ready, answer);
    columns->open_pool(pool_options);
    alive = true;
}

void CharlieSession::State::require_sendable(std::uint32_t group,
                                             MatrixView<const std::int16_t> activations) const {
    require(!outstanding, "CharlieSession::send: the reply to the last message is outstanding");
    require(group < weights.size(), "CharlieSession::send: unknown group");
    const GroupWeights& w = weights[group];
    require(activations.cols() == w.inputs(), "CharlieSession::send: the activations' width");
    require(activations.rows() >= 1 &&
                activations.rows() <= columns_that_fit(columns->profile(), w.inputs(), w.outputs()),
            "CharlieSession::send: the number of columns");
    std::int16_t least = 0;
    for (const std::int16_t q : activations.elements()) least = std::min(least, q);
    require(least >= -32767, "CharlieSession::send: an activation exceeds 15 bits");  // PARAM-2
}

void CharlieSession::State::send(std::uint32_t group, MatrixView<const std::int16_t> activations) {
    require_sendable(group, activations);
    const wire::ColumnsHeader header{next_sequence++, group,  // SESS-3
                                     static_cast<std::uint32_t>(activations.rows())};
    const auto frame = columns->mask(header, activations);
    transmit(frame);
    sent_at = Clock::now();
    outstanding = header;
    statistics.bytes_up += frame.size();
}

/// SESS-3 and WIRE-8: the reply to the outstanding APPLY, and no other frame.
void CharlieSession::State::decode_reply(std::span<const std::byte> bytes) {
    if (wire::frame_type(bytes) == FrameType::refuse) {
        in_step = false;  // David has ended the session
        throw ProtocolError(std::string("David ends the session: ") +
                            wire::describe(wire::decode_refuse(bytes)));
    }
    if (wire::decode_columns_header(FrameType::reply, bytes) != *outstanding) {
        throw ProtocolError("REPLY: sequence, group or columns are not those of the APPLY");
    }
    columns->decode_reply(bytes, *outstanding);
}

/// INTEG-6: run() wipes the secrets and sends ABORT before the error reaches the caller. The
/// message is constant (THREAT-3).
void CharlieSession::State::reject() {
    if (limiter != nullptr) limiter->record_reject(peer);  // INTEG-7
    throw IntegrityError("David's reply fails the integrity check; the session is destroyed");
}

template <class Product>
void CharlieSession::State::receive(MatrixView<Product> products) {
    require(outstanding.has_value(), "CharlieSession::receive: no message was sent");
    const std::size_t rows = weights[outstanding->group].outputs();
    require(products.rows() == outstanding->columns && products.cols() == rows,
            "CharlieSession::receive: the shape of the products");
    const std::size_t residues = outstanding->columns * rows * residue_bytes(columns->profile());
    const std::size_t expected = wire::columns_frame_bytes(residues);
    const auto bytes = receive_payload(expected - wire::length_bytes);
    const Clock::time_point received_at = Clock::now();

    decode_reply(bytes);
    // INTEG-5: up to this line nothing was stored, counted or decided by what the reply says.
    if (!columns->accepts_reply(*outstanding)) reject();
    columns->unmask(products);
    statistics.rounds += 1;
    statistics.checks += 1;
    statistics.columns += outstanding->columns;
    statistics.bytes_down += expected;
    statistics.waiting_seconds += std::chrono::duration<double>(received_at - sent_at).count();
    outstanding.reset();
}

void CharlieSession::State::transmit(std::span<const std::byte> bytes) {
    in_step = false;
    transport.send(bytes);
    in_step = true;
}

/// WIRE-9: nothing is reserved for a frame that is longer than the one that can be accepted.
std::span<const std::byte> CharlieSession::State::receive_payload(std::size_t max_length) {
    std::array<std::byte, wire::length_bytes> field{};
    in_step = false;
    transport.await_frame();
    transport.receive(field);
    in_step = true;
    const auto bytes = first_of(payload, wire::decode_length(field, max_length));
    in_step = false;
    transport.receive(bytes);
    in_step = true;
    return bytes;
}

/// INTEG-6 and SESS-4: the key, every mask and cancellation, every rho and s.
void CharlieSession::State::wipe_secrets() noexcept {
    alive = false;
    outstanding.reset();
    if (columns) columns->wipe_secrets();  // before the keys, which the pool's thread uses
    keys.destroy();
}

/// The end of a session that did not end well. ABORT is sent, after the secrets are gone, unless
/// the connection has failed or David has ended the session himself.
void CharlieSession::State::give_up() noexcept {
    wipe_secrets();
    if (!in_step) return;
    try {
        transmit(wire::encode_empty(FrameType::abort));
    } catch (...) {  // NOLINT(bugprone-empty-catch): he learns it from the end of the connection
    }
}

/// One call on a session: refused if the session is dead, and the death of it if it fails (SESS-4).
template <class Step>
void CharlieSession::State::run(const Step& step) {
    if (!alive) throw ProtocolError("the session is dead");
    keys.require_usable();  // RAND-6: a forked child neither sends nor wipes the parent's session
    try {
        step();
    } catch (...) {
        give_up();
        throw;
    }
}

CharlieSession::CharlieSession(const OffloadedWeights& weights, const Digest& digest,
                               Transport& transport, const Options& options) {
    if (options.limiter != nullptr)
        options.limiter->require_allowed(transport.peer_name());    // INTEG-7
    state_ = std::make_unique<State>(weights, transport, options);  // SESS-5
    state_->prepare(options.profile);
    state_->open(digest, options.pool);
}

CharlieSession::~CharlieSession() {
    if (!state_->alive || state_->keys.forked()) return;
    try {
        if (state_->outstanding) {
            state_->give_up();
        } else {
            close();
        }
    } catch (
        ...) {  // NOLINT(bugprone-empty-catch): the connection has failed; the secrets are gone
    }
}

void CharlieSession::send(std::uint32_t group, MatrixView<const std::int16_t> activations) {
    state_->run([&] { state_->send(group, activations); });
}

void CharlieSession::receive(MatrixView<P31::Product> products) {
    state_->run([&] { state_->receive(products); });
}

void CharlieSession::receive(MatrixView<P61::Product> products) {
    state_->run([&] { state_->receive(products); });
}

std::size_t CharlieSession::max_columns_of(std::uint32_t group) const {
    require(group < state_->weights.size(), "CharlieSession::max_columns_of: unknown group");
    const GroupWeights& w = state_->weights[group];
    return columns_that_fit(profile(), w.inputs(), w.outputs());
}

void CharlieSession::close() {
    state_->run([&] {
        require(!state_->outstanding, "CharlieSession::close: a reply is outstanding");
        state_->wipe_secrets();
        state_->transmit(wire::encode_empty(FrameType::close));
    });
}

void CharlieSession::wait_until_ready(std::size_t masks_a_group) {
    state_->run([&] { state_->columns->wait_until_ready(masks_a_group); });
}

Profile CharlieSession::profile() const { return state_->columns->profile(); }

bool CharlieSession::alive() const { return state_->alive; }

SessionStatistics CharlieSession::statistics() const {
    SessionStatistics statistics = state_->statistics;
    statistics.offline_seconds = state_->columns->offline_seconds();
    statistics.late_seconds = state_->columns->late_seconds();
    return statistics;
}

}  // namespace slip

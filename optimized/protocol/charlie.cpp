#include "optimized/protocol/charlie.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "optimized/base/error.hpp"
#include "optimized/kernels/registry.hpp"
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
          limiter(*options.limiter),
          peer(options.peer),
          keys(options.keys) {}

    void prepare_checks();
    void open(const Digest& digest, const CancellationPool::Options& pool_options);

    void send(std::uint32_t group, MatrixView<const std::int16_t> activations);
    void require_sendable(std::uint32_t group, MatrixView<const std::int16_t> activations) const;
    std::span<const std::uint32_t> mask(MatrixView<const std::int16_t> activations);

    void receive(MatrixView<std::int32_t> products);
    std::span<const std::uint32_t> decode_reply(std::span<const std::byte> payload);
    [[noreturn]] void reject();
    void unmask(std::span<const std::uint32_t> reply, MatrixView<std::int32_t> products);

    void transmit(std::span<const std::byte> frame);
    std::span<const std::byte> receive_payload(std::size_t max_length);

    void wipe_secrets() noexcept;
    void give_up() noexcept;
    template <class Step>
    void run(const Step& step);

    const OffloadedWeights& weights;
    Transport& transport;
    ReconnectLimiter& limiter;
    std::string peer;

    KeyStream keys;
    std::vector<IntegrityCheck> checks;  // a group
    std::unique_ptr<CancellationPool> pool;

    bool alive = false;    // READY has come, and nothing has ended the session since
    bool in_step = false;  // Charlie may send: no transport call has failed, David has not refused
    std::uint64_t next_sequence = 0;
    std::optional<wire::ColumnsHeader> outstanding;  // the APPLY that waits for its REPLY
    Clock::time_point sent_at;
    std::vector<Mask> masks;
    std::vector<SecretBuffer<std::uint32_t>> cancellations;  // of the outstanding APPLY
    std::vector<std::uint32_t> masked;
    std::vector<std::uint32_t> reply;
    std::vector<std::byte> frame;
    std::vector<std::byte> payload;
    SessionStatistics statistics;
};

/// INTEG-1, INTEG-2, for every group.
void CharlieSession::State::prepare_checks() {
    const double start = thread_seconds();
    checks.reserve(weights.size());
    for (std::uint32_t group = 0; group < weights.size(); ++group) {
        const MatrixView<const std::int8_t> w = weights[group];
        require(w.rows() > 0 && w.cols() > 0 && columns_that_fit(w.cols(), w.rows()) > 0,
                "CharlieSession: no column of a group fits a message");
        checks.emplace_back(w, group, keys);
    }
    statistics.setup_seconds = thread_seconds() - start;
}

/// SESS-2: HELLO, and READY or the end. The pool comes last: it shares the keys with its thread.
void CharlieSession::State::open(const Digest& digest,
                                 const CancellationPool::Options& pool_options) {
    transmit(wire::encode_hello({protocol_version, Profile::p31, digest}));
    const auto answer = receive_payload(2);
    if (wire::frame_type(answer) == FrameType::refuse) {
        throw ProtocolError(std::string("David refuses the session: ") +
                            wire::describe(wire::decode_refuse(answer)));
    }
    wire::decode_empty(FrameType::ready, answer);
    pool = std::make_unique<CancellationPool>(weights, keys, pool_options);
    alive = true;
}

void CharlieSession::State::require_sendable(std::uint32_t group,
                                             MatrixView<const std::int16_t> activations) const {
    require(!outstanding, "CharlieSession::send: the reply to the last message is outstanding");
    require(group < weights.size(), "CharlieSession::send: unknown group");
    const MatrixView<const std::int8_t> w = weights[group];
    require(activations.cols() == w.cols(), "CharlieSession::send: the activations' width");
    require(activations.rows() >= 1 && activations.rows() <= columns_that_fit(w.cols(), w.rows()),
            "CharlieSession::send: the number of columns");
    std::int16_t least = 0;
    for (const std::int16_t q : activations.elements()) least = std::min(least, q);
    require(least >= -32767, "CharlieSession::send: an activation exceeds 15 bits");  // PARAM-2
}

/// MASK-1 and MASK-5: x~ = q + r for every column, uniform whatever q is, because r -> x~ is a
/// bijection (MASK-2). A mask r is spent here and wiped as soon as its column is formed (MASK-6);
/// its cancellation stays until the reply is unmasked.
std::span<const std::uint32_t> CharlieSession::State::mask(
    MatrixView<const std::int16_t> activations) {
    const std::size_t n = activations.cols();
    const auto columns = first_of(masked, activations.size());
    cancellations.clear();
    for (std::size_t c = 0; c < activations.rows(); ++c) {
        Mask::Spent spent = std::move(masks[c]).spend();
        kernels::active().p31.mask(activations.row(c).data(), spent.mask.data(), n,
                                   columns.data() + c * n);
        cancellations.push_back(std::move(spent.cancellation));
    }
    masks.clear();
    return columns;
}

void CharlieSession::State::send(std::uint32_t group, MatrixView<const std::int16_t> activations) {
    require_sendable(group, activations);
    pool->take(group, activations.rows(), masks);
    const auto columns = mask(activations);
    const wire::ColumnsHeader header{next_sequence++, group,  // SESS-3
                                     static_cast<std::uint32_t>(activations.rows())};
    const auto bytes = first_of(frame, wire::columns_frame_bytes(columns.size()));
    wire::encode_columns(FrameType::apply, header, columns, bytes);
    transmit(bytes);
    sent_at = Clock::now();
    outstanding = header;
    statistics.bytes_up += bytes.size();
}

/// SESS-3 and WIRE-8: the residues of the reply to the outstanding APPLY, and no other frame.
std::span<const std::uint32_t> CharlieSession::State::decode_reply(
    std::span<const std::byte> bytes) {
    if (wire::frame_type(bytes) == FrameType::refuse) {
        in_step = false;  // David has ended the session
        throw ProtocolError(std::string("David ends the session: ") +
                            wire::describe(wire::decode_refuse(bytes)));
    }
    if (wire::decode_columns_header(FrameType::reply, bytes) != *outstanding) {
        throw ProtocolError("REPLY: sequence, group or columns are not those of the APPLY");
    }
    const std::size_t rows = weights[outstanding->group].rows();
    const auto residues = first_of(reply, outstanding->columns * rows);
    wire::decode_residues(bytes, *outstanding, rows, residues);
    return residues;
}

/// INTEG-6: run() wipes the secrets and sends ABORT before the error reaches the caller. The
/// message is constant (THREAT-3).
void CharlieSession::State::reject() {
    if (!peer.empty()) limiter.record_reject(peer);
    throw IntegrityError("David's reply fails the integrity check; the session is destroyed");
}

/// MASK-4: y_D = lift(y~ - c) for every column.
void CharlieSession::State::unmask(std::span<const std::uint32_t> columns,
                                   MatrixView<std::int32_t> products) {
    const std::size_t rows = products.cols();
    for (std::size_t c = 0; c < products.rows(); ++c) {
        kernels::active().p31.unmask(columns.data() + c * rows, cancellations[c].data(), rows,
                                     products.row(c).data());
    }
    cancellations.clear();  // MASK-6
}

void CharlieSession::State::receive(MatrixView<std::int32_t> products) {
    require(outstanding.has_value(), "CharlieSession::receive: no message was sent");
    const MatrixView<const std::int8_t> w = weights[outstanding->group];
    const std::size_t columns = outstanding->columns;
    require(products.rows() == columns && products.cols() == w.rows(),
            "CharlieSession::receive: the shape of the products");
    const std::size_t expected = wire::columns_frame_bytes(columns * w.rows());
    const auto bytes = receive_payload(expected - wire::length_bytes);
    const Clock::time_point received_at = Clock::now();

    const auto residues = decode_reply(bytes);
    const auto sent = std::span<const std::uint32_t>(masked).first(columns * w.cols());
    // INTEG-5: up to this line nothing was stored, counted or decided by what the reply says.
    if (!checks[outstanding->group].accepts(sent, residues)) reject();
    unmask(residues, products);
    outstanding.reset();
    statistics.rounds += 1;
    statistics.checks += 1;
    statistics.columns += columns;
    statistics.bytes_down += expected;
    statistics.waiting_seconds += std::chrono::duration<double>(received_at - sent_at).count();
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
    masks.clear();
    cancellations.clear();
    if (pool) pool->destroy();  // before the keys, which its thread uses
    keys.destroy();
    checks.clear();
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
    if (options.profile != Profile::p31) {
        throw BadInput("profile P61 is not built; built is P31");
    }
    if (!options.peer.empty()) options.limiter->require_allowed(options.peer);  // INTEG-7
    state_ = std::make_unique<State>(weights, transport, options);              // SESS-5
    state_->prepare_checks();
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

void CharlieSession::receive(MatrixView<std::int32_t> products) {
    state_->run([&] { state_->receive(products); });
}

std::size_t CharlieSession::max_columns_of(std::uint32_t group) const {
    require(group < state_->weights.size(), "CharlieSession::max_columns_of: unknown group");
    const MatrixView<const std::int8_t> w = state_->weights[group];
    return columns_that_fit(w.cols(), w.rows());
}

void CharlieSession::close() {
    state_->run([&] {
        require(!state_->outstanding, "CharlieSession::close: a reply is outstanding");
        state_->wipe_secrets();
        state_->transmit(wire::encode_empty(FrameType::close));
    });
}

void CharlieSession::wait_until_ready(std::size_t masks_a_group) {
    state_->run([&] { state_->pool->wait_until_ready(masks_a_group); });
}

bool CharlieSession::alive() const { return state_->alive; }

SessionStatistics CharlieSession::statistics() const {
    SessionStatistics statistics = state_->statistics;
    if (state_->pool) {
        statistics.offline_seconds = state_->pool->offline_seconds();
        statistics.late_seconds = state_->pool->late_seconds();
    }
    return statistics;
}

}  // namespace slip

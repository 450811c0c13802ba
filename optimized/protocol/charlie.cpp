#include "optimized/protocol/charlie.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/base/trace_span.hpp"
#include "optimized/protocol/frames.hpp"
#include "optimized/protocol/residue_exchange.hpp"

namespace slip::protocol {

namespace parameters = base::parameters;
using base::GroupId;
using base::MatrixView;
using base::require;
using base::TraceSpan;
using Track = Trace::Track;
using wire::FrameType;

namespace {

/// INTEG-7, before anything is drawn or sent.
WrongPeers* trusting(WrongPeers* wrong_peers, const std::vector<ShardPeer>& davids) {
    for (const ShardPeer& david : davids) {
        if (wrong_peers != nullptr) wrong_peers->require_trusted(david.transport.peer_name());
    }
    return wrong_peers;
}

/// `who`: David, or the one among several.
[[noreturn]] void refused(const std::string& who, const char* what_he_does,
                          std::span<const std::byte> payload) {
    const wire::Refusal reason = wire::decode_refuse(payload);
    throw Refused(reason, who + what_he_does + std::string(wire::describe(reason)));
}

}  // namespace

class CharlieSession::State {
public:
    /// SESS-5: a key of its own.
    State(const kernels::OffloadedWeights& weights, const IntegrityCheck& check,
          const parameters::ParameterSet& set, const std::vector<ShardPeer>& davids,
          const SessionOptions& options);
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State();

    /// One call on a session: refused if the session is dead, and the death of it if `step` fails
    /// (SESS-4).
    template <class Step>
    void run(const Step& step);
    // What a step does.
    void send_columns(GroupId group, MatrixView<const std::int16_t> activations);
    void receive_products(MatrixView<std::int64_t> products);
    void close();

    bool alive() const { return alive_; }
    /// Of what was sent and received.
    const RunStatistics& traffic() const { return traffic_; }
    ResidueExchange& residues() { return residues_; }
    const ResidueExchange& residues() const { return residues_; }

private:
    using Clock = Trace::Clock;

    /// A David and where the session stands with him.
    struct Peer {
        Transport& transport;
        std::string name;
        GroupId first;                    // of the model's groups
        std::uint64_t next_sequence = 0;  // SESS-3
        bool in_step = false;  // Charlie may send: no frame was left half sent or received, and
                               // David has not refused
    };

    void open(Peer& peer, const wire::Hello& hello);
    std::string who(const Peer& peer) const;
    Peer& peer_of(GroupId group);
    void require_sendable(GroupId group, MatrixView<const std::int16_t> activations) const;
    void require_no_refusal(Peer& peer, std::span<const std::byte> payload);
    [[noreturn]] void reject(const Peer& peer);
    void transmit(Peer& peer, std::span<const std::byte> frame);
    std::span<const std::byte> receive_payload(Peer& peer, std::size_t max_length);
    std::span<const std::byte> await_payload(Peer& peer, const Sent& sent, std::size_t max_length);

    void wipe_secrets() noexcept;
    void give_up() noexcept;

    WrongPeers* const wrong_peers_;  // null where there is no peer
    const std::size_t shards_;
    std::vector<Peer> peers_;  // in the order of their groups
    const std::shared_ptr<Trace> trace_;
    RunStatistics traffic_;

    masks::Keystream keys_;
    ResidueExchange residues_;  // after the keys, which its stock's thread uses

    bool alive_ = false;  // READY has come from all, and nothing has ended the session since
    std::optional<Sent> outstanding_;  // the APPLY that waits for its REPLY
    Clock::time_point sent_at_;
    base::GrowingBuffer<std::byte> payload_;
};

CharlieSession::State::State(const kernels::OffloadedWeights& weights, const IntegrityCheck& check,
                             const parameters::ParameterSet& set,
                             const std::vector<ShardPeer>& davids, const SessionOptions& options)
    : wrong_peers_(trusting(options.wrong_peers, davids)),
      shards_(davids.size()),
      trace_(options.trace),
      keys_(options.keys),
      residues_(weights, check, keys_, options.shared) {
    require(check.planes() == set.planes, "CharlieSession: the check is of another set");
    require(!davids.empty() && davids.front().first == 0,
            "CharlieSession: nobody has the first group");
    peers_.reserve(davids.size());
    for (const ShardPeer& david : davids) {
        require(david.first < check.shapes().size() &&
                    (peers_.empty() || peers_.back().first < david.first),
                "CharlieSession: the shards are not in the order of their groups");
        peers_.push_back({david.transport, david.transport.peer_name(), david.first});
        open(peers_.back(), {parameters::protocol_version, set.code, david.digest});
    }
    // The masks come last: the stock shares the keys with its thread, and whom David refuses needs
    // none.
    masks::StockOptions stock = options.stock;
    stock.trace = trace_.get();
    residues_.open_stock(stock);
    alive_ = true;
}

/// SESS-2: HELLO, and READY or the end.
void CharlieSession::State::open(Peer& peer, const wire::Hello& hello) {
    transmit(peer, wire::encode_hello(hello));
    const auto answer = receive_payload(peer, 2);
    if (wire::frame_type(answer) == FrameType::refuse) {
        refused(who(peer), " refuses the session: ", answer);
    }
    wire::decode_empty(FrameType::ready, answer);
}

std::string CharlieSession::State::who(const Peer& peer) const {
    return shards_ == 1 ? "David" : "David at " + peer.name;
}

CharlieSession::State::Peer& CharlieSession::State::peer_of(GroupId group) {
    const auto next = std::find_if(peers_.begin(), peers_.end(),
                                   [&](const Peer& peer) { return peer.first > group; });
    return *std::prev(next);
}

void CharlieSession::State::require_sendable(GroupId group,
                                             MatrixView<const std::int16_t> activations) const {
    require(!outstanding_, "CharlieSession::send: the reply to the last message is outstanding");
    require(group < residues_.shapes().size(), "CharlieSession::send: unknown group");
    const base::ProductShape& shape = residues_.shapes()[group];
    require(activations.cols() == shape.inputs(), "CharlieSession::send: the activations' width");
    require(activations.rows() >= 1 &&
                activations.rows() <= columns_that_fit(shape, residues_.planes()),
            "CharlieSession::send: the number of columns");
    std::int16_t least = 0;
    for (const std::int16_t q : activations.elements()) least = std::min(least, q);
    require(least >= -parameters::largest_activation_norm,
            "CharlieSession::send: an activation exceeds 15 bits");  // PARAM-2
}

void CharlieSession::State::send_columns(GroupId group,
                                         MatrixView<const std::int16_t> activations) {
    require_sendable(group, activations);
    Peer& peer = peer_of(group);
    const wire::ColumnsHeader header{peer.next_sequence++, group - peer.first,  // SESS-3, MODEL-22
                                     static_cast<std::uint32_t>(activations.rows())};
    const auto span = [&](const char* what) {
        return TraceSpan(trace_.get(), Track::charlie, what, group, activations.rows());
    };
    {
        const auto masking = span("mask");
        outstanding_ = residues_.mask(group, header, activations);
    }
    const auto frame = outstanding_->frame();
    {
        const auto sending = span("send");
        transmit(peer, frame);
    }
    sent_at_ = Clock::now();
    traffic_.bytes_up += frame.size();
}

/// SESS-4: in place of any reply David may say why he ends the session.
void CharlieSession::State::require_no_refusal(Peer& peer, std::span<const std::byte> payload) {
    if (wire::frame_type(payload) != FrameType::refuse) return;
    peer.in_step = false;
    refused(who(peer), " ends the session: ", payload);
}

/// INTEG-7: whoever opens a session from now on knows it. run() wipes the key too and sends ABORT
/// before the error reaches the caller. The error tells nothing about the reply (THREAT-3).
void CharlieSession::State::reject(const Peer& peer) {
    if (wrong_peers_ != nullptr) wrong_peers_->add(peer.name);
    throw IntegrityError("the reply of " + peer.name +
                         " fails the integrity check; the session is destroyed");
}

void CharlieSession::State::receive_products(MatrixView<std::int64_t> products) {
    require(outstanding_.has_value(), "CharlieSession::receive: no message was sent");
    const GroupId group = outstanding_->group();
    const std::size_t columns = outstanding_->header().columns;
    require(products.rows() == columns && products.cols() == residues_.outputs(group),
            "CharlieSession::receive: the shape of the products");
    const std::size_t expected = wire::columns_frame_bytes(residues_.planes() * products.rows() *
                                                           residues_.shapes()[group].outputs());
    Peer& peer = peer_of(group);
    const auto payload = await_payload(peer, *outstanding_, expected - wire::length_bytes);
    const Clock::time_point received_at = Clock::now();
    if (trace_) {
        trace_->add({Track::david, "message", sent_at_, received_at, group, columns});
    }
    require_no_refusal(peer, payload);
    const TraceSpan checking(trace_.get(), Track::charlie, "check and unmask", group, columns);
    auto replied = residues_.decode_reply(std::move(*outstanding_), payload);
    outstanding_.reset();
    // INTEG-5: up to this line no residue of the reply was used, and the session counts none.
    auto checked = residues_.check(std::move(replied));
    if (!checked) reject(peer);
    residues_.unmask(std::move(*checked), products);
    traffic_.rounds += 1;
    traffic_.checks += 1;
    traffic_.columns += columns;
    traffic_.bytes_down += expected;
    traffic_.round_times.add(std::chrono::duration<double>(received_at - sent_at_).count());
}

void CharlieSession::State::transmit(Peer& peer, std::span<const std::byte> bytes) {
    const base::WorkClock::Pause sending(residues_.clock());
    peer.in_step = false;
    peer.transport.send(bytes);
    peer.in_step = true;
}

/// WIRE-9: nothing is reserved for a frame that is longer than the one that can be accepted.
std::span<const std::byte> CharlieSession::State::receive_payload(Peer& peer,
                                                                  std::size_t max_length) {
    const base::WorkClock::Pause receiving(residues_.clock());
    std::array<std::byte, wire::length_bytes> field{};
    peer.in_step = false;
    peer.transport.await_frame();
    peer.transport.receive(field);
    const auto bytes = payload_.resize(wire::decode_length(field, max_length));
    peer.transport.receive(bytes);
    peer.in_step = true;
    return bytes;
}

std::span<const std::byte> CharlieSession::State::await_payload(Peer& peer, const Sent& sent,
                                                                std::size_t max_length) {
    const TraceSpan waiting(trace_.get(), Track::charlie, "wait for David", sent.group(),
                            sent.header().columns);
    return receive_payload(peer, max_length);
}

/// INTEG-6 and SESS-4: the key, every mask and cancellation.
void CharlieSession::State::wipe_secrets() noexcept {
    alive_ = false;
    outstanding_.reset();
    residues_.wipe_secrets();  // before the keys, which the stock's thread uses
    keys_.destroy();
}

/// The end of a session that did not end well. ABORT is sent, after the secrets are gone, to every
/// David whose connection has not failed and who has not ended the session himself.
void CharlieSession::State::give_up() noexcept {
    wipe_secrets();
    for (Peer& peer : peers_) {
        if (!peer.in_step) continue;
        try {
            transmit(peer, wire::encode_empty(FrameType::abort));
        } catch (...) {  // NOLINT(bugprone-empty-catch): he learns it when the connection ends
        }
    }
}

template <class Step>
void CharlieSession::State::run(const Step& step) {
    if (!alive_) throw ProtocolError("the session is dead");
    keys_.require_usable();  // RAND-6: a forked child neither sends nor wipes the parent's session
    try {
        step();
    } catch (...) {
        give_up();
        throw;
    }
}

CharlieSession::State::~State() {
    if (!alive_ || keys_.forked()) return;
    try {
        if (outstanding_) {
            give_up();
        } else {
            run([this] { close(); });
        }
        // NOLINTNEXTLINE(bugprone-empty-catch): the connection has failed; the secrets are gone
    } catch (...) {
    }
}

void CharlieSession::State::close() {
    require(!outstanding_, "CharlieSession::close: a reply is outstanding");
    wipe_secrets();
    for (Peer& peer : peers_) {
        transmit(peer, wire::encode_empty(FrameType::close));
        peer.in_step = false;  // SESS-9: his last frame, also if the next one's fails
    }
}

CharlieSession::CharlieSession(const kernels::OffloadedWeights& weights,
                               const IntegrityCheck& check, const parameters::ParameterSet& set,
                               const std::vector<ShardPeer>& davids, const SessionOptions& options)
    : state_(std::make_unique<State>(weights, check, set, davids, options)) {}

CharlieSession::~CharlieSession() = default;

void CharlieSession::send(GroupId group, MatrixView<const std::int16_t> activations) {
    state_->run([&] { state_->send_columns(group, activations); });
}

void CharlieSession::receive(MatrixView<std::int64_t> products) {
    state_->run([&] { state_->receive_products(products); });
}

void CharlieSession::close() {
    state_->run([&] { state_->close(); });
}

void CharlieSession::wait_until_ready(std::size_t masks_per_group) {
    state_->run([&] { state_->residues().supply().wait_until_ready(masks_per_group); });
}

std::size_t CharlieSession::max_columns_of(GroupId group) const {
    const ResidueExchange& residues = std::as_const(*state_).residues();
    require(group < residues.shapes().size(), "CharlieSession::max_columns_of: unknown group");
    return columns_that_fit(residues.shapes()[group], residues.planes());
}

bool CharlieSession::alive() const { return state_->alive(); }

base::StockLevel CharlieSession::stock() const { return state_->residues().stock(); }

RunStatistics CharlieSession::statistics() const {
    const ResidueExchange& residues = std::as_const(*state_).residues();
    RunStatistics statistics = state_->traffic();
    statistics.charlie_seconds = residues.clock().seconds();
    const masks::SupplyStatistics supplied = residues.supplied();
    statistics.offline_seconds = supplied.seconds;
    statistics.late_seconds = supplied.late_seconds;
    statistics.mask_wait_seconds = supplied.wait_seconds;
    statistics.masks_made = supplied.made;
    statistics.masks_used = supplied.used;
    statistics.masks_waited_for = supplied.waited_for;
    statistics.offline_multiplications = residues.supply_multiplications();
    return statistics;
}

base::WorkClock& CharlieSession::clock() { return state_->residues().clock(); }

const base::WorkClock& CharlieSession::clock() const {
    return std::as_const(*state_).residues().clock();
}

}  // namespace slip::protocol

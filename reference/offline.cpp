#include "reference/offline.hpp"

#include <algorithm>
#include <utility>

#include "reference/error.hpp"
#include "reference/ring.hpp"

namespace slip::reference {

namespace {

/// Indices are 64 bits wide, so this one is behind the last.
const Integer index_end = Integer(1) << 64;

/// The length field says more than any frame that may come.
bool too_long(const Bytes& bytes, bool open) {
    return bytes.size() >= 4 && little_endian(Bytes(bytes.begin(), bytes.begin() + 4)) >
                                    (open ? request_length : key_length);
}

}  // namespace

OfflineDavid::OfflineDavid(const Profile& profile, const Digest& digest,
                           std::vector<Matrix> weights)
    : shapes_(shapes_of(profile, weights)), digest_(digest), weights_(std::move(weights)) {}

std::optional<Bytes> OfflineDavid::receive(const Bytes& bytes) {  // OFF-5
    if (dead()) throw SessionDeadError("the connection is over");
    received_.push_back(bytes);
    const std::optional<OfflineFrame> answer = examine(bytes);
    if (!answer) return std::nullopt;
    return encode_offline(*answer, shapes_);
}

std::optional<OfflineFrame> OfflineDavid::examine(const Bytes& bytes) {  // OFF-6
    const bool open = key_.has_value();
    if (too_long(bytes, open)) return refuse(RefuseReason::malformed);
    const std::optional<Request> request = request_fields(bytes);
    if (request && !open) return refuse(RefuseReason::out_of_order);
    if (request && wrong_index(*request)) return refuse(*wrong_index(*request));
    try {
        return answer(decode_offline(bytes, shapes_));
    } catch (const DecodeError& error) {
        if (error.reason() != DecodeReason::unknown_group) return refuse(RefuseReason::malformed);
        return refuse(request ? RefuseReason::unknown_group : RefuseReason::out_of_order);
    }
}

std::optional<RefuseReason> OfflineDavid::wrong_index(const Request& request) const {  // OFF-5
    const Integer first = request.index;
    if (first + request.columns > index_end) return RefuseReason::malformed;
    if (first < next_index_) return RefuseReason::out_of_order;
    return std::nullopt;
}

std::optional<OfflineFrame> OfflineDavid::answer(const OfflineFrame& frame) {  // OFF-5
    if (!key_) {
        const auto* key = std::get_if<OfflineKey>(&frame);
        return key != nullptr ? answer_key(*key) : refuse(RefuseReason::out_of_order);
    }
    if (const auto* request = std::get_if<Request>(&frame)) return answer_request(*request);
    if (std::holds_alternative<Close>(frame) || std::holds_alternative<Abort>(frame)) {
        die();
        return std::nullopt;
    }
    return refuse(RefuseReason::out_of_order);
}

OfflineFrame OfflineDavid::answer_key(const OfflineKey& key) {  // OFF-2
    if (key.version != protocol_version) return refuse(RefuseReason::version);
    if (key.profile != shapes_.profile.number) return refuse(RefuseReason::profile);
    if (key.digest != digest_) return refuse(RefuseReason::digest);
    key_ = key.key;
    return Ready{};
}

OfflineFrame OfflineDavid::answer_request(const Request& request) {  // OFF-4
    const Ring ring(shapes_.profile.modulus);
    const Matrix& W_D = weights_.at(request.group);
    next_index_ = Integer(request.index) + request.columns;
    std::vector<Vector> c;
    for (std::uint32_t j = 0; j < request.columns; ++j) {
        const Vector r = uniform_residues(ring, *key_, Tag::mask, request.index + j, W_D.cols());
        c.push_back(cancellation(ring, W_D, r));
    }
    return Cancellations{request.index, request.group, Matrix::from_columns(W_D.rows(), c)};
}

OfflineFrame OfflineDavid::refuse(RefuseReason reason) {
    die();
    return Refuse{reason};
}

void OfflineDavid::die() {  // OFF-8
    dead_ = true;
    key_.reset();
}

Pair::Pair(const Profile& profile, const Key& key, const std::vector<Matrix>& weights)
    : L_(profile.modulus) {
    for (std::uint32_t group = 0; group < weights.size(); ++group) {
        secrets_[group] = draw_integrity_key(L_, key, group, weights[group], profile.repetitions);
    }
}

Pair::Pair(Integer L, std::map<std::uint32_t, IntegrityKey> secrets)
    : L_(std::move(L)), secrets_(std::move(secrets)) {}

void Pair::start_up() {  // OFF-13
    if (state_ == State::taken) remove();
}

void Pair::remove() {
    state_ = State::deleted;
    secrets_.clear();
}

Life::Life(Pair& pair) : pair_(pair) {  // OFF-13
    require(pair.state_ == Pair::State::free, "a pair is taken while it is free");
    pair.state_ = Pair::State::taken;
}

Life::Ticket Life::draw_ticket() { return drawn_++; }  // OFF-10

bool Life::verdict(Ticket ticket, std::uint32_t group, const Matrix& x, const Matrix& y) {
    require(ticket < drawn_ && ticket == given_, "verdicts come in the order of their tickets");
    ++given_;
    if (over_) return false;
    if (reference::accepts(pair_.L_, pair_.secrets_.at(group), x, y)) return true;
    pair_.remove();
    end();
    return false;
}

bool Life::accepts(std::uint32_t group, const Matrix& x, const Matrix& y) {
    return verdict(draw_ticket(), group, x, y);
}

void Life::stock(std::uint32_t group, OneTimeMask mask) {  // OFF-9
    require(!over_, "a stock belongs to a life");
    stock_.add(group, std::move(mask));
}

std::vector<OneTimeMask> Life::take(std::uint32_t group, std::size_t columns) {
    return stock_.take(group, columns);
}

void Life::give_back() {  // OFF-13
    if (over_) return;
    if (given_ == drawn_ && pair_.returns_ < largest_returns) {
        pair_.state_ = Pair::State::free;
        ++pair_.returns_;
    } else {
        pair_.remove();
    }
    end();
}

void Life::end() {  // OFF-11
    over_ = true;
    stock_.wipe();
}

OfflineConnection::OfflineConnection(Shapes shapes, const Digest& digest, const Key& key,
                                     Channel& channel)
    : shapes_(std::move(shapes)), digest_(digest), key_(key), channel_(channel) {}

void OfflineConnection::die() {
    state_ = State::dead;
    key_.reset();
    unanswered_.clear();
}

/// SESS-4. Does one step of a connection that is alive; any error in it is the end.
template <class Step>
void OfflineConnection::guarded(State expected, Step step) {
    if (dead()) throw SessionDeadError("the connection is over");
    try {
        require(state_ == expected, "a connection begins with one KEY");
        step();
    } catch (...) {
        die();
        throw;
    }
}

void OfflineConnection::open() {  // OFF-2
    guarded(State::fresh, [&] {
        const OfflineKey key{protocol_version, shapes_.profile.number, digest_, *key_};
        channel_.send(encode_offline(key, shapes_));
        const OfflineFrame answer = decode_offline(channel_.receive(), shapes_);
        if (!std::holds_alternative<Ready>(answer)) throw ProtocolError("the answer is not READY");
        state_ = State::open;
    });
}

void OfflineConnection::request(std::uint32_t group, std::size_t columns) {  // OFF-3, OFF-5
    guarded(State::open, [&] {
        require(unanswered_.size() < largest_window, "at most 4 requests are unanswered");
        require(columns <= largest_columns, "a request asks for 1 to 4096 columns");
        require(next_index_ + columns <= index_end, "an index has 64 bits");
        const Request request{next_index_.convert_to<std::uint64_t>(), group,
                              static_cast<std::uint32_t>(columns)};
        next_index_ += columns;  // also where sending fails: no index is asked for twice
        unanswered_.push_back(request);
        channel_.send(encode_offline(request, shapes_));
    });
}

void OfflineConnection::receive(Life& life) {  // OFF-5, OFF-9
    guarded(State::open, [&] {
        require(!unanswered_.empty(), "an answer needs a request");
        const Request request = unanswered_.front();
        unanswered_.pop_front();
        const OfflineFrame answer = decode_offline(channel_.receive(), shapes_);
        const auto* reply = std::get_if<Cancellations>(&answer);
        if (reply == nullptr) throw ProtocolError("the answer is not CANCELLATIONS");
        if (reply->index != request.index || reply->group != request.group ||
            reply->residues.cols() != request.columns) {
            throw ProtocolError("CANCELLATIONS answers another REQUEST");
        }
        accept(life, request, reply->residues);
    });
}

void OfflineConnection::accept(Life& life, const Request& request, const Matrix& c) {  // OFF-9
    const Matrix r = masks_of(request);
    if (!life.accepts(request.group, r, c)) {  // rho^T c = s^T r
        channel_.send(encode_offline(Abort{}, shapes_));
        throw IntegrityError("the offline David's cancellations are wrong");
    }
    for (std::uint32_t j = 0; j < request.columns; ++j) {
        life.stock(request.group, OneTimeMask(request.index + j, r.column(j), c.column(j)));
    }
}

Matrix OfflineConnection::masks_of(const Request& request) const {  // MASK-1
    const Ring ring(shapes_.profile.modulus);
    const std::size_t n = shapes_.groups.at(request.group).inputs;
    std::vector<Vector> r;
    for (std::uint32_t j = 0; j < request.columns; ++j) {
        r.push_back(uniform_residues(ring, *key_, Tag::mask, request.index + j, n));
    }
    return Matrix::from_columns(n, r);
}

void OfflineConnection::close() {  // OFF-5
    guarded(State::open, [&] {
        die();
        channel_.send(encode_offline(Close{}, shapes_));
    });
}

Refill::Refill(const std::map<std::uint32_t, std::size_t>& capacities) {
    for (const auto& [group, columns] : capacities) due_.push_back({group, columns});
}

void Refill::spend(const PlannedMessage& message) { due_.push_back(message); }  // OFF-14

std::optional<PlannedMessage> Refill::next() {
    if (due_.empty()) return std::nullopt;
    const PlannedMessage request = due_.front();
    due_.pop_front();
    return request;
}

std::uint64_t intervals_before(std::uint64_t ready, const std::vector<std::uint64_t>& arrivals,
                               std::uint64_t interval) {  // OFF-14
    require(interval >= 1, "an interval is not empty");
    std::uint64_t last = ready;
    for (const std::uint64_t arrival : arrivals) last = std::max(last, arrival);
    const std::uint64_t late = last - ready;
    return late / interval + (late % interval != 0 ? 1 : 0);
}

void OfflineChannel::send(const Bytes& frame) {
    std::optional<Bytes> answer = david_.receive(frame);
    if (!answer) return;
    answers_.push_back(tamper_ ? tamper_(std::move(*answer)) : std::move(*answer));
}

Bytes OfflineChannel::receive() {
    if (answers_.empty()) throw ProtocolError("the peer sent nothing");
    Bytes answer = std::move(answers_.front());
    answers_.pop_front();
    return answer;
}

}  // namespace slip::reference

#include "reference/session.hpp"

#include <utility>

#include "reference/error.hpp"
#include "reference/lattice.hpp"
#include "reference/linear.hpp"
#include "reference/ring.hpp"

namespace slip::reference {

namespace {

/// A mask for each column of the schedule; draw(group, W_D) is the next one of a group.
template <class Draw>
Masks masks_of(const std::vector<Matrix>& weights, const std::vector<PlannedMessage>& schedule,
               Draw draw) {
    Masks masks;
    for (const PlannedMessage& message : schedule) {
        require(message.group < weights.size(), "a message names a group that exists");
        for (std::size_t t = 0; t < message.columns; ++t) {
            masks[message.group].push_back(draw(message.group, weights[message.group]));
        }
    }
    return masks;
}

}  // namespace

Masks prepare_masks(const ParameterSet& set, const Key& key, const std::vector<Matrix>& weights,
                    const std::vector<PlannedMessage>& schedule) {
    MaskSequence sequence(set.planes, key);
    return masks_of(weights, schedule,
                    [&](std::uint32_t, const Matrix& W_D) { return sequence.draw(W_D); });
}

Masks prepare_lattice_masks(const ParameterSet& set, const Key& key, const Key& seed,
                            const std::vector<Matrix>& weights,
                            const std::vector<PlannedMessage>& schedule) {
    LatticeMasks sequence(set, key, seed);
    return masks_of(weights, schedule, [&](std::uint32_t group, const Matrix& W_D) {
        return sequence.draw(group, W_D);
    });
}

std::vector<CheckSecret> prepare_checks(const ParameterSet& set, const Key& seed,
                                        const std::vector<Matrix>& weights) {
    std::vector<CheckSecret> checks;
    for (const Matrix& W_D : weights) {
        checks.push_back(draw_check_secret(set.planes, seed, W_D, set.combinations));
    }
    return checks;
}

Shapes shapes_of(const ParameterSet& set, const std::vector<Matrix>& weights) {
    Shapes shapes{set, {}};
    for (std::uint32_t group = 0; group < weights.size(); ++group) {
        shapes.groups[group] = {weights[group].cols(), weights[group].rows()};
    }
    return shapes;
}

CharlieSession::CharlieSession(Shapes shapes, const Digest& digest, std::vector<CheckSecret> checks,
                               Masks masks, Channel& channel, std::vector<WeightSecret> secrets)
    : shapes_(std::move(shapes)),
      digest_(digest),
      checks_(std::move(checks)),
      secrets_(std::move(secrets)),
      masks_(std::move(masks)),
      channel_(channel) {}

void CharlieSession::die() {  // SESS-4
    state_ = State::dead;
    masks_.clear();
}

/// SESS-4. Does one step of a session that is alive; any error in it is the end of the session.
template <class Step>
auto CharlieSession::guarded(State expected, Step step) {
    if (dead()) throw SessionDeadError("the session is over");
    try {
        require(state_ == expected, "a session begins with one HELLO, before any APPLY or CLOSE");
        return step();
    } catch (...) {
        die();
        throw;
    }
}

void CharlieSession::hello() {  // SESS-2
    guarded(State::fresh, [&] {
        const Hello hello{protocol_version, shapes_.set.code, digest_};
        channel_.send(encode(hello, shapes_));
        const Frame answer = decode(channel_.receive(), shapes_);
        if (!std::holds_alternative<Ready>(answer)) throw ProtocolError("the answer is not READY");
        state_ = State::open;
    });
}

Matrix CharlieSession::apply(std::uint32_t group, const Matrix& q) {  // SESS-1
    return guarded(State::open, [&] { return exchange(group, q); });
}

void CharlieSession::close() {  // SESS-1
    guarded(State::open, [&] {
        die();
        channel_.send(encode(Close{}, shapes_));
    });
}

Matrix CharlieSession::exchange(std::uint32_t group, const Matrix& q) {
    const Ring& ring = shapes_.set.ring();
    std::vector<OneTimeMask> masks = take_masks(group, q.cols());

    std::vector<Vector> x_masked;
    for (std::size_t t = 0; t < q.cols(); ++t) {
        x_masked.push_back(masks[t].mask(ring, q.column(t)));
    }
    const Apply apply{sequence_++, group, Matrix::from_columns(q.rows(), x_masked)};
    channel_.send(encode(apply, shapes_));

    const Frame answer = decode(channel_.receive(), shapes_);
    require_echo(apply, answer);
    const Matrix& y_masked = std::get<Reply>(answer).residues;

    // The check comes before the unmasking: nothing is derived from an unchecked reply.
    if (!accepts(shapes_.set.planes, checks_.at(group), apply.residues, y_masked)) {
        masks.clear();
        reject();
    }

    std::vector<Vector> y_D;
    for (std::size_t t = 0; t < q.cols(); ++t) {
        y_D.push_back(masks[t].unmask(ring, without_secret(group, y_masked.column(t))));
    }
    return Matrix::from_columns(y_D.front().size(), y_D);
}

Vector CharlieSession::without_secret(std::uint32_t group,
                                      const Vector& y_masked) const {  // HIDE-4
    const ParameterSet& set = shapes_.set;
    if (!set.hides_weights) return y_masked;
    return secrets_.at(group).remove(NegacyclicRing(set.ring(), set.lattice->N), y_masked);
}

std::vector<OneTimeMask> CharlieSession::take_masks(std::uint32_t group, std::size_t columns) {
    const auto stock = masks_.find(group);
    require(stock != masks_.end() && columns <= stock->second.size(),
            "every column has a mask that was prepared for it");
    std::vector<OneTimeMask> masks;
    for (std::size_t t = 0; t < columns; ++t) {
        masks.push_back(std::move(stock->second.front()));
        stock->second.pop_front();
    }
    return masks;
}

void CharlieSession::require_echo(const Apply& apply, const Frame& answer) const {  // SESS-3
    const Reply* reply = std::get_if<Reply>(&answer);
    if (reply == nullptr) throw ProtocolError("the answer is not REPLY");
    if (reply->sequence != apply.sequence) throw ProtocolError("REPLY echoes another sequence");
    if (reply->group != apply.group) throw ProtocolError("REPLY echoes another group");
    if (reply->residues.cols() != apply.residues.cols()) {
        throw ProtocolError("REPLY echoes another number of columns");
    }
}

void CharlieSession::reject() {  // INTEG-6
    die();
    channel_.send(encode(Abort{}, shapes_));
    throw IntegrityError("David's reply is wrong");
}

std::vector<Matrix> Transcript::masked_inputs(const Shapes& shapes) const {
    std::vector<Matrix> inputs;
    for (const Bytes& bytes : received) {
        const Frame frame = decode(bytes, shapes);
        if (const Apply* apply = std::get_if<Apply>(&frame)) inputs.push_back(apply->residues);
    }
    return inputs;
}

DavidSession::DavidSession(const ParameterSet& set, const Digest& digest,
                           std::vector<Matrix> weights)
    : shapes_(shapes_of(set, weights)), digest_(digest), weights_(std::move(weights)) {}

std::optional<Bytes> DavidSession::receive(const Bytes& bytes) {  // SESS-1
    if (dead()) throw SessionDeadError("the session is over");
    transcript_.received.push_back(bytes);
    const std::optional<Frame> answer = examine(bytes);
    if (!answer) return std::nullopt;
    return encode(*answer, shapes_);
}

std::optional<Frame> DavidSession::examine(const Bytes& bytes) {
    const bool open = state_ == State::open;
    const auto header = apply_header(bytes);
    if (open && header && header->sequence != next_sequence_) {  // SESS-3, before the rest of APPLY
        return refuse(RefuseReason::out_of_order);
    }
    try {
        return answer(decode(bytes, shapes_));
    } catch (const DecodeError& error) {
        if (error.reason() != DecodeReason::unknown_group) return refuse(RefuseReason::malformed);
        return refuse(open && header ? RefuseReason::unknown_group : RefuseReason::out_of_order);
    }
}

std::optional<Frame> DavidSession::answer(const Frame& frame) {  // SESS-1
    if (state_ == State::fresh) {
        const Hello* hello = std::get_if<Hello>(&frame);
        return hello != nullptr ? answer_hello(*hello) : refuse(RefuseReason::out_of_order);
    }
    if (const Apply* apply = std::get_if<Apply>(&frame)) return answer_apply(*apply);
    if (std::holds_alternative<Close>(frame) || std::holds_alternative<Abort>(frame)) {
        state_ = State::dead;  // SESS-4
        return std::nullopt;
    }
    return refuse(RefuseReason::out_of_order);
}

Frame DavidSession::answer_hello(const Hello& hello) {  // SESS-2
    if (hello.version != protocol_version) return refuse(RefuseReason::version);
    if (hello.set != shapes_.set.code) return refuse(RefuseReason::set);
    if (hello.digest != digest_) return refuse(RefuseReason::digest);
    state_ = State::open;
    return Ready{};
}

Frame DavidSession::answer_apply(const Apply& apply) {
    ++next_sequence_;  // SESS-3: the sequence was examined with the header
    return Reply{apply.sequence, apply.group,
                 davids_product(shapes_.set.ring(), weights_.at(apply.group), apply.residues)};
}

Frame DavidSession::refuse(RefuseReason reason) {  // SESS-4
    state_ = State::dead;
    return Refuse{reason};
}

void InProcessChannel::send(const Bytes& frame) {
    answer_ = david_.receive(frame);
    if (answer_ && tamper_) answer_ = tamper_(std::move(*answer_));
}

Bytes InProcessChannel::receive() {
    if (!answer_) throw ProtocolError("the peer sent nothing");
    return *std::exchange(answer_, std::nullopt);
}

}  // namespace slip::reference

#include "optimized/protocol/david.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/base/secret_buffer.hpp"
#include "optimized/protocol/david_answers.hpp"
#include "optimized/protocol/growing_buffer.hpp"

namespace slip::protocol {
namespace {

namespace parameters = base::parameters;
using base::wipe;
using kernels::GroupWeights;
using wire::FrameType;
using wire::Refusal;

/// Everything of a session, in the model's profile.
template <class P>
class SessionOf final : public DavidAnswers<P> {
public:
    SessionOf(const DavidModel& model, DavidSession::Tamper tamper);
    std::size_t max_payload() const override;

private:
    using DavidAnswers<P>::model_;

    void answer(std::span<const std::byte> payload) override;
    void answer_hello(const wire::Hello& hello);
    void answer_apply(std::span<const std::byte> payload);
    void require_canonical(FrameType type, std::span<const std::byte> payload);

    std::size_t max_apply_ = 0;  // the largest payload of an APPLY
    bool serving_ = false;       // HELLO has come
    std::uint64_t next_sequence_ = 0;
};

template <class P>
SessionOf<P>::SessionOf(const DavidModel& model, DavidSession::Tamper tamper)
    : DavidAnswers<P>(model, std::move(tamper)) {
    std::size_t inputs = 0;
    for (const GroupWeights& w : model.weights) inputs = std::max(inputs, w.shape().inputs());
    max_apply_ = wire::columns_header_bytes - wire::length_bytes +
                 std::min(parameters::largest_residue_bytes,
                          parameters::largest_columns * inputs * sizeof(typename P::Residue));
}

template <class P>
std::size_t SessionOf<P>::max_payload() const {  // WIRE-9
    return serving_ ? max_apply_ : wire::hello_bytes;
}

template <class P>
void SessionOf<P>::answer(std::span<const std::byte> payload) {
    const FrameType type = wire::frame_type(payload);
    if (!serving_ && type == FrameType::hello) {
        answer_hello(wire::decode_hello(payload));
    } else if (serving_ && type == FrameType::apply) {
        answer_apply(payload);
    } else if (serving_ && (type == FrameType::abort || type == FrameType::close)) {
        wire::decode_empty(type, payload);
        this->finish();
    } else {
        require_canonical(type, payload);
        this->refuse(Refusal::out_of_order);
    }
}

/// Throws ProtocolError if a frame that the state does not allow is not even canonical, because
/// that is the reason to name then (WIRE-7).
template <class P>
void SessionOf<P>::require_canonical(FrameType type, std::span<const std::byte> payload) {
    switch (type) {
        case FrameType::hello:
            wire::decode_hello(payload);
            return;
        case FrameType::ready:
        case FrameType::abort:
        case FrameType::close:
            wire::decode_empty(type, payload);
            return;
        case FrameType::refuse:
            wire::decode_refuse(payload);
            return;
        case FrameType::apply:
        case FrameType::reply:
            break;
        case FrameType::key:  // unknown to him: wire::frame_type() gives none of these
        case FrameType::request:
        case FrameType::cancellations:
            return;
    }
    const wire::ColumnsHeader header = wire::decode_columns_header(type, payload);
    if (header.group >= model_.weights.size()) return;
    const base::ProductShape& shape = model_.weights[header.group].shape();
    this->decode(payload, header, type == FrameType::apply ? shape.inputs() : shape.outputs());
}

template <class P>
void SessionOf<P>::answer_hello(const wire::Hello& hello) {  // SESS-2
    if (hello.version != parameters::protocol_version) {     // PARAM-4
        return this->refuse(Refusal::version);
    }
    if (hello.profile != profile_of<P>) return this->refuse(Refusal::profile);
    if (hello.digest != model_.digest) return this->refuse(Refusal::digest);
    serving_ = true;
    this->answer_with(wire::encode_empty(FrameType::ready));
}

template <class P>
void SessionOf<P>::answer_apply(std::span<const std::byte> payload) {
    const wire::ColumnsHeader header = wire::decode_columns_header(FrameType::apply, payload);
    if (header.sequence != next_sequence_) return this->refuse(Refusal::out_of_order);  // SESS-3
    if (header.group >= model_.weights.size()) return this->refuse(Refusal::unknown_group);
    const base::ProductShape& shape = model_.weights[header.group].shape();
    if (header.columns > columns_that_fit<P>(shape)) return this->refuse(Refusal::malformed);
    const auto masked = this->decode(payload, header, shape.inputs());
    this->answer_products(FrameType::reply, header, masked);
    ++next_sequence_;
}

}  // namespace

std::unique_ptr<DavidSession> make_david_session(const DavidModel& model,
                                                 DavidSession::Tamper tamper) {
    return with_profile(model.profile, [&](auto p) -> std::unique_ptr<DavidSession> {
        return std::make_unique<SessionOf<decltype(p)>>(model, std::move(tamper));
    });
}

namespace {

/// The length of the next payload. A length that the state does not allow counts as 0 (WIRE-9): it
/// is malformed like a frame without a type, and nothing of its payload is read.
std::size_t announced_length(std::span<const std::byte, wire::length_bytes> field,
                             const DavidSession& session) {
    try {
        return wire::decode_length(field, session.max_payload());
    } catch (const ProtocolError&) {
        return 0;
    }
}

}  // namespace

void serve(DavidSession& session, Transport& transport) {
    std::array<std::byte, wire::length_bytes> field{};
    /// Wiped also where the session ends in the middle of a frame.
    struct Payload : GrowingBuffer<std::byte> {
        ~Payload() { wipe(span().data(), span().size()); }
    } buffer;
    while (!session.finished()) {
        transport.await_frame();
        transport.receive(field);
        const auto payload = buffer.resize(announced_length(field, session));
        transport.receive(payload);
        const auto answer = session.handle(payload);
        wipe(payload.data(), payload.size());  // SESS-6
        if (!answer.empty()) transport.send(answer);
        session.forget();
    }
}

void InProcessTransport::send(std::span<const std::byte> bytes) {
    if (pending_.empty()) bytes = bytes.subspan(handle_frames(bytes));
    if (bytes.empty()) return;
    pending_.insert(pending_.end(), bytes.begin(), bytes.end());
    const auto handled = static_cast<std::ptrdiff_t>(handle_frames(pending_));
    pending_.erase(pending_.begin(), pending_.begin() + handled);
}

/// Gives every whole frame in `bytes` to David; returns how many bytes they were.
std::size_t InProcessTransport::handle_frames(std::span<const std::byte> bytes) {
    std::size_t handled = 0;
    while (bytes.size() - handled >= wire::length_bytes) {
        const auto frame = bytes.subspan(handled);
        const std::size_t length = announced_length(frame.first<wire::length_bytes>(), session_);
        if (frame.size() < wire::length_bytes + length) break;
        const auto answer = session_.handle(frame.subspan(wire::length_bytes, length));
        if (!answer.empty()) reply_ = answer;
        handled += wire::length_bytes + length;
    }
    return handled;
}

void InProcessTransport::receive(std::span<std::byte> bytes) {
    if (bytes.size() > reply_.size()) throw ProtocolError("David has sent nothing more");
    std::copy_n(reply_.begin(), bytes.size(), bytes.begin());
    reply_ = reply_.subspan(bytes.size());
    if (reply_.empty()) session_.forget();
}

}  // namespace slip::protocol

#include "optimized/protocol/david.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/base/secret_buffer.hpp"

namespace slip::protocol {
namespace {

namespace parameters = base::parameters;
using base::wipe;
using kernels::GroupWeights;
using wire::FrameType;
using wire::Refusal;

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

DavidSession::DavidSession(const DavidModel& model, Tamper tamper)
    : model_(model), tamper_(std::move(tamper)) {
    base::require(model.set.planes >= 1 && model.set.planes <= parameters::primes.size(),
                  "DavidSession: the planes of the set");
    std::size_t inputs = 0;
    for (const GroupWeights& w : model.weights) {
        base::require(w.shape().inputs() > 0 && w.shape().outputs() > 0,
                      "DavidSession: a group has no rows or no columns");
        w.prepare();
        inputs = std::max(inputs, w.shape().inputs());
    }
    max_apply_ = wire::columns_header_bytes - wire::length_bytes +
                 std::min(parameters::largest_residue_bytes,
                          parameters::largest_columns * model.set.planes * inputs);
}

std::size_t DavidSession::max_payload() const {  // WIRE-9
    return serving_ ? max_apply_ : wire::hello_bytes;
}

std::span<const std::byte> DavidSession::handle(std::span<const std::byte> payload) {
    if (finished_) throw ProtocolError("the session with David has ended");  // SESS-4
    answer_.resize(0);
    try {
        answer(payload);
    } catch (const ProtocolError&) {
        refuse(Refusal::malformed);
    } catch (...) {  // SESS-13: out of memory, or a device that fails
        finished_ = true;
        forget();
        throw;
    }
    return answer_.span();
}

void DavidSession::forget() noexcept {
    wipe(answer_.span().data(), answer_.span().size());
    answer_.resize(0);
}

/// SESS-1: what each state allows. Throws ProtocolError for a frame that is not canonical.
void DavidSession::answer(std::span<const std::byte> payload) {
    const FrameType type = wire::frame_type(payload);
    if (!serving_ && type == FrameType::hello) {
        answer_hello(wire::decode_hello(payload));
    } else if (serving_ && type == FrameType::apply) {
        answer_apply(payload);
    } else if (serving_ && (type == FrameType::abort || type == FrameType::close)) {
        wire::decode_empty(type, payload);
        finished_ = true;
    } else {
        require_canonical(type, payload);
        refuse(Refusal::out_of_order);
    }
}

/// Throws ProtocolError if a frame that the state does not allow is not even canonical, because
/// that is the reason to name then (WIRE-7).
void DavidSession::require_canonical(FrameType type, std::span<const std::byte> payload) {
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
    }
    const wire::ColumnsHeader header = wire::decode_columns_header(type, payload);
    if (header.group >= model_.weights.size()) return;
    const base::ProductShape& shape = model_.weights[header.group].shape();
    wire::decode_residues(payload, header, model_.set.planes,
                          type == FrameType::apply ? shape.inputs() : shape.outputs());
}

void DavidSession::answer_hello(const wire::Hello& hello) {  // SESS-2
    if (hello.version != parameters::protocol_version) {     // PARAM-4
        return refuse(Refusal::version);
    }
    if (hello.set != model_.set.code) return refuse(Refusal::set);
    if (hello.digest != model_.digest) return refuse(Refusal::digest);
    serving_ = true;
    answer_with(wire::encode_empty(FrameType::ready));
}

void DavidSession::answer_apply(std::span<const std::byte> payload) {
    const wire::ColumnsHeader header = wire::decode_columns_header(FrameType::apply, payload);
    if (header.sequence != next_sequence_) return refuse(Refusal::out_of_order);  // SESS-3
    if (header.group >= model_.weights.size()) return refuse(Refusal::unknown_group);
    const base::ProductShape& shape = model_.weights[header.group].shape();
    if (header.columns > columns_that_fit(shape, model_.set.planes)) {
        return refuse(Refusal::malformed);
    }
    answer_products(header,
                    wire::decode_residues(payload, header, model_.set.planes, shape.inputs()));
    ++next_sequence_;
}

/// LIN-1: W_D x or W_t x mod L for every column, in all planes, or CNN-4: the convolution of the
/// image.
void DavidSession::answer_products(const wire::ColumnsHeader& header,
                                   std::span<const std::uint8_t> columns) {
    const GroupWeights& w = model_.weights[header.group];
    const std::size_t bytes = header.columns * model_.set.planes * w.shape().outputs();
    const auto product = wire::begin_columns(FrameType::reply, header,
                                             answer_.resize(wire::columns_frame_bytes(bytes)));
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    w.apply(columns, product, model_.set.planes, model_.team);
    seconds_ += std::chrono::duration<double>(Clock::now() - start).count();
    if (tamper_) tamper_(header, product);
}

void DavidSession::answer_with(std::span<const std::byte> frame) {
    std::copy(frame.begin(), frame.end(), answer_.resize(frame.size()).begin());
}

void DavidSession::refuse(Refusal reason) {  // SESS-4
    finished_ = true;
    answer_with(wire::encode_refuse(reason));
}

void serve(DavidSession& session, Transport& transport) {
    std::array<std::byte, wire::length_bytes> field{};
    /// Wiped also where the session ends in the middle of a frame.
    struct Payload : base::GrowingBuffer<std::byte> {
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

#include "optimized/protocol/david.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "optimized/base/error.hpp"
#include "optimized/base/secret_buffer.hpp"
#include "optimized/protocol/growing_buffer.hpp"

namespace slip {
namespace {

using wire::FrameType;
using wire::Refusal;

constexpr std::size_t hello_payload = 40;  // WIRE-2

}  // namespace

/// David's arithmetic and its buffers. They are as large as the largest message so far, and zero
/// between messages (SESS-6).
class DavidSession::Columns {
public:
    virtual ~Columns() = default;
    /// Throws ProtocolError unless `payload` holds header.columns canonical columns of `rows`
    /// residues each.
    virtual void decode(std::span<const std::byte> payload, const wire::ColumnsHeader& header,
                        std::size_t rows) = 0;
    /// Multiplies what decode() took by `w` and writes the REPLY to the first part of `frame`,
    /// which it returns.
    virtual std::span<std::byte> reply(const GroupWeights& w, const wire::ColumnsHeader& header,
                                       std::vector<std::byte>& frame) = 0;
    double seconds = 0;  // spent in products
};

template <class P>
class DavidSession::ColumnsOf : public Columns {
public:
    using Residue = typename P::Residue;
    ColumnsOf(Tamper tamper, WorkerTeam* team) : tamper_(std::move(tamper)), team_(team) {}

    void decode(std::span<const std::byte> payload, const wire::ColumnsHeader& header,
                std::size_t rows) override {
        // Before memory is reserved, WIRE-9.
        wire::require_columns_length(profile_of<P>, payload, header, rows);
        wire::decode_residues(payload, header, rows, first_of(masked_, header.columns * rows));
    }

    std::span<std::byte> reply(const GroupWeights& w, const wire::ColumnsHeader& header,
                               std::vector<std::byte>& frame) override {
        const auto masked = std::span(masked_).first(header.columns * w.inputs());
        const auto product = first_of(product_, header.columns * w.outputs());
        multiply(w, masked, product);
        if (tamper_) tamper(header, product);
        const auto bytes = first_of(frame, wire::columns_frame_bytes(product.size_bytes()));
        wire::encode_columns(FrameType::reply, header, product, bytes);
        wipe(masked.data(), masked.size_bytes());  // SESS-6
        wipe(product.data(), product.size_bytes());
        return bytes;
    }

private:
    /// LIN-1: y~ = W_D x~ mod L, or CNN-4: the convolution of the masked image.
    void multiply(const GroupWeights& w, std::span<const Residue> masked,
                  std::span<Residue> product) {
        using Clock = std::chrono::steady_clock;
        const Clock::time_point start = Clock::now();
        w.apply<P>(masked, product, team_);
        seconds += std::chrono::duration<double>(Clock::now() - start).count();
    }

    /// What a dishonest David makes of it.
    void tamper(const wire::ColumnsHeader& header, std::span<Residue> product) {
        std::vector<std::uint64_t> residues(product.begin(), product.end());
        tamper_(header, residues);
        std::transform(residues.begin(), residues.end(), product.begin(),
                       [](std::uint64_t residue) { return static_cast<Residue>(residue); });
    }

    Tamper tamper_;
    WorkerTeam* team_;
    std::vector<Residue> masked_;
    std::vector<Residue> product_;
};

DavidSession::DavidSession(const DavidModel& model, Tamper tamper) : model_(model) {
    columns_ = with_profile(model.profile, [&](auto p) -> std::unique_ptr<Columns> {
        return std::make_unique<ColumnsOf<decltype(p)>>(std::move(tamper), model.team);
    });
    std::size_t inputs = 0;
    for (const auto& w : model.weights) {
        require(w.inputs() > 0 && w.outputs() > 0,
                "DavidSession: a group has no rows or no columns");
        with_profile(model.profile, [&](auto p) { w.prepare<decltype(p)>(); });
        inputs = std::max(inputs, w.inputs());
    }
    max_apply_ = wire::columns_header_bytes - wire::length_bytes +
                 std::min(max_residue_bytes, max_columns * inputs * residue_bytes(model.profile));
}

DavidSession::~DavidSession() = default;

double DavidSession::seconds() const { return columns_->seconds; }

std::size_t DavidSession::max_payload() const {  // WIRE-9
    return state_ == State::awaiting_hello ? hello_payload : max_apply_;
}

std::span<const std::byte> DavidSession::handle(std::span<const std::byte> payload) {
    if (finished()) throw ProtocolError("the session with David has ended");  // SESS-4
    answer_ = {};
    try {
        answer(payload);
    } catch (const ProtocolError&) {
        refuse(Refusal::malformed);
    }
    return answer_;
}

void DavidSession::forget() noexcept {
    wipe(answer_.data(), answer_.size());
    answer_ = {};
}

/// SESS-1: what each state allows. Throws ProtocolError for a frame that is not canonical.
void DavidSession::answer(std::span<const std::byte> payload) {
    const FrameType type = wire::frame_type(payload);
    if (state_ == State::awaiting_hello && type == FrameType::hello) {
        answer_hello(wire::decode_hello(payload));
    } else if (state_ == State::serving && type == FrameType::apply) {
        answer_apply(payload);
    } else if (state_ == State::serving && (type == FrameType::abort || type == FrameType::close)) {
        wire::decode_empty(type, payload);
        state_ = State::finished;
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
    const GroupWeights& w = model_.weights[header.group];
    columns_->decode(payload, header, type == FrameType::apply ? w.inputs() : w.outputs());
}

void DavidSession::answer_hello(const wire::Hello& hello) {                  // SESS-2
    if (hello.version != protocol_version) return refuse(Refusal::version);  // PARAM-4
    if (hello.profile != model_.profile) return refuse(Refusal::profile);
    if (hello.digest != model_.digest) return refuse(Refusal::digest);
    state_ = State::serving;
    answer_with(wire::encode_empty(FrameType::ready));
}

void DavidSession::answer_apply(std::span<const std::byte> payload) {
    const wire::ColumnsHeader header = wire::decode_columns_header(FrameType::apply, payload);
    if (header.sequence != next_sequence_) return refuse(Refusal::out_of_order);  // SESS-3
    if (header.group >= model_.weights.size()) return refuse(Refusal::unknown_group);
    const GroupWeights& w = model_.weights[header.group];
    if (header.columns > columns_that_fit(model_.profile, w.inputs(), w.outputs())) {
        return refuse(Refusal::malformed);
    }
    columns_->decode(payload, header, w.inputs());
    answer_ = columns_->reply(w, header, frame_);
    ++next_sequence_;
}

void DavidSession::refuse(Refusal reason) {  // SESS-4
    state_ = State::finished;
    answer_with(wire::encode_refuse(reason));
}

void DavidSession::answer_with(std::span<const std::byte> frame) {
    answer_ = first_of(frame_, frame.size());
    std::copy(frame.begin(), frame.end(), answer_.begin());
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
    std::vector<std::byte> buffer;
    while (!session.finished()) {
        transport.await_frame();
        transport.receive(field);
        const auto payload = first_of(buffer, announced_length(field, session));
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

}  // namespace slip

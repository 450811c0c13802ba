#include "optimized/protocol/david.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>
#include <vector>

#include "optimized/base/error.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/base/secret_buffer.hpp"
#include "optimized/protocol/growing_buffer.hpp"

namespace slip::protocol {
namespace {

namespace parameters = base::parameters;
using base::wipe;
using kernels::GroupWeights;
using wire::FrameType;
using wire::Refusal;

/// The buffers are as large as the largest message so far, and zero between messages (SESS-6).
template <class P>
class SessionOf final : public DavidSession {
public:
    using Residue = typename P::Residue;

    SessionOf(const DavidModel& model, Tamper tamper);
    /// Whatever has ended the session: what was not sent is forgotten too (SESS-6).
    ~SessionOf() override;

    std::size_t max_payload() const override;
    std::span<const std::byte> handle(std::span<const std::byte> payload) override;
    void forget() noexcept override;
    bool finished() const override { return finished_; }
    double seconds() const override { return seconds_; }

private:
    void answer(std::span<const std::byte> payload);
    void answer_hello(const wire::Hello& hello);
    void answer_apply(std::span<const std::byte> payload);
    void answer_products(const wire::ColumnsHeader& header, std::span<Residue> columns);
    void answer_with(std::span<const std::byte> frame);
    void refuse(Refusal reason);
    void require_canonical(FrameType type, std::span<const std::byte> payload);
    std::span<Residue> decode(std::span<const std::byte> payload, const wire::ColumnsHeader& header,
                              std::size_t rows);
    void tamper(const wire::ColumnsHeader& header, std::span<Residue> product) const;

    const DavidModel& model_;
    const Tamper tamper_;
    std::size_t max_apply_ = 0;  // the largest payload of an APPLY
    bool serving_ = false;       // HELLO has come
    bool finished_ = false;
    std::uint64_t next_sequence_ = 0;
    GrowingBuffer<Residue> columns_;
    GrowingBuffer<Residue> product_;
    GrowingBuffer<std::byte> answer_;
    double seconds_ = 0;  // spent in products
};

template <class T>
void wipe_contents(GrowingBuffer<T>& buffer) {
    wipe(buffer.span().data(), buffer.span().size_bytes());
}

template <class P>
SessionOf<P>::SessionOf(const DavidModel& model, Tamper tamper)
    : model_(model), tamper_(std::move(tamper)) {
    std::size_t inputs = 0;
    for (const GroupWeights& w : model.weights) {
        base::require(w.shape().inputs() > 0 && w.shape().outputs() > 0,
                      "DavidSession: a group has no rows or no columns");
        w.prepare<P>();
        inputs = std::max(inputs, w.shape().inputs());
    }
    max_apply_ = wire::columns_header_bytes - wire::length_bytes +
                 std::min(parameters::largest_residue_bytes,
                          parameters::largest_columns * inputs * sizeof(Residue));
}

template <class P>
SessionOf<P>::~SessionOf() {
    forget();
    wipe_contents(columns_);
    wipe_contents(product_);
}

template <class P>
std::size_t SessionOf<P>::max_payload() const {  // WIRE-9
    return serving_ ? max_apply_ : wire::hello_bytes;
}

template <class P>
std::span<const std::byte> SessionOf<P>::handle(std::span<const std::byte> payload) {
    if (finished_) throw ProtocolError("the session with David has ended");  // SESS-4
    answer_.resize(0);
    try {
        answer(payload);
    } catch (const ProtocolError&) {
        refuse(Refusal::malformed);
    }
    return answer_.span();
}

template <class P>
void SessionOf<P>::forget() noexcept {
    wipe_contents(answer_);
    answer_.resize(0);
}

/// SESS-1: what each state allows. Throws ProtocolError for a frame that is not canonical.
template <class P>
void SessionOf<P>::answer(std::span<const std::byte> payload) {
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
    }
    const wire::ColumnsHeader header = wire::decode_columns_header(type, payload);
    if (header.group >= model_.weights.size()) return;
    const base::ProductShape& shape = model_.weights[header.group].shape();
    decode(payload, header, type == FrameType::apply ? shape.inputs() : shape.outputs());
}

template <class P>
void SessionOf<P>::answer_hello(const wire::Hello& hello) {  // SESS-2
    if (hello.version != parameters::protocol_version) {     // PARAM-4
        return refuse(Refusal::version);
    }
    if (hello.profile != wire::profile_code) return refuse(Refusal::profile);
    if (hello.digest != model_.digest) return refuse(Refusal::digest);
    serving_ = true;
    answer_with(wire::encode_empty(FrameType::ready));
}

template <class P>
void SessionOf<P>::answer_apply(std::span<const std::byte> payload) {
    const wire::ColumnsHeader header = wire::decode_columns_header(FrameType::apply, payload);
    if (header.sequence != next_sequence_) return refuse(Refusal::out_of_order);  // SESS-3
    if (header.group >= model_.weights.size()) return refuse(Refusal::unknown_group);
    const base::ProductShape& shape = model_.weights[header.group].shape();
    if (header.columns > columns_that_fit<P>(shape)) return refuse(Refusal::malformed);
    const auto masked = decode(payload, header, shape.inputs());
    answer_products(header, masked);
    ++next_sequence_;
}

/// LIN-1: W_D x mod L for every column, or CNN-4: the convolution of the image. `columns` and the
/// products are wiped (SESS-6).
template <class P>
void SessionOf<P>::answer_products(const wire::ColumnsHeader& header, std::span<Residue> columns) {
    const GroupWeights& w = model_.weights[header.group];
    const auto product = product_.resize(header.columns * w.shape().outputs());
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    w.apply<P>(columns, product, model_.team);
    seconds_ += std::chrono::duration<double>(Clock::now() - start).count();
    if (tamper_) tamper(header, product);
    wire::encode_columns<P>(FrameType::reply, header, product,
                            answer_.resize(wire::columns_frame_bytes(product.size_bytes())));
    wipe(columns.data(), columns.size_bytes());
    wipe(product.data(), product.size_bytes());
}

template <class P>
void SessionOf<P>::answer_with(std::span<const std::byte> frame) {
    std::copy(frame.begin(), frame.end(), answer_.resize(frame.size()).begin());
}

template <class P>
void SessionOf<P>::refuse(Refusal reason) {  // SESS-4
    finished_ = true;
    answer_with(wire::encode_refuse(reason));
}

/// Throws ProtocolError unless `payload` holds header.columns canonical columns of `rows` residues
/// each.
template <class P>
auto SessionOf<P>::decode(std::span<const std::byte> payload, const wire::ColumnsHeader& header,
                          std::size_t rows) -> std::span<Residue> {
    // Before memory is reserved, WIRE-9.
    wire::require_columns_length<P>(payload, header, rows);
    const auto columns = columns_.resize(header.columns * rows);
    wire::decode_residues<P>(payload, header, rows, columns);
    return columns;
}

/// What a dishonest David makes of a product.
template <class P>
void SessionOf<P>::tamper(const wire::ColumnsHeader& header, std::span<Residue> product) const {
    std::vector<std::uint64_t> residues(product.begin(), product.end());
    tamper_(header, residues);
    std::transform(residues.begin(), residues.end(), product.begin(),
                   [](std::uint64_t residue) { return static_cast<Residue>(residue); });
}

}  // namespace

std::unique_ptr<DavidSession> make_david_session(const DavidModel& model,
                                                 DavidSession::Tamper tamper) {
    return std::make_unique<SessionOf<P31>>(model, std::move(tamper));
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

#include "optimized/protocol/offline_david.hpp"

#include <limits>
#include <optional>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/base/secret_buffer.hpp"
#include "optimized/protocol/david_answers.hpp"
#include "optimized/protocol/mask_stream.hpp"

namespace slip::protocol {
namespace {

namespace parameters = base::parameters;
using wire::FrameType;
using wire::Refusal;

template <class P>
class OfflineSessionOf final : public DavidAnswers<P> {
public:
    OfflineSessionOf(const DavidModel& model, DavidSession::Tamper tamper, std::uint64_t blocks)
        : DavidAnswers<P>(model, std::move(tamper)), blocks_per_key_(blocks) {}

    std::size_t max_payload() const override {  // OFF-7
        return keys_ ? wire::request_bytes : wire::key_frame_bytes;
    }

private:
    using DavidAnswers<P>::model_;

    void answer(std::span<const std::byte> payload) override;
    void answer_key(std::span<const std::byte> payload);
    void answer_request(const wire::ColumnsHeader& header);
    void require_canonical(FrameType type, std::span<const std::byte> payload);
    void finish() noexcept override {
        DavidAnswers<P>::finish();
        keys_.reset();  // which wipes the key
    }

    const std::uint64_t blocks_per_key_;
    std::optional<KeyStream> keys_;  // from KEY to the session's end
    std::optional<std::uint64_t> last_index_;
};

template <class P>
void OfflineSessionOf<P>::answer(std::span<const std::byte> payload) {
    if (payload.size() > max_payload()) throw ProtocolError("the frame is too long");
    const FrameType type = wire::offline_frame_type(payload);
    if (!keys_ && type == FrameType::key) {
        answer_key(payload);
    } else if (keys_ && type == FrameType::request) {
        answer_request(wire::decode_request(payload));
    } else if (keys_ && (type == FrameType::abort || type == FrameType::close)) {
        wire::decode_empty(type, payload);
        finish();
    } else {
        require_canonical(type, payload);
        this->refuse(Refusal::out_of_order);
    }
}

/// OFF-6, item 3: a frame that the state does not allow is malformed if it is not canonical.
template <class P>
void OfflineSessionOf<P>::require_canonical(FrameType type, std::span<const std::byte> payload) {
    if (type == FrameType::key) {
        base::SecretBuffer<std::uint8_t> key(parameters::session_key_bytes);
        wire::decode_key(payload, std::span<std::uint8_t, 32>(key.span()));
    } else if (type == FrameType::request) {
        wire::decode_request(payload);
    } else if (type == FrameType::refuse) {
        wire::decode_refuse(payload);
    } else if (type != FrameType::cancellations) {
        wire::decode_empty(type, payload);
    } else {
        const wire::ColumnsHeader header = wire::decode_columns_header(type, payload);
        if (header.group >= model_.weights.size()) return;
        this->decode(payload, header, model_.weights[header.group].shape().outputs());
    }
}

template <class P>
void OfflineSessionOf<P>::answer_key(std::span<const std::byte> payload) {  // OFF-2
    base::SecretBuffer<std::uint8_t> key(parameters::session_key_bytes);
    const std::span<std::uint8_t, 32> bytes(key.span());
    const wire::KeyHeader header = wire::decode_key(payload, bytes);
    if (header.version != parameters::protocol_version) {  // PARAM-4
        return this->refuse(Refusal::version);
    }
    if (header.profile != profile_of<P>) return this->refuse(Refusal::profile);
    if (header.digest != model_.digest) return this->refuse(Refusal::digest);
    keys_.emplace(bytes, blocks_per_key_);
    this->answer_with(wire::encode_empty(FrameType::ready));
}

/// OFF-4. An index that was drawn before is refused (OFF-5). The checks stand in the order of
/// OFF-6, item 5.
template <class P>
void OfflineSessionOf<P>::answer_request(const wire::ColumnsHeader& header) {
    const std::uint64_t first = header.sequence;
    if (header.columns - 1 > std::numeric_limits<std::uint64_t>::max() - first) {
        return this->refuse(Refusal::malformed);
    }
    if ((last_index_ && first <= *last_index_) || keys_->exhausted()) {
        return this->refuse(Refusal::out_of_order);
    }
    if (header.group >= model_.weights.size()) return this->refuse(Refusal::unknown_group);
    const base::ProductShape& shape = model_.weights[header.group].shape();
    if (header.columns > columns_that_fit<P>(shape)) return this->refuse(Refusal::malformed);
    const std::size_t n = shape.inputs();
    const auto masks = this->columns_.resize(header.columns * n);
    for (std::size_t j = 0; j < header.columns; ++j) {
        if (keys_->exhausted()) {  // RAND-5, OFF-8
            base::wipe(masks.data(), masks.size_bytes());
            return this->refuse(Refusal::out_of_order);
        }
        keys_->draw<P>(StreamTag::mask, first + j, masks.subspan(j * n, n));
    }
    last_index_ = first + (header.columns - 1);
    this->answer_products(FrameType::cancellations, header, masks);
}

}  // namespace

std::unique_ptr<DavidSession> make_offline_session(const DavidModel& model,
                                                   DavidSession::Tamper tamper,
                                                   std::uint64_t blocks_per_key) {
    return with_profile(model.profile, [&](auto p) -> std::unique_ptr<DavidSession> {
        return std::make_unique<OfflineSessionOf<decltype(p)>>(model, std::move(tamper),
                                                               blocks_per_key);
    });
}

}  // namespace slip::protocol

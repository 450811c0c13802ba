#include "optimized/protocol/offline_link.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/base/parameters.hpp"

namespace slip::protocol {

namespace parameters = base::parameters;
using base::GroupId;
using base::require;
using wire::FrameType;

namespace {

void require_no_refusal(std::span<const std::byte> payload, const char* what) {
    if (wire::offline_frame_type(payload) != FrameType::refuse) return;
    throw ProtocolError(std::string(what) + wire::describe(wire::decode_refuse(payload)));
}

}  // namespace

template <class P>
OfflineLink<P>::OfflineLink(Transport& transport, const Digest& digest,
                            const std::vector<base::ProductShape>& shapes, std::size_t batch,
                            std::uint64_t blocks_per_key, std::span<const std::uint8_t> test_key)
    : transport_(transport),
      shapes_(shapes),
      batch_(batch),
      blocks_per_key_(blocks_per_key),
      keys_({.blocks_per_key = blocks_per_key, .test_keys = test_key, .replaced = false}) {
    send_key(digest);
    const auto answer = receive_payload(2);
    require_no_refusal(answer, "the offline David refuses: ");
    wire::decode_empty(FrameType::ready, answer);
}

template <class P>
void OfflineLink<P>::send_key(const Digest& digest) {
    constexpr std::size_t size = wire::length_bytes + wire::key_frame_bytes;
    base::SecretBuffer<std::uint8_t> key(parameters::session_key_bytes);
    base::SecretBuffer<std::byte> frame(size);
    const std::span<std::uint8_t, parameters::session_key_bytes> bytes(key.span());
    keys_.copy_key(bytes);
    wire::encode_key({parameters::protocol_version, profile_of<P>, digest}, bytes,
                     std::span<std::byte, size>(frame.span()));
    send(frame.span());
}

/// An upper bound, apart from words that the sampler rejects, one in 2^31.
template <class P>
std::uint64_t OfflineLink<P>::blocks_of(GroupId group, std::size_t columns) const {
    constexpr std::size_t residues_per_block = 16 / sizeof(typename P::Residue);
    return columns * (shapes_[group].inputs() / residues_per_block + 1);
}

template <class P>
bool OfflineLink<P>::has_blocks_for(GroupId group, std::size_t columns) const {
    return blocks_asked_for_ + blocks_of(group, columns) <= blocks_per_key_;
}

template <class P>
void OfflineLink<P>::request(GroupId group, std::size_t columns) {
    require(!unanswered_.full(), "OfflineLink: too many REQUESTs are unanswered");
    require(columns >= 1 && columns <= std::min(batch_, columns_that_fit<P>(shapes_[group])),
            "OfflineLink: the number of columns");
    require(has_blocks_for(group, columns), "OfflineLink: the key is used up");
    const wire::ColumnsHeader header{next_index_, group, static_cast<std::uint32_t>(columns)};
    next_index_ += columns;  // before sending: no index is requested twice
    blocks_asked_for_ += blocks_of(group, columns);
    std::array<std::byte, wire::columns_header_bytes> frame{};
    wire::encode_request(header, frame);
    unanswered_.push_back(header);
    send(frame);
}

/// The payload of CANCELLATIONS for the oldest unanswered REQUEST (OFF-5).
template <class P>
std::span<std::byte> OfflineLink<P>::receive_answer() {
    require(!unanswered_.empty(), "OfflineLink: nothing to receive");
    const wire::ColumnsHeader header = unanswered_.front();
    const base::ProductShape& shape = shapes_[header.group];
    const std::size_t expected =
        wire::columns_frame_bytes(header.columns * shape.outputs() * sizeof(typename P::Residue));
    const auto payload = receive_payload(expected - wire::length_bytes);
    require_no_refusal(payload, "the offline David ends the connection: ");
    if (wire::decode_columns_header(FrameType::cancellations, payload) != header) {
        throw ProtocolError("CANCELLATIONS: index, group or columns are not those of the REQUEST");
    }
    return payload;
}

template <class P>
void OfflineLink<P>::skip() {
    const auto payload = receive_answer();
    base::wipe(payload.data(), payload.size());
    unanswered_.pop_front();
}

template <class P>
Cancellations<P> OfflineLink<P>::receive(MaskMemory<P>&& memory) {
    const auto payload = receive_answer();
    const wire::ColumnsHeader header = unanswered_.front();
    require(memory.size() == header.columns, "OfflineLink: memory for every column of the answer");
    for (std::size_t c = 0; c < memory.size(); ++c) {
        wire::decode_column<P>(payload, header, c, memory[c].cancellation.span());
    }
    base::wipe(payload.data(), payload.size());
    unanswered_.pop_front();
    for (std::size_t c = 0; c < memory.size(); ++c) {
        keys_.draw<P>(StreamTag::mask, header.sequence + c, memory[c].mask.span());
    }
    return {header, std::move(memory)};
}

template <class P>
void OfflineLink<P>::end(bool aborts) {
    keys_.destroy();
    const bool in_order = unanswered_.empty() && !aborts;
    transport_.send(wire::encode_empty(in_order ? FrameType::close : FrameType::abort));
}

template <class P>
void OfflineLink<P>::send(std::span<const std::byte> frame) {
    transport_.send(frame);
    bytes_up_ += frame.size();
}

/// OFF-7: throws before it reserves memory for a frame above `max_length`.
template <class P>
std::span<std::byte> OfflineLink<P>::receive_payload(std::size_t max_length) {
    std::array<std::byte, wire::length_bytes> field{};
    transport_.await_frame();
    transport_.receive(field);
    const auto bytes = payload_.resize(wire::decode_length(field, max_length));
    transport_.receive(bytes);
    bytes_down_ += field.size() + bytes.size();
    return bytes;
}

template class OfflineLink<P31>;
template class OfflineLink<P61>;

}  // namespace slip::protocol

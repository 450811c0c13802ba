// Frames between Charlie and an offline David (D2).
#pragma once

#include <array>
#include <vector>

#include "optimized/protocol/offline_david.hpp"
#include "property_tests/protocol/key_stream_fixture.hpp"
#include "property_tests/protocol/session_fixture.hpp"

namespace slip::fixture {

inline Bytes key_frame(const protocol::wire::KeyHeader& header, std::span<const std::uint8_t> key) {
    constexpr std::size_t size = protocol::wire::length_bytes + protocol::wire::key_frame_bytes;
    Bytes frame(size);
    protocol::wire::encode_key(header, std::span<const std::uint8_t, 32>(key),
                               std::span<std::byte, size>(frame));
    return frame;
}
inline Bytes key_frame(const Model& model, std::span<const std::uint8_t> key) {
    return key_frame({base::parameters::protocol_version, model.david.profile, model.david.digest},
                     key);
}

inline Bytes request_frame(std::uint64_t index, base::GroupId group, std::uint32_t columns) {
    Bytes frame(protocol::wire::columns_header_bytes);
    protocol::wire::encode_request(
        {index, group, columns}, std::span<std::byte, protocol::wire::columns_header_bytes>(frame));
    return frame;
}

inline Refusal refusal_in(const Bytes& answer) {
    return protocol::wire::decode_refuse(payload_of(answer));
}

/// A session with D2 after KEY.
inline std::unique_ptr<protocol::DavidSession> keyed_session(
    const Model& model, std::span<const std::uint8_t> key,
    std::uint64_t blocks = base::parameters::blocks_per_key) {
    auto session = protocol::make_offline_session(model.david, {}, blocks);
    handle(*session, key_frame(model, key));
    return session;
}

}  // namespace slip::fixture

// What the tests of sessions share: frames, and columns for them.
#pragma once

#include <algorithm>
#include <span>

#include "optimized/base/parameters.hpp"
#include "property_tests/generators/protocol_fixture.hpp"

namespace slip::fixture {

using protocol::wire::FrameType;
using protocol::wire::Refusal;

inline std::span<const std::byte> payload_of(const Bytes& frame) {
    return std::span(frame).subspan(protocol::wire::length_bytes);
}

inline Bytes handle(protocol::DavidSession& david, const Bytes& frame) {
    const auto answer = david.handle(payload_of(frame));
    return {answer.begin(), answer.end()};
}

inline Bytes hello_for(const Model& model) {
    return protocol::wire::encode_hello({2, model.david.set.code, model.david.digest});
}

/// An APPLY or REPLY of these bytes, whatever they are.
inline Bytes message(FrameType type, const protocol::wire::ColumnsHeader& header,
                     const Residues& residues) {
    Bytes frame(protocol::wire::columns_frame_bytes(residues.size()));
    const auto place = protocol::wire::begin_columns(type, header, frame);
    std::copy(residues.begin(), residues.end(), place.begin());
    return frame;
}

inline Columns some_columns(const Model& model, std::size_t columns = 1, base::GroupId group = 0) {
    Random random(columns);
    return random_columns(model.matrices[group], columns, Fill::random, random, model.planes());
}

inline Bytes abort_frame() { return protocol::wire::encode_empty(FrameType::abort); }
inline Bytes close_frame() { return protocol::wire::encode_empty(FrameType::close); }

}  // namespace slip::fixture

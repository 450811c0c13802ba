// What the tests of sessions share: frames, and columns for them.
#pragma once

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
    protocol::wire::Hello hello;
    hello.digest = model.david.digest;
    return protocol::wire::encode_hello(hello);
}

template <class P = kernels::P31>
Bytes message(FrameType type, const protocol::wire::ColumnsHeader& header,
              const Residues<P>& residues) {
    Bytes frame(protocol::wire::columns_frame_bytes(std::span(residues).size_bytes()));
    protocol::wire::encode_columns<P>(type, header, std::span(residues), frame);
    return frame;
}

inline Columns some_columns(const Model& model, std::size_t columns = 1, base::GroupId group = 0) {
    Random random(columns);
    return random_columns(model.matrices[group], columns, Fill::random, random);
}

inline Bytes abort_frame() { return protocol::wire::encode_empty(FrameType::abort); }
inline Bytes close_frame() { return protocol::wire::encode_empty(FrameType::close); }

}  // namespace slip::fixture

// Key streams under known keys, here and in the reference.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "optimized/protocol/mask_stream.hpp"
#include "property_tests/generators/protocol_fixture.hpp"

namespace slip::fixture {

inline protocol::KeyStream stream_under(const std::vector<std::uint8_t>& keys,
                                        std::uint64_t blocks_per_key = std::uint64_t{1} << 32) {
    return protocol::KeyStream({.blocks_per_key = blocks_per_key, .test_keys = keys});
}

template <class P = kernels::P31>
Residues<P> draw(protocol::KeyStream& keys, protocol::StreamTag tag, std::uint64_t index,
                 std::size_t count) {
    Residues<P> residues(count);
    keys.draw<P>(tag, index, std::span(residues));
    return residues;
}

inline reference::Tag to_reference(protocol::StreamTag tag) {
    return static_cast<reference::Tag>(static_cast<std::uint32_t>(tag));
}

template <class P = kernels::P31>
reference::Vector stream_of_reference(std::span<const std::uint8_t> key, protocol::StreamTag tag,
                                      std::uint64_t index, std::size_t count) {
    return reference::uniform_residues(ring<P>(), to_reference_key(key), to_reference(tag), index,
                                       count);
}

}  // namespace slip::fixture

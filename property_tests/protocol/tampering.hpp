// A David whose replies are wrong in one residue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "property_tests/generators/protocol_fixture.hpp"

namespace slip::fixture {

__extension__ using UInt128 = unsigned __int128;

template <class P>
typename P::Residue add(typename P::Residue a, typename P::Residue b) {
    return static_cast<typename P::Residue>((UInt128{a} + b) % P::p);
}

/// A David who adds `error` to one residue of one reply.
template <class P = kernels::P31>
protocol::DavidSession::Tamper tamper_with(std::uint64_t sequence, std::size_t at,
                                           typename P::Residue error) {
    return [=](const protocol::wire::ColumnsHeader& header, std::span<std::uint64_t> product) {
        if (header.sequence != sequence) return;
        product[at] = add<P>(static_cast<typename P::Residue>(product[at]), error);
    };
}

}  // namespace slip::fixture

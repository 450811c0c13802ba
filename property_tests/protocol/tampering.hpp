// A David whose replies are wrong in one residue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "property_tests/generators/protocol_fixture.hpp"

namespace slip::testing {

/// A David who adds `error` to byte `at` of the residues of one reply to a group of `rows` rows,
/// modulo its prime.
inline protocol::DavidSession::Tamper tamper_with(std::uint64_t sequence, std::size_t at,
                                                  unsigned error, std::size_t rows) {
    return [=](const protocol::wire::ColumnsHeader& header, std::span<std::uint8_t> product) {
        if (header.sequence != sequence) return;
        const unsigned prime = primes[at / rows % paper_planes];
        product[at] = static_cast<std::uint8_t>((product[at] + error) % prime);
    };
}

}  // namespace slip::testing

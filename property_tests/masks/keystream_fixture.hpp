// Keystreams under known keys, here and by the definition.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "optimized/masks/keystream.hpp"
#include "property_tests/generators/product_fixture.hpp"
#include "reference/aes.hpp"

namespace slip::testing {

inline masks::Keystream stream_under(const std::vector<std::uint8_t>& keys,
                                     std::uint64_t blocks_per_key = std::uint64_t{1} << 32) {
    return masks::Keystream({.blocks_per_key = blocks_per_key, .given_keys = keys});
}

/// One column of `count` residues.
inline Residues draw(masks::Keystream& keys, masks::Purpose purpose, std::uint64_t index,
                     std::size_t count, std::size_t planes = paper_planes) {
    Residues residues(planes * count);
    keys.draw(purpose, index, planes, residues);
    return residues;
}

/// The first residues of a stream, and how many bytes of it they took.
struct Drawn {
    Residues residues;
    std::size_t bytes = 0;
};

/// RAND-1 and RAND-2, as they are written: the bytes below the prime among those of AES-256(key,
/// field[4] || index[8] || counter[4]) for the counters 0, 1, ...
inline Drawn plane_by_definition(std::span<const std::uint8_t> key, masks::Purpose purpose,
                                 std::uint64_t index, std::size_t count, std::size_t plane) {
    std::array<std::uint8_t, 32> own{};
    std::copy(key.begin(), key.end(), own.begin());
    const reference::Aes cipher(own);
    const std::uint64_t field = 256 * plane + static_cast<unsigned>(purpose);
    Drawn drawn;
    for (std::uint64_t counter = 0; drawn.residues.size() < count; ++counter) {
        reference::Block block{};
        for (std::size_t i = 0; i < 4; ++i) {
            block[i] = static_cast<std::uint8_t>(field >> (24 - 8 * i));
            block[12 + i] = static_cast<std::uint8_t>(counter >> (24 - 8 * i));
        }
        for (std::size_t i = 0; i < 8; ++i) {
            block[4 + i] = static_cast<std::uint8_t>(index >> (56 - 8 * i));
        }
        for (const std::uint8_t byte : cipher.encrypt(block)) {
            if (drawn.residues.size() == count) break;
            ++drawn.bytes;
            if (byte < primes[plane]) drawn.residues.push_back(byte);
        }
    }
    return drawn;
}

/// A column by the definition.
inline Residues column_by_definition(std::span<const std::uint8_t> key, masks::Purpose purpose,
                                     std::uint64_t index, std::size_t count,
                                     std::size_t planes = paper_planes) {
    Residues column;
    for (std::size_t p = 0; p < planes; ++p) {
        const Residues plane = plane_by_definition(key, purpose, index, count, p).residues;
        column.insert(column.end(), plane.begin(), plane.end());
    }
    return column;
}

}  // namespace slip::testing

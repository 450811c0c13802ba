#include "optimized/masks/noise.hpp"

#include "optimized/base/error.hpp"
#include "optimized/masks/stack.hpp"

namespace slip::masks {

using base::require;

namespace {

/// Four pairs of bits become four times four bits, the second of a pair the third of four.
std::uint16_t spread(std::uint8_t pairs) {
    unsigned bits = pairs;
    bits = (bits | bits << 4) & 0x0f0f;
    bits = (bits | bits << 2) & 0x3333;
    return static_cast<std::uint16_t>((bits | bits << 1) & 0x5555);
}

}  // namespace

void decode_small(std::span<const std::uint8_t> stream, unsigned eta,
                  std::span<std::int8_t> small) {
    require((eta == 1 || eta == 2) && stream.size() == noise_bytes(small.size(), eta),
            "decode_small: a stream of another size");
    const unsigned per_byte = 4 / eta;
    for (std::size_t i = 0; i < small.size(); ++i) {
        const unsigned v = static_cast<unsigned>(stream[i / per_byte]) >> (i % per_byte * 2 * eta);
        const unsigned positive = eta == 1 ? v & 1 : (v & 1) + (v >> 1 & 1);
        const unsigned negative = eta == 1 ? v >> 1 & 1 : (v >> 2 & 1) + (v >> 3 & 1);
        small[i] =
            static_cast<std::int8_t>(static_cast<int>(positive) - static_cast<int>(negative));
    }
}

void widen(std::span<const std::uint8_t> stream, std::span<std::uint8_t> wide) {
    require(stream.size() == (wide.size() + 1) / 2, "widen: a stream of another size");
    const std::size_t pairs = wide.size() / 2;
    for (std::size_t i = 0; i < pairs; ++i) {
        const std::uint16_t bits = spread(stream[i]);
        wide[2 * i] = static_cast<std::uint8_t>(bits);
        wide[2 * i + 1] = static_cast<std::uint8_t>(bits >> 8);
    }
    if (wide.size() % 2 != 0) wide.back() = static_cast<std::uint8_t>(spread(stream[pairs]));
}

void add_noise(std::span<const std::uint8_t> stream, const Tau& tau, std::size_t planes,
               std::span<std::uint8_t> column, const Backend& backend) {
    require(1 <= planes && planes <= most_planes && column.size() % planes == 0,
            "add_noise: not a column of whole planes");
    const std::size_t n = column.size() / planes;
    require(stream.size() == noise_bytes(n, 2), "add_noise: a stream of another size");
    backend.add_noise(stream.data(), n, planes, tau.data(), column.data());
    wipe_used_stack();
}

/// The residues are the low bits, the highest of them their sign.
void reduce_modulo_tau(std::span<std::int64_t> products, unsigned tau_bits) {
    const unsigned others = 64 - tau_bits;
    for (std::int64_t& y : products) {
        y = static_cast<std::int64_t>(static_cast<std::uint64_t>(y) << others) >> others;
    }
}

}  // namespace slip::masks

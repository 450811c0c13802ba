#include "optimized/masks/noise.hpp"

#include "optimized/base/error.hpp"
#include "optimized/masks/stack.hpp"

namespace slip::masks {

using base::require;

void add_noise(std::span<const std::uint8_t> stream, std::size_t planes,
               std::span<std::uint8_t> column, const Backend& backend) {
    require(1 <= planes && planes <= most_planes && column.size() % planes == 0,
            "add_noise: not a column of whole planes");
    const std::size_t n = column.size() / planes;
    require(stream.size() == noise_bytes(n), "add_noise: a stream of another size");
    backend.add_noise(stream.data(), n, planes, column.data());
    wipe_used_stack();
}

/// tau is a power of two: its residues are the low bits, the highest of them their sign.
void reduce_modulo_tau(std::span<std::int64_t> products) {
    constexpr unsigned others = 64 - base::parameters::paper_lattice.tau_bits;
    for (std::int64_t& y : products) {
        y = static_cast<std::int64_t>(static_cast<std::uint64_t>(y) << others) >> others;
    }
}

}  // namespace slip::masks

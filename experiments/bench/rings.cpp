#include "experiments/bench/rings.hpp"

#include <random>
#include <span>
#include <vector>

#include "experiments/bench/contest.hpp"
#include "experiments/bench/peers.hpp"
#include "optimized/base/error.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/kernels/registry.hpp"
#include "optimized/masks/products.hpp"

namespace slip::bench {
namespace {

constexpr std::size_t rows = 64;
using ByteColumns = std::vector<std::vector<std::uint8_t>>;

/// Coefficients mod L, row by row, of columns in planes.
std::vector<std::uint64_t> joined(const ByteColumns& columns, std::size_t planes) {
    const std::vector<std::uint8_t> zeros(planes * rows);
    std::vector<std::uint64_t> result(rows * columns.size());
    std::vector<std::int64_t> lifted(rows);
    for (std::size_t i = 0; i < columns.size(); ++i) {
        kernels::active().unmask(columns[i].data(), zeros.data(), rows, planes, lifted.data());
        for (std::size_t j = 0; j < rows; ++j) {
            const auto value = static_cast<std::uint64_t>(lifted[j]);
            result[j * columns.size() + i] = lifted[j] < 0 ? value + modulus_of_rings : value;
        }
    }
    return result;
}

}  // namespace

void measure_rings(std::size_t repetitions, Report& report) {
    const auto& set = *base::parameters::set_named("hidden");
    static_assert(degree_of_rings == masks::degree);
    base::require(base::parameters::modulus(set.planes) == modulus_of_rings, "another L");
    const std::size_t d = set.lattice->rank;
    std::mt19937_64 random(1);
    std::vector<std::uint64_t> elements(rows * d * masks::degree);
    std::vector<std::uint8_t> stored;
    for (std::uint64_t& coefficient : elements) {
        coefficient = random() % modulus_of_rings;
        for (std::size_t i = 0; i < set.planes; ++i) {
            stored.push_back(static_cast<std::uint8_t>(coefficient >> (8 * i)));
        }
    }
    std::vector<std::int8_t> small(d * masks::degree);
    for (std::int8_t& s : small) s = static_cast<std::int8_t>(static_cast<int>(random() % 3) - 1);
    const masks::BlockSecret secret(small, 1);
    ByteColumns columns(masks::degree, std::vector<std::uint8_t>(set.planes * rows));
    const std::vector<std::span<std::uint8_t>> places(columns.begin(), columns.end());
    masks::RingProducts products(set.planes, d, 1);
    const masks::Block block{&secret, places};
    constexpr double sums = rows;
    std::vector<Contestant> contestants{{"ring products, 64 sums of 9",
                                         [&] {
                                             products.exact({stored, 0, rows}, {&block, 1});
                                         },
                                         sums, "sums/s"}};
    const std::vector<RingPeer> peers = make_ring_peers({elements, small, d});
    for (const RingPeer& peer : peers) {
        contestants.push_back({peer.library, peer.multiply, sums, "sums/s"});
    }
    const Contest contest(contestants, 10 * repetitions, report);
    const auto ours = joined(columns, set.planes);
    for (std::size_t i = 0; i < peers.size(); ++i) {
        base::require(peers[i].result() == ours, "a peer's sums differ");
        report.add_figure("ring_" + peers[i].figure, contest.ratio(0, i + 1));
    }
}

}  // namespace slip::bench

// What the tests of lattice masks and of the hidden split share: seeds of public matrices, and
// stocks without a background thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "optimized/masks/lattice_stock.hpp"
#include "property_tests/generators/product_fixture.hpp"

namespace slip::testing {

using PublicSeed = masks::PublicMatrix::Seed;

/// The seed whose bytes count from `first`.
inline PublicSeed counting_seed(std::uint8_t first) {
    PublicSeed seed{};
    std::copy_n(counting_key(first).begin(), seed.size(), seed.begin());
    return seed;
}

/// Tests of behaviour need no background thread.
inline masks::LatticeOptions on_demand() {
    masks::LatticeOptions options;
    options.ahead = false;
    return options;
}

}  // namespace slip::testing

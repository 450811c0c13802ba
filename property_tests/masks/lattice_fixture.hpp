// What the tests of lattice masks share: models with their hints.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "optimized/masks/lattice_stock.hpp"
#include "optimized/secrets/product_check.hpp"
#include "optimized/split/hint.hpp"
#include "property_tests/generators/protocol_fixture.hpp"
#include "property_tests/masks/stocks_on_demand.hpp"

namespace slip::testing {

using base::parameters::ParameterSet;
using masks::LatticeGroup;
using masks::LatticeOptions;
using masks::LatticeStock;
using masks::Mask;

inline constexpr std::size_t lattice_planes = 5;
inline constexpr std::size_t block = 256;
inline const ParameterSet& lattice_set = *base::parameters::set_named("paper-lattice");

inline PublicSeed public_seed() { return counting_seed(50); }

/// A model with lattice masks, with its hints and the check of products.
struct LatticeModel : Model {
    explicit LatticeModel(const std::vector<Shape>& shapes, std::uint64_t seed = 1)
        : Model(shapes, Fill::random, seed, lattice_planes), file(weights(), lattice_planes) {
        std::size_t tallest = 0;
        for (std::size_t g = 0; g < weights().size(); ++g) {
            const auto& w = weights()[g];
            const splitting::PublicColumns columns(lattice_set, public_seed(), w.cols());
            hints.emplace_back(w.rows() * splitting::hint_row_bytes(lattice_set));
            splitting::compute_hint(columns, w, 1, hints.back());
            const auto z = secrets::draw_product_secret(file.seed, w.rows());
            const auto companion = secrets::product_companion(z, w);
            const auto* bytes = reinterpret_cast<const std::uint8_t*>(companion.data());
            companions.emplace_back(bytes, bytes + companion.size() * sizeof(std::uint64_t));
            tallest = std::max(tallest, w.rows());
        }
        base::CheckSecret secret = file.secret();
        secret.product_companions.assign(companions.begin(), companions.end());
        products.emplace(secret, tallest);
    }
    std::vector<LatticeGroup> groups() const {
        std::vector<LatticeGroup> all;
        for (std::size_t g = 0; g < weights().size(); ++g) {
            all.push_back({weights()[g].shape(), hints[g], {}});
        }
        return all;
    }
    std::unique_ptr<LatticeStock> stock(const LatticeOptions& options) const {
        return std::make_unique<LatticeStock>(lattice_set, public_seed(), groups(), options);
    }

    CheckFile file;
    std::vector<std::vector<std::uint8_t>> hints;
    std::vector<std::vector<std::uint8_t>> companions;
    std::optional<secrets::ProductCheck> products;
};

inline protocol::SessionOptions options_for(const LatticeModel& model, LatticeStock& stock) {
    protocol::SessionOptions options = small_stock();
    options.shared = {&stock, &*model.products};
    return options;
}

inline std::vector<Mask::Spent> spend(std::vector<Mask>&& masks) {
    std::vector<Mask::Spent> spent;
    for (Mask& mask : masks) spent.push_back(std::move(mask).spend());
    return spent;
}

}  // namespace slip::testing

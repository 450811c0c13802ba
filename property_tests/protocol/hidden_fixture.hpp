// What the tests of the hidden split share: matrices, hidden as the owner hides them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "optimized/base/hidden_widths.hpp"
#include "optimized/masks/lattice_stock.hpp"
#include "optimized/secrets/product_check.hpp"
#include "optimized/secrets/weight_secrets.hpp"
#include "optimized/split/hidden_matrix.hpp"
#include "property_tests/generators/protocol_fixture.hpp"
#include "property_tests/masks/stocks_on_demand.hpp"

namespace slip::testing {

using splitting::HiddenModel;

inline const base::parameters::ParameterSet& hidden_set = *base::parameters::set_named("hidden");

inline PublicSeed hidden_seed(std::uint8_t first = 60) { return counting_seed(first); }

/// Integers that a row, or a column, of this width may have: each of magnitude B / sqrt(n) at most.
inline std::vector<std::int16_t> short_entries(std::size_t rows, std::size_t n, Random& random) {
    std::int32_t root = 1;
    while (static_cast<std::size_t>(root) * static_cast<std::size_t>(root) < n) ++root;
    const auto most = static_cast<std::int16_t>(base::hidden_width(n).norm / root);
    return fill<std::int16_t>(Fill::random, rows * n, static_cast<std::int16_t>(-most), most,
                              random);
}
inline HiddenModel any_hidden(std::size_t rows, std::size_t n, Random& random) {
    return {n, short_entries(rows, n, random), std::vector<float>(rows, 1)};
}

/// A group as both sides have it.
struct HiddenGroup {
    HiddenGroup(const splitting::PublicOfWidth& common, const HiddenModel& model,
                std::span<const std::uint8_t> owners_key, std::span<const std::uint8_t> check_seed)
        : rows(model.rows()),
          n(model.n),
          key(owners_key.begin(), owners_key.end()),
          davids(hidden_set.planes * rows * n) {
        const auto companions = splitting::hide(
            common, model, key, check_seed, 2, [&](const splitting::HiddenRows& part) {
                for (std::size_t p = 0; p < hidden_set.planes; ++p) {
                    std::copy_n(part.davids.data() + p * part.count * n, part.count * n,
                                davids.data() + (p * rows + part.first) * n);
                }
                hint.insert(hint.end(), part.hint.span().begin(), part.hint.span().end());
            });
        check.assign(companions.check.span().begin(), companions.check.span().end());
        const auto* bytes = reinterpret_cast<const std::uint8_t*>(companions.product.data());
        product.assign(bytes, bytes + companions.product.size() * sizeof(std::uint64_t));
    }
    base::ProductShape shape() const { return {rows, n}; }
    base::ProductShape davids_shape() const { return {rows + hidden_set.public_rows(), n}; }
    kernels::GroupWeights weights(const splitting::PublicOfWidth& common) const {
        std::vector<kernels::WeightMatrix> a, u;
        for (std::size_t p = 0; p < hidden_set.planes; ++p) {
            a.emplace_back(davids.data() + p * rows * n, rows, n);
            u.emplace_back(common.plane(p));
        }
        return {kernels::PlanarMatrix(std::move(a)), kernels::PlanarMatrix(std::move(u))};
    }

    std::size_t rows, n;
    std::vector<std::uint8_t> key;
    std::vector<std::int8_t> davids;  // A: planes x rows x n
    std::vector<std::uint8_t> hint, check, product;
};

/// A model of hidden groups, its David, and what Charlie's sessions share.
class HiddenDeployment {
public:
    explicit HiddenDeployment(const std::vector<HiddenModel>& models, std::uint8_t seed = 1)
        : check_seed_(counting_key(static_cast<std::uint8_t>(seed + 7))) {
        std::vector<base::ProductShape> shapes, davids_shapes;
        std::vector<std::span<const std::uint8_t>> keys;
        std::size_t tallest = 0;
        base::CheckSecret secret{check_seed_, {}, {}};
        for (std::size_t g = 0; g < models.size(); ++g) {
            auto& common = commons_[models[g].n];
            if (!common) {
                common = std::make_unique<splitting::PublicOfWidth>(hidden_set, public_seed(),
                                                                    models[g].n);
            }
            const auto key = splitting::hiding_key(hidden_set, counting_key(seed), public_seed(),
                                                   static_cast<std::uint32_t>(g), models[g]);
            groups_.push_back(
                std::make_unique<HiddenGroup>(*common, models[g], key.span(), check_seed_));
            const HiddenGroup& group = *groups_.back();
            david.weights.push_back(group.weights(*common));
            shapes.push_back(group.shape());
            davids_shapes.push_back(group.davids_shape());
            keys.emplace_back(group.key);
            secret.companions.emplace_back(group.check);
            secret.product_companions.emplace_back(group.product);
            tallest = std::max(tallest, group.rows);
        }
        david.set = hidden_set;
        check.emplace(secret, davids_shapes, hidden_set.planes);
        products.emplace(secret, tallest);
        secrets.emplace(hidden_set, keys, shapes);
    }
    PublicSeed public_seed() const { return hidden_seed(check_seed_[0]); }
    const HiddenGroup& group(std::size_t g) const { return *groups_.at(g); }

    std::unique_ptr<masks::LatticeStock> stock(const masks::LatticeOptions& options) const {
        std::vector<masks::LatticeGroup> all;
        for (const auto& group : groups_) all.push_back({group->shape(), group->hint, {}});
        return std::make_unique<masks::LatticeStock>(hidden_set, public_seed(), std::move(all),
                                                     options);
    }

private:
    std::vector<std::uint8_t> check_seed_;
    std::map<std::size_t, std::unique_ptr<splitting::PublicOfWidth>> commons_;
    std::vector<std::unique_ptr<HiddenGroup>> groups_;

public:
    protocol::DavidModel david;
    std::optional<protocol::IntegrityCheck> check;
    std::optional<secrets::ProductCheck> products;
    std::optional<secrets::WeightSecrets> secrets;
};

/// A session of a deployment, with David in this process.
class HiddenSession {
public:
    HiddenSession(const HiddenDeployment& deployment, masks::LatticeStock& stock,
                  protocol::DavidSession::Tamper tamper = {})
        : david_(deployment.david, std::move(tamper)),
          transport_(david_),
          charlie(no_weights_, *deployment.check, hidden_set, deployment.david.digest, transport_,
                  options(deployment, stock)) {}

private:
    static protocol::SessionOptions options(const HiddenDeployment& deployment,
                                            masks::LatticeStock& stock) {
        protocol::SessionOptions options;
        options.wrong_peers = nullptr;
        options.shared = {&stock, &*deployment.products, &*deployment.secrets};
        return options;
    }
    const kernels::OffloadedWeights no_weights_;  // no mask is uniform
    protocol::DavidSession david_;
    protocol::InProcessTransport transport_;

public:
    protocol::CharlieSession charlie;
};

/// W' q for every column, over Z.
inline Products integer_products(const HiddenModel& model, const Columns& columns) {
    Products products;
    for (std::size_t c = 0; c < columns.count; ++c) {
        for (std::size_t i = 0; i < model.rows(); ++i) {
            std::int64_t sum = 0;
            for (std::size_t j = 0; j < model.n; ++j) {
                sum += std::int64_t{model.view().row(i)[j]} * columns.q[c * model.n + j];
            }
            products.push_back(sum);
        }
    }
    return products;
}

}  // namespace slip::testing

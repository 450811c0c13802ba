// What David sees of lattice masks, and that what Charlie gets does not depend on them.
#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "optimized/kernels/registry.hpp"
#include "optimized/masks/noise.hpp"
#include "property_tests/masks/lattice_fixture.hpp"
#include "property_tests/protocol/uniformity.hpp"

namespace slip::testing {
namespace {

using namespace masks;
using namespace protocol;
namespace parameters = base::parameters;

/// Columns within the activation norm of the set, 4832.
Columns prompt(Fill kind) { return columns_to_view(kind, 600); }

/// The masked columns of one block's messages: 8 of 16 columns and 128 of one.
View view_of(const LatticeModel& model, LatticeStock& stock, const Columns& columns) {
    Connection connection(model, options_for(model, stock));
    for (std::size_t first = 0; first < columns.count;) {
        const std::size_t b = first < 128 ? 16 : 1;
        Products products(b * 4);
        connection.charlie.send(0, columns.view().rows_from(first, b));
        connection.charlie.receive({products.data(), b, 4});
        first += b;
    }
    constexpr std::size_t size = lattice_planes * view_width;
    View view;
    for (const Residues& masked : connection.transport.masked_inputs()) {
        for (std::size_t at = 0; at < masked.size(); at += size) {
            view.emplace_back(masked.begin() + static_cast<std::ptrdiff_t>(at),
                              masked.begin() + static_cast<std::ptrdiff_t>(at + size));
        }
    }
    return view;
}

/// A false alarm per plane and sample below 1e-8: fewer than 1e-5 of all.
TEST(LatticeView, THREAT_1_looks_uniform_whatever_the_activations_are) {
    const LatticeModel model({{4, view_width}});
    const auto stock = model.stock(on_demand());
    for (const Fill kind : all_fills) {
        const View view = view_of(model, *stock, prompt(kind));
        ASSERT_EQ(view.size(), view_columns);
        EXPECT_TRUE(looks_uniform(view, lattice_planes));
    }
}

TEST(LatticeView, THREAT_1_MASK_9_the_test_kills_mutants) {
    const LatticeModel model({{4, view_width}});
    const auto stock = model.stock(on_demand());
    const View view = view_of(model, *stock, prompt(Fill::random));
    View again = view;  // a mask that is used for every second column
    for (std::size_t c = 1; c < again.size(); c += 2) again[c] = again[c - 1];
    EXPECT_FALSE(looks_uniform(again, lattice_planes));
    View small = view;  // one plane without its mask
    for (Residues& column : small) {
        for (std::size_t j = 0; j < view_width; ++j) column[4 * view_width + j] = 17;
    }
    EXPECT_FALSE(looks_uniform(small, lattice_planes));
}

TEST(LatticeView, MASK_8_products_are_the_same_under_a_hundred_seeds) {
    const LatticeModel model({{9, 30}, {4, 17}});
    Random random(3);
    std::vector<Columns> columns;
    for (const auto& w : model.matrices) {
        columns.push_back(random_columns(w, 5, Fill::random, random, lattice_planes));
        for (std::int16_t& entry : columns.back().q) entry = static_cast<std::int16_t>(entry % 880);
    }
    for (std::uint8_t seed = 0; seed < 100; ++seed) {
        LatticeOptions options = on_demand();
        const auto key = counting_key(seed);
        options.keys.given_keys = key;
        const auto stock = model.stock(options);
        Connection connection(model, options_for(model, *stock));
        for (std::uint32_t group = 0; group < columns.size(); ++group) {
            ASSERT_EQ(to_reference(round(connection.charlie, group, columns[group],
                                         model.matrices[group].rows())),
                      exact_products(model.matrices[group], columns[group]))
                << "seed " << int{seed};
        }
    }
}

/// A residue mod L in its planes.
void store(std::int64_t value, std::span<std::uint8_t> column, std::size_t j) {
    const std::size_t width = column.size() / lattice_planes;
    for (std::size_t p = 0; p < lattice_planes; ++p) {
        const std::int64_t prime = parameters::primes[p];
        column[p * width + j] = static_cast<std::uint8_t>((value % prime + prime) % prime);
    }
}

/// What is left of a product whose masked column is q + tau e, with nothing of T S, when its
/// cancellation is off by tau * surplus.
std::int64_t unmasked(const std::vector<std::int8_t>& w, const std::vector<std::int64_t>& q,
                      const std::vector<std::int64_t>& e, std::int64_t surplus) {
    const std::int64_t tau = std::int64_t{1} << lattice_set.lattice->tau_bits;
    const std::size_t n = w.size();
    std::vector<std::uint8_t> x(lattice_planes * n), y(lattice_planes), c(lattice_planes);
    for (std::size_t j = 0; j < n; ++j) store(q[j] + tau * e[j], x, j);
    store(-tau * surplus, c, 0);
    kernels::WeightMatrix(w.data(), 1, n).multiply(x, y, lattice_planes);
    std::int64_t product = 0;
    kernels::active().unmask(y.data(), c.data(), 1, lattice_planes, &product);
    masks::reduce_modulo_tau(std::span(&product, 1), lattice_set.lattice->tau_bits);
    return product;
}

/// PARAM-5: a row of W_D with norm 1736 exactly, an activation along it with a norm of at most
/// 4832, noise along it up to tail B_w, and the error of a cancellation up to Delta.
TEST(LatticeView, PARAM_5_columns_at_the_bound_do_not_wrap) {
    constexpr std::size_t n = 196;
    std::vector<std::int8_t> w(n);
    std::vector<std::int64_t> q(n), e(n);
    std::int64_t norm = 0, exact = 0, noise = 0, activation_norm = 0;
    for (std::size_t j = 0; j < n; ++j) {
        w[j] = j % 3 == 0 ? std::int8_t{-124} : std::int8_t{124};
        const std::int64_t sign = w[j] < 0 ? -1 : 1;
        q[j] = sign * (j < 27 ? 346 : 345);
        e[j] = j < 184 ? sign : 0;
        norm += w[j] * w[j];
        exact += w[j] * q[j];
        noise += w[j] * e[j];
        activation_norm += q[j] * q[j];
    }
    const auto& lattice = *lattice_set.lattice;
    ASSERT_EQ(norm, std::int64_t{lattice.weight_norm} * lattice.weight_norm);
    ASSERT_LE(activation_norm, std::int64_t{lattice.activation_norm} * lattice.activation_norm);
    ASSERT_GT(2 * exact, (std::int64_t{1} << lattice.tau_bits) - 1000);
    const std::int64_t allowed = 66 * lattice.weight_norm / 5 + 64;  // tail B_w + Delta
    const auto negative = [](std::vector<std::int64_t> values) {
        for (std::int64_t& value : values) value = -value;
        return values;
    };
    for (const std::int64_t surplus : {std::int64_t{0}, std::int64_t{64}, allowed - noise}) {
        EXPECT_EQ(unmasked(w, q, e, surplus), exact);
        EXPECT_EQ(unmasked(w, q, negative(e), -surplus), exact);
        EXPECT_EQ(unmasked(w, negative(q), e, surplus), -exact);
        EXPECT_EQ(unmasked(w, negative(q), negative(e), -surplus), -exact);
    }
    // The bound is sharp: ten units of tau more, and it wraps.
    EXPECT_NE(unmasked(w, q, e, allowed - noise + 11), exact);
    EXPECT_NE(unmasked(w, negative(q), negative(e), noise - allowed - 11), -exact);
}

}  // namespace
}  // namespace slip::testing

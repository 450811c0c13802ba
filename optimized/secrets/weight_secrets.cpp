#include "optimized/secrets/weight_secrets.hpp"

#include <algorithm>

#include "optimized/base/error.hpp"
#include "optimized/kernels/registry.hpp"
#include "optimized/masks/decoding.hpp"
#include "optimized/masks/noise.hpp"

namespace slip::secrets {
namespace {

using base::ProductShape;
using base::require;
using base::parameters::ParameterSet;
using base::parameters::primes;
using masks::degree;

/// Entries first, ..., first + count - 1 of every plane of a column.
void copy_entries(std::span<const std::uint8_t> column, std::size_t planes, std::size_t first,
                  std::size_t count, std::uint8_t* out) {
    const std::size_t rows = column.size() / planes;
    for (std::size_t p = 0; p < planes; ++p) {
        std::copy_n(column.data() + p * rows + first, count, out + p * count);
    }
}

/// Entries 0 .. m-1 of each plane of a column of more, less two others, modulo the prime (RING-1).
void subtract_both(std::span<const std::uint8_t> column, std::size_t planes,
                   std::span<const std::uint8_t> first, std::span<const std::uint8_t> second,
                   std::uint8_t* __restrict out) {
    const std::size_t m = first.size() / planes, rows = column.size() / planes;
    const auto less = [](std::uint8_t x, std::uint8_t y, std::uint8_t prime) {
        return static_cast<std::uint8_t>(x - y + (prime & (0 - unsigned{x < y})));
    };
    for (std::size_t p = 0; p < planes; ++p) {
        const std::uint8_t prime = primes[p];
        const std::uint8_t* const from = column.data() + p * rows;
        for (std::size_t i = 0; i < m; ++i) {
            const std::size_t at = p * m + i;
            out[at] = less(less(from[i], first[at], prime), second[at], prime);
        }
    }
}

}  // namespace

base::SecretBuffer<std::int8_t> WeightStreams::weight_secret(std::size_t rows) {
    const std::size_t own = set_.lattice->rank * degree;
    base::SecretBuffer<std::int8_t> secret((rows + degree - 1) / degree * own);
    for (std::size_t b = 0; b < secret.size() / own; ++b) {
        draw(masks::Purpose::weight_secret, b, secret.span().subspan(b * own, own));
    }
    return secret;
}

void WeightStreams::weight_error(std::size_t i, std::span<std::int8_t> error) {
    draw(masks::Purpose::weight_error, i, error);
}

void WeightStreams::draw(masks::Purpose purpose, std::size_t index, std::span<std::int8_t> small) {
    const std::size_t bytes = masks::noise_bytes(small.size(), set_.lattice->eta);
    if (bytes_.size() < bytes) bytes_ = base::SecretBuffer<std::uint8_t>(bytes);
    stream_.draw_bytes(purpose, index, bytes_.span().first(bytes));
    masks::decode_small(bytes_.span().first(bytes), set_.lattice->eta, small);
}

WeightSecrets::WeightSecrets(const ParameterSet& set,
                             std::span<const std::span<const std::uint8_t>> keys,
                             std::span<const ProductShape> shapes)
    : set_(set), shapes_(shapes.begin(), shapes.end()) {
    require(set.hides_weights && keys.size() == shapes.size() && !shapes.empty(),
            "WeightSecrets: a key per group");
    for (std::size_t g = 0; g < shapes.size(); ++g) {
        require(shapes[g].n <= base::widest_hidden, "WeightSecrets: a matrix is too wide");
        const auto small = WeightStreams(set, keys[g]).weight_secret(shapes[g].rows);
        secrets_.emplace_back(small.span(), set.lattice->rank);
    }
}

WeightSecrets::Workspace WeightSecrets::workspace() const {
    std::size_t rows = set_.public_rows();
    for (const ProductShape& shape : shapes_) rows = std::max(rows, shape.rows);
    using Bytes = base::SecretBuffer<std::uint8_t>;
    return {secrets_.front().workspace(), Bytes(set_.planes * rows), Bytes(set_.planes * rows),
            Bytes(set_.planes * rows), base::SecretBuffer<std::int64_t>(set_.public_rows())};
}

void WeightSecrets::products(base::GroupId group, std::span<const std::uint8_t> reply,
                             std::span<const std::uint8_t> cancellation, Workspace& workspace,
                             std::span<std::int64_t> products) const {
    const ProductShape& shape = shapes_.at(group);
    const std::size_t planes = set_.planes, m = shape.rows, ell = set_.public_rows();
    require(reply.size() == planes * (m + ell) && cancellation.size() == planes * m &&
                products.size() == m,
            "WeightSecrets: the sizes of a reply");
    const kernels::Backend& kernels = kernels::active();
    copy_entries(reply, planes, m, ell, workspace.reply.data());  // y_U
    kernels.unmask(workspace.reply.data(), workspace.zeros.data(), ell, planes,
                   workspace.lifted.data());
    const auto removed = workspace.removed.span().first(planes * m);
    secrets_[group].multiply(workspace.lifted.span(), planes, workspace.product, removed);
    subtract_both(reply, planes, removed, cancellation, workspace.reply.data());
    kernels.unmask(workspace.reply.data(), workspace.zeros.data(), m, planes, products.data());
    masks::decode_products(base::hidden_width(shape.n), products);
}

std::uint64_t WeightSecrets::multiplications(const ParameterSet& set, std::size_t rows) {
    // As LatticeStock::multiplications_per_mask(): of a transform, and of the products at its
    // points. Two halves of the d elements once, and of every N rows; then two lifts and Z per row.
    const std::size_t d = set.lattice->rank, points = degree / 2;
    const std::size_t transform = 4 * (3 * points * 3 / 4 + points / 2);
    const std::size_t blocks = (rows + degree - 1) / degree;
    return 2 * (d * transform + blocks * (d * 4 * points + transform)) + 6 * rows;
}

}  // namespace slip::secrets

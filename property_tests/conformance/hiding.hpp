// Operations on the hidden split (HIDE-1 to HIDE-8). The set of a case is `hidden`.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "optimized/base/error.hpp"
#include "optimized/base/hidden_widths.hpp"
#include "optimized/masks/decoding.hpp"
#include "optimized/masks/public_matrix.hpp"
#include "optimized/masks/small_matrix.hpp"
#include "optimized/secrets/weight_secrets.hpp"
#include "optimized/split/hidden_matrix.hpp"
#include "property_tests/conformance/arithmetic.hpp"
#include "property_tests/conformance/lattice.hpp"
#include "property_tests/conformance/splitting.hpp"

namespace slip::answers {

/// HIDE-8: the integer model of rows of floats, each of n entries. Throws Refused where the split
/// refuses them: for a width that HIDE-2 does not have, or weights that are not finite.
inline splitting::HiddenModel integer_model(const Json& W, std::size_t n) {
    splitting::HiddenModel model{n, {}, {}};
    try {
        model.append({nullptr, 0, n});  // also without rows the width is checked
        for (const Json& bits : W) {
            const std::vector<float> row = floats_of(bits);
            model.append({row.data(), 1, row.size()});
        }
    } catch (const InternalError& error) {
        throw Refused(error.what());
    }
    return model;
}

/// HIDE-2: the row of the table. Throws Refused for a width that it does not have.
inline const base::HiddenWidth& width_of(std::size_t n) {
    return base::hidden_width(integer_model(Json::array(), n).n);
}

inline Json hidden_width(const Json& in) {
    const base::HiddenWidth& width = width_of(in["width"]);
    return {{"B", width.norm}, {"s", width.s}, {"tau", width.tau}, {"u", width.u}, {"v", width.v}};
}

/// HIDE-7: where the parts begin, and n.
inline Json column_parts(const Json& in) {
    Json bounds = Json::array({0});
    for (const base::GroupShape& part :
         base::parts_of(*set_of_case, {layer({0, "down_proj"}, 1, in["width"])})) {
        base::require(bounds.back() == part.first_column, "parts are adjacent");
        bounds.push_back(part.first_column + part.n);
    }
    return {{"bounds", bounds}};
}

inline Json hidden_model(const Json& in) {
    const splitting::HiddenModel model = integer_model(in["W"], in["W"].at(0).size());
    return {{"W_int", lists_of(model.entries, model.n)}, {"row_scale", bits_of(model.row_scale)}};
}

// Keys and streams -------------------------------------------------------------------------------

/// An integer model that a case gives; row scales are not asked for.
inline splitting::HiddenModel given_model(const Json& W) {
    Table<std::int16_t> table(W);
    return {table.cols, std::move(table.entries), std::vector<float>(table.rows, 1)};
}

/// HIDE-3: the key of a case's matrix.
inline base::SecretBuffer<std::uint8_t> key_of(const Json& in,
                                               const splitting::HiddenModel& model) {
    return splitting::hiding_key(*set_of_case, array_of<std::uint8_t, 32>(in["secret"]),
                                 public_seed_of(in["public_seed"]), in["group"], model);
}

inline Json hiding_key(const Json& in) {
    return {{"key", hex_of_residues(key_of(in, given_model(in["W"])).span())}};
}

/// V of `rows` rows under the key of a case.
inline base::SecretBuffer<std::int8_t> secret_of(const Json& key, std::size_t rows) {
    const auto bytes = array_of<std::uint8_t, 32>(key);
    return secrets::WeightStreams(*set_of_case, bytes).weight_secret(rows);
}

inline Json weight_secret(const Json& in) {
    const std::size_t block = in["block"], element = in["element"];
    const auto V = secret_of(in["key"], (block + 1) * masks::degree);
    const auto coefficients = V.span().subspan(
        (block * set_of_case->lattice->rank + element) * masks::degree, masks::degree);
    return {{"coefficients", std::vector<std::int8_t>(coefficients.begin(), coefficients.end())}};
}

inline Json weight_error(const Json& in) {
    const auto key = array_of<std::uint8_t, 32>(in["key"]);
    std::vector<std::int8_t> error(in["width"].get<std::size_t>());
    secrets::WeightStreams(*set_of_case, key).weight_error(in["row"], error);
    return {{"integers", error}};
}

inline Json public_weights(const Json& in) {
    masks::PublicMatrix U(*set_of_case, public_seed_of(in["public_seed"]), in["width"],
                          masks::PublicMatrix::Kind::weights);
    Residues row(U.row_bytes());
    U.expand_planes(in["row"], row);
    return {{"residues", hex_of_residues(row)}};
}

// David's matrix and his reply -------------------------------------------------------------------

/// Some rows of A, as the columns of residues that they are part of. `columns`: n columns of M.
inline void put_rows(const splitting::HiddenRows& rows, std::size_t M, std::size_t n,
                     std::span<std::uint8_t> columns) {
    for (std::size_t p = 0; p < planes(); ++p) {
        for (std::size_t i = 0; i < rows.count; ++i) {
            for (std::size_t j = 0; j < n; ++j) {
                const int entry = rows.davids[(p * rows.count + i) * n + j];
                columns[(j * planes() + p) * M + rows.first + i] =
                    static_cast<std::uint8_t>(entry < 0 ? entry + parameters::primes[p] : entry);
            }
        }
    }
}

/// HIDE-1. A does not depend on the seed of the check.
inline Json hidden_matrix(const Json& in) {
    const splitting::HiddenModel model = given_model(in["W"]);
    const std::size_t M = model.rows(), n = model.n;
    const splitting::PublicOfWidth common(*set_of_case, public_seed_of(in["public_seed"]), n);
    const std::array<std::uint8_t, parameters::check_seed_bytes> check_seed{};
    Residues A(planes() * M * n);
    splitting::hide(common, model, key_of(in, model).span(), check_seed, 1,
                    [&](const splitting::HiddenRows& rows) { put_rows(rows, M, n, A); });
    return {{"A", columns_json(A, planes() * M)}};
}

/// Entries first, ..., first + count - 1 of every plane of a column.
inline Residues entries_of(const Residues& column, std::size_t first, std::size_t count) {
    const std::size_t rows = column.size() / planes();
    Residues entries;
    for (std::size_t p = 0; p < planes(); ++p) {
        const auto begin = column.begin() + static_cast<std::ptrdiff_t>(p * rows + first);
        entries.insert(entries.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
    }
    return entries;
}

/// HIDE-4: y_A - V^T y_U.
inline Json remove_weight_secret(const Json& in) {
    const std::size_t M = in["rows"], ell = set_of_case->public_rows();
    const Residues reply = column_of(in["reply"]);
    require_canonical(reply, M + ell);
    const Residues y_U = entries_of(reply, M, ell);
    const masks::SmallMatrix V(secret_of(in["key"], M).span(), set_of_case->lattice->rank);
    auto workspace = V.workspace();
    Residues product(planes() * M);
    V.multiply(lifted_difference(y_U, Residues(y_U.size())), planes(), workspace, product);
    const Products y = lifted_difference(entries_of(reply, 0, M), product);
    return {{"y", hex_of_residues(bytes_of_residues(residues_of(y)))}};
}

/// HIDE-5, of a column from which V^T y_U has been taken.
inline Json unmask_hidden(const Json& in) {
    const base::HiddenWidth& width = width_of(in["width"]);
    const Residues y = canonical_column(in["y"]);
    const Residues c = column_of(in["c"]);
    require_canonical(c, y.size() / planes());
    Products products = lifted_difference(y, c);
    masks::decode_products(width, products);
    return {{"y_D", products}};
}

// Sessions ---------------------------------------------------------------------------------------

/// The public matrices of a case by width.
class PublicMatrices {
public:
    explicit PublicMatrices(const Json& in) : seed_(public_seed_of(in["public_seed"])) {}
    const splitting::PublicOfWidth& of_width(std::size_t n) {
        return found_.try_emplace(n, *set_of_case, seed_, n).first->second;
    }
    const PublicSeed& seed() const { return seed_; }

private:
    PublicSeed seed_;
    std::map<std::size_t, splitting::PublicOfWidth> found_;
};

/// HIDE-1: [A ; U] of every group, A as columns of residues, U from its seed.
class StackedWeights {
public:
    explicit StackedWeights(const Json& in) : matrices_(in) {
        for (const Json& group : in["groups"]) views.push_back(stacked(group["A"]));
    }

    kernels::OffloadedWeights views;

private:
    kernels::GroupWeights stacked(const Json& columns) {
        const std::size_t n = columns.size();
        const splitting::PublicOfWidth& common = matrices_.of_width(n);
        const std::size_t M = column_of(columns.at(0)).size() / planes();
        const Residues A = canonical_columns(columns, M);
        std::vector<kernels::WeightMatrix> a, u;
        for (std::size_t p = 0; p < planes(); ++p) {
            auto& plane = kept_.emplace_back(M * n);
            for (std::size_t i = 0; i < M; ++i) {
                for (std::size_t j = 0; j < n; ++j) {
                    plane[i * n + j] = centred(A[(j * planes() + p) * M + i], p);
                }
            }
            a.emplace_back(plane.data(), M, n);
            u.emplace_back(common.plane(p));
        }
        return {kernels::PlanarMatrix(std::move(a)), kernels::PlanarMatrix(std::move(u))};
    }
    static std::int8_t centred(std::uint8_t residue, std::size_t p) {
        const int prime = parameters::primes[p];
        return static_cast<std::int8_t>(residue > prime / 2 ? residue - prime : residue);
    }

    PublicMatrices matrices_;
    std::list<std::vector<std::int8_t>> kept_;
};

/// What Charlie has of the hidden groups of a case: hints and companions, computed of W' and the
/// key of V and E as the split does.
class HiddenGroups {
public:
    explicit HiddenGroups(const Json& in)
        : seed_(array_of<std::uint8_t, 32>(in["seed"])), matrices_(in) {
        for (const Json& group : in["groups"]) add(group);
        std::vector<masks::LatticeGroup> groups;
        base::CheckSecret secret{seed_, {}, {companions_.begin(), companions_.end()}};
        std::vector<std::span<const std::uint8_t>> keys(keys_.begin(), keys_.end());
        std::size_t tallest = 0;
        for (std::size_t g = 0; g < shapes_.size(); ++g) {
            groups.push_back({shapes_[g], hints_[g], {}});
            tallest = std::max(tallest, shapes_[g].rows);
        }
        stock_.emplace(*set_of_case, matrices_.seed(), std::move(groups),
                       on_demand(array_of<std::uint8_t, 32>(in["key"])));
        check_.emplace(secret, tallest);
        secrets_.emplace(*set_of_case, keys, shapes_);
    }

    protocol::SharedSecrets masks() { return {&*stock_, &*check_, &*secrets_}; }
    const std::vector<base::ProductShape>& shapes() const { return shapes_; }

private:
    void add(const Json& group) {
        const splitting::HiddenModel model = given_model(group["W"]);
        const auto& key = keys_.emplace_back(array_of<std::uint8_t, 32>(group["key"]));
        Residues& hint = hints_.emplace_back();
        const auto companions = splitting::hide(
            matrices_.of_width(model.n), model, key, seed_, 1,
            [&](const splitting::HiddenRows& rows) {
                hint.insert(hint.end(), rows.hint.span().begin(), rows.hint.span().end());
            });
        companions_.push_back(stored(companions.product.span()));
        shapes_.push_back({model.rows(), model.n});
    }

    std::array<std::uint8_t, 32> seed_;
    PublicMatrices matrices_;
    std::vector<std::array<std::uint8_t, 32>> keys_;
    std::vector<Residues> hints_, companions_;
    std::vector<base::ProductShape> shapes_;
    std::optional<masks::LatticeStock> stock_;
    std::optional<secrets::ProductCheck> check_;
    std::optional<secrets::WeightSecrets> secrets_;
};

}  // namespace slip::answers

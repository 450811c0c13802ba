// Operations on floats, weights and plans: the low-rank part, encoding, splitting.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "optimized/artifact/plan.hpp"
#include "optimized/artifact/plan_json.hpp"
#include "optimized/base/error.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/kernels/registry.hpp"
#include "optimized/split/decomposition.hpp"
#include "property_tests/conformance/arithmetic.hpp"
#include "property_tests/conformance/json_values.hpp"
#include "property_tests/generators/packed_factors.hpp"

namespace slip::answers {

/// LIN-2 for one member.
inline std::vector<std::int64_t> low_rank(const Json& A_rows, const Json& B_rows,
                                          const std::vector<std::int16_t>& q, const Products& y_D) {
    const Table<std::int32_t> A(A_rows);
    const Table<std::int16_t> B(B_rows);
    const auto z =
        testing::low_rank_inner(kernels::active(), B.entries, B.rows, q.data(), q.size());
    return testing::low_rank_outer(kernels::active(), A.entries, A.rows, z, testing::limbs_of(z),
                                   y_D.data());
}

inline Json low_rank(const Json& in) {
    return {{"y_int", low_rank(in["A"], in["B"], in["q"], in["y_D"])}};
}

// Encoding --------------------------------------------------------------------------------------

struct Token {
    std::vector<std::int16_t> q;
    float scale;
};

inline Token quantised(const std::vector<float>& x, std::int32_t activation_norm) {
    Token token{std::vector<std::int16_t>(x.size()), 0};
    token.scale = kernels::active().quantise(x.data(), x.size(), activation_norm, token.q.data());
    if (!(token.scale > 0)) throw Refused("activation is not finite");
    return token;
}

inline Json quantise(const Json& in) {
    const Token token = quantised(floats_of(in["x"]), in["activation_norm"]);
    return {{"q", token.q}, {"scale", bits_of(token.scale)}};
}

inline std::vector<float> dequantised(const std::vector<std::int64_t>& y, const Json& row_scale,
                                      float token_scale) {
    std::vector<float> result(y.size());
    kernels::active().dequantise(y.data(), floats_of(row_scale).data(), token_scale, y.size(),
                                 result.data());
    return result;
}

inline Json dequantise(const Json& in) {
    return {{"y", bits_of(dequantised(in["y_int"], in["row_scale"], float_of(in["token_scale"])))}};
}

// Splitting -------------------------------------------------------------------------------------

inline Json round(const Json& in) {
    Json integers = Json::array();
    for (const Json& value : in["values"]) {
        integers.push_back(static_cast<std::int64_t>(splitting::round_half_even(double_of(value))));
    }
    return {{"integers", integers}};
}

/// B_w of rows with these sums of squares.
inline std::uint64_t norm_of(const Json& row_squares) {
    const auto squares = row_squares.get<std::vector<std::uint64_t>>();
    return artifact::rounded_up_root(*std::max_element(squares.begin(), squares.end()));
}

inline Json activation_bound(const Json& in) {
    const std::uint64_t norm = norm_of(in["row_squares"]);
    const std::int32_t activation_norm = artifact::activation_norm(norm, planes());
    if (activation_norm < base::parameters::smallest_activation_norm) {
        throw Refused("the activations have too little room");
    }
    return {{"row_norm", norm}, {"activation_norm", activation_norm}};
}

/// ENC-4 with lattice masks.
inline Json lattice_bound(const Json& in) {
    if (!artifact::within_lattice_bounds(*set_of_case->lattice, norm_of(in["row_squares"]),
                                         in["activation_norm"])) {
        throw Refused("a row is too long, or activations are too wide");
    }
    return Json::object();
}

/// DECO-3: g_i.
inline Json largest_residual(const Json& in) {
    std::vector<double> residual;
    for (const Json& bits : in["residual"]) residual.push_back(double_of(bits));
    const double weight_norm = in.contains("weight_norm") ? in["weight_norm"].get<double>()
                                                          : std::numeric_limits<double>::infinity();
    return {{"largest_residual", bits_of(splitting::largest_of_residual(residual, weight_norm))}};
}

inline Json modulus_bound(const Json& in) {
    if (norm_of(in["row_squares"]) * in["activation_norm"].get<std::uint64_t>() >
        artifact::largest_product(planes())) {
        throw Refused("activations are too wide");
    }
    return Json::object();
}

/// A as the product stores it: an exponent per row, and what is left of the entries (PARAM-2).
struct StoredLeftFactor {
    explicit StoredLeftFactor(const Table<std::int32_t>& A) : rows(A.rows), cols(A.cols) {
        for (std::size_t i = 0; i < rows; ++i) {
            std::uint64_t largest = 0;
            for (const std::int64_t a : A.view().row(i)) {
                largest = std::max(largest, static_cast<std::uint64_t>(std::abs(a)));
            }
            const unsigned exponent = kernels::row_exponent(largest);
            exponents.push_back(static_cast<std::int8_t>(exponent));
            for (const std::int32_t a : A.view().row(i)) {
                significands.push_back(static_cast<std::int16_t>(a >> exponent));
            }
        }
    }
    artifact::LeftFactor view() const { return {{significands.data(), rows, cols}, exponents}; }

    std::size_t rows, cols;
    std::vector<std::int16_t> significands;
    std::vector<std::int8_t> exponents;
};

inline Json product_bound(const Json& in) {
    const StoredLeftFactor A{Table<std::int32_t>(in["A"])};
    const Table<std::int16_t> B(in["B"]);
    const Table<std::int8_t> W_D(in["W_D"]);
    if (!splitting::fits_64_bits(
            {W_D.rows, W_D.cols, B.rows, W_D.entries, A.significands, A.exponents, B.entries, {}},
            in["activation_norm"])) {
        throw Refused("a product may not fit 64 bits");
    }
    return Json::object();
}

/// A layer of [block or null, layer type] with an m x n matrix, as a group of its own.
inline base::GroupShape layer(const Json& name, std::size_t m, std::size_t n) {
    base::MemberShape member;
    if (!name[0].is_null()) member.block = name[0].get<std::size_t>();
    member.layer_type = name[1];
    member.m = m;
    return {n, {member}};
}

inline Json plan(const Json& in) {
    std::vector<base::GroupShape> layers;
    for (const Json& name : in["layers"]) layers.push_back(layer(name, 1024, 1024));
    std::vector<std::string> cuts;
    Json ranks = Json::array();
    for (const auto& members : artifact::ranks_of(artifact::plan_from_json(in["plan"], "plan"),
                                                  layers, Strategy::lsc, cuts)) {
        ranks.push_back(members.front());
    }
    return {{"ranks", ranks}};
}

inline Json retained_rank(const Json& in) {
    std::vector<std::string> cuts;
    const auto ranks = artifact::ranks_of(
        {{0, "q_proj", in["K"]}}, {layer({0, "q_proj"}, in["m"], in["n"])}, Strategy::lsc, cuts);
    return {{"rank", ranks.front().front()}};
}

inline Json row_scale_of(const Json& in) {
    const float delta =
        splitting::row_scale(double_of(in["largest_residual"]), double_of(in["largest_factor"]),
                             double_of(in["row_norm"]));
    return {{"delta", bits_of(delta)}};
}

inline Json integer_weights_of(const Json& in) {
    const StoredLeftFactor A{Table<std::int32_t>(in["A"])};
    const Table<std::int16_t> B(in["B"]);
    const Table<std::int8_t> W_D(in["W_D"]);
    // Without rows B does not tell its columns.
    const auto W_int =
        artifact::integer_weights(W_D.view(), A.view(), {B.entries.data(), B.rows, W_D.cols});
    return {{"W_int", lists_of(W_int, W_D.cols)}};
}

}  // namespace slip::answers

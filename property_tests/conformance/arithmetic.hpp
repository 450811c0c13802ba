// Operations on residues: the ring, masks, products and the check.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "optimized/base/check_secret.hpp"
#include "optimized/base/error.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/kernels/combinations.hpp"
#include "optimized/kernels/registry.hpp"
#include "optimized/kernels/weight_matrix.hpp"
#include "optimized/masks/keystream.hpp"
#include "optimized/protocol/frames.hpp"
#include "optimized/protocol/integrity.hpp"
#include "optimized/secrets/draw_check.hpp"
#include "property_tests/conformance/json_values.hpp"

namespace slip::answers {

namespace parameters = base::parameters;

/// The set of the case that is being answered: one is at a time.
inline const parameters::ParameterSet* set_of_case = &parameters::parameter_sets.front();
inline std::size_t planes() { return set_of_case->planes; }

/// Residues from outside come into the product through its decoder, which refuses bytes that are
/// not below their primes and columns of another length (CONV-1, WIRE-8). Throws ProtocolError.
inline void require_canonical(const Residues& columns, std::size_t rows, std::size_t count = 1,
                              std::size_t of_planes = planes()) {
    Bytes payload(protocol::wire::columns_header_bytes - protocol::wire::length_bytes);
    payload[0] = static_cast<std::byte>(protocol::wire::FrameType::reply);
    const auto bytes = std::as_bytes(std::span(columns));
    payload.insert(payload.end(), bytes.begin(), bytes.end());
    protocol::wire::decode_residues(payload, {0, 0, static_cast<std::uint32_t>(count)}, of_planes,
                                    rows);
}

/// A canonical column.
inline Residues canonical_column(const Json& hex) {
    const Residues column = column_of(hex);
    require_canonical(column, column.size() / planes());
    return column;
}
/// A message of canonical columns of `rows` residues.
inline Residues canonical_columns(const Json& list, std::size_t rows) {
    for (const Json& column : list) require_canonical(column_of(column), rows);
    return columns_of(list);
}

// The ring, where the numbers of a case are integers mod L ---------------------------------------

/// Their bytes. Throws Refused for one that is no residue.
inline Residues bytes_of_residues(const Json& numbers, std::size_t of_planes = planes()) {
    const std::size_t n = numbers.size();
    Residues bytes(of_planes * n);
    for (std::size_t j = 0; j < n; ++j) {
        const bool whole = numbers[j].is_number_unsigned();
        const std::uint64_t residue = whole ? numbers[j].get<std::uint64_t>() : 0;
        if (!whole || residue >= parameters::modulus(of_planes)) {
            throw Refused("a number is no residue");
        }
        for (std::size_t p = 0; p < of_planes; ++p) {
            bytes[p * n + j] = static_cast<std::uint8_t>(residue % parameters::primes[p]);
        }
    }
    return bytes;
}

/// lift(a - b), by the product's unmasking.
inline Products lifted_difference(const Residues& a, const Residues& b,
                                  std::size_t of_planes = planes()) {
    Products lifted(a.size() / of_planes);
    kernels::active().unmask(a.data(), b.data(), lifted.size(), of_planes, lifted.data());
    return lifted;
}

inline Json residues_of(const Products& lifted, std::size_t of_planes = planes()) {
    Json residues = Json::array();
    for (const std::int64_t value : lifted) {
        residues.push_back(value < 0
                               ? parameters::modulus(of_planes) - static_cast<std::uint64_t>(-value)
                               : static_cast<std::uint64_t>(value));
    }
    return residues;
}

/// The integers mod L that bytes stand for.
inline Json residues_of(const Residues& bytes, std::size_t of_planes = planes()) {
    return residues_of(lifted_difference(bytes, Residues(bytes.size()), of_planes), of_planes);
}

inline Json residue_encode(const Json& in) {
    return {{"bytes", hex_of_residues(bytes_of_residues(in["residues"], in["planes"]))}};
}

inline Json residue_decode(const Json& in) {
    const std::size_t of_planes = in["planes"];
    const Residues bytes = column_of(in["bytes"]);
    require_canonical(bytes, bytes.size() / of_planes, 1, of_planes);
    return {{"residues", residues_of(bytes, of_planes)}};
}

inline Json embed(const Json& in) {
    const std::size_t n = in["values"].size();
    Residues bytes(planes() * n);
    for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t p = 0; p < planes(); ++p) {
            const std::int64_t prime = parameters::primes[p];
            const std::int64_t remainder = in["values"][j].get<std::int64_t>() % prime;
            bytes[p * n + j] = static_cast<std::uint8_t>((remainder + prime) % prime);
        }
    }
    return {{"residues", residues_of(bytes)}};
}

inline Json lift(const Json& in) {
    const Residues bytes = bytes_of_residues(in["residues"]);
    return {{"values", lifted_difference(bytes, Residues(bytes.size()))}};
}

inline Json ring_subtract(const Json& in) {
    return {{"result", residues_of(lifted_difference(bytes_of_residues(in["a"]),
                                                     bytes_of_residues(in["b"])))}};
}

inline Json ring_add(const Json& in) {
    const Residues b = bytes_of_residues(in["b"]);
    const Json minus_b = residues_of(lifted_difference(Residues(b.size()), b));
    return ring_subtract({{"a", in["a"]}, {"b", minus_b}});
}

/// Every product is a combination of one entry.
inline Json ring_multiply(const Json& in) {
    const Residues a = bytes_of_residues(in["a"]), b = bytes_of_residues(in["b"]);
    const std::size_t n = a.size() / planes();
    Residues products(a.size());
    for (std::size_t j = 0; j < n; ++j) {
        Residues column(planes()), w;
        for (std::size_t p = 0; p < planes(); ++p) column[p] = b[p * n + j];
        for (std::size_t i = 0; i < parameters::kappa * planes(); ++i) {
            w.push_back(a[i % planes() * n + j]);
        }
        Residues combined(planes() * parameters::kappa);
        kernels::Combinations(w, 1, planes()).combine(column, 1, combined);
        for (std::size_t p = 0; p < planes(); ++p) {
            products[p * n + j] = combined[p * parameters::kappa];
        }
    }
    return {{"result", residues_of(products)}};
}

// Streams ----------------------------------------------------------------------------------------

/// RAND-2 for the moduli that the product has: the primes.
inline Json sample(const Json& in) {
    const auto prime = std::find(parameters::primes.begin(), parameters::primes.end(),
                                 in["modulus"].get<std::uint64_t>());
    if (prime == parameters::primes.end()) throw Unimplemented();
    const Residues bytes = column_of(in["bytes"]);
    Residues residues(bytes.size());
    const std::size_t accepted =
        kernels::active().sample(bytes.data(), bytes.size(), *prime, residues.data());
    base::require(accepted >= in["count"].get<std::size_t>(), "the bytes are enough");
    residues.resize(in["count"].get<std::size_t>());
    return {{"residues", residues}};
}

inline Json draw_mask(const Json& in) {
    const auto key = array_of<std::uint8_t, 32>(in["key"]);
    Residues mask(planes() * in["n"].get<std::size_t>());
    masks::Keystream({.given_keys = key}).draw(masks::Purpose::mask, in["index"], planes(), mask);
    return {{"mask", hex_of_residues(mask)}};
}

inline Json draw_w(const Json& in) {
    const std::size_t rows = in["rows"];
    const auto w =
        secrets::draw_combinations(array_of<std::uint8_t, 32>(in["seed"]), planes(), rows);
    return {{"w", columns_json(w.span(), planes() * rows)}};
}

// Masks, products and the check ------------------------------------------------------------------

inline Json mask(const Json& in) {
    const std::vector<std::int16_t> q = in["q"];
    const Residues r = column_of(in["r"]);
    require_canonical(r, q.size());
    Residues masked(r.size());
    kernels::active().mask(q.data(), r.data(), q.size(), planes(), masked.data());
    return {{"x_masked", hex_of_residues(masked)}};
}

inline Json unmask(const Json& in) {
    const Residues y = canonical_column(in["y_masked"]);
    const Residues c = column_of(in["c"]);
    require_canonical(c, y.size() / planes());
    return {{"y_D", lifted_difference(y, c)}};
}

inline Residues multiply(const Table<std::int8_t>& W_D, const Residues& x) {
    Residues y(x.size() / W_D.cols * W_D.rows);
    kernels::WeightMatrix(W_D.view()).multiply(x, y, planes());
    return y;
}

inline Json cancellation(const Json& in) {
    return {{"c", hex_of_residues(multiply(Table<std::int8_t>(in["W_D"]), column_of(in["r"])))}};
}

inline Json david_product(const Json& in) {
    const Table<std::int8_t> W_D(in["W_D"]);
    const Residues y = multiply(W_D, canonical_columns(in["x_masked"], W_D.cols));
    return {{"y_masked", columns_json(y, planes() * W_D.rows)}};
}

inline Json integrity_s(const Json& in) {
    const Table<std::int8_t> W_D(in["W_D"]);
    const Residues w = columns_of(in["w"]);
    base::SecretBuffer<std::uint8_t> secret(w.size());
    std::copy(w.begin(), w.end(), secret.data());
    const auto s = secrets::companion(secret, W_D.view(), planes());
    return {{"s", columns_json(s.span(), planes() * W_D.cols)}};
}

inline Json integrity_check(const Json& in) {
    const auto seed = array_of<std::uint8_t, 32>(in["seed"]);
    const Residues s = columns_of(in["s"]);
    const std::size_t n = s.size() / parameters::kappa / planes();
    const std::size_t rows = column_of(in["y_masked"].at(0)).size() / planes();
    const protocol::IntegrityCheck check({seed, {s}, {}}, {{rows, n}}, planes());
    if (!check.accepts(0, canonical_columns(in["x_masked"], n),
                       canonical_columns(in["y_masked"], rows))) {
        throw Refused("the reply is rejected");
    }
    return Json::object();
}

}  // namespace slip::answers

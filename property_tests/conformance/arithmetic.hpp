// Operations on residues: the field, masks, products and the check.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "optimized/base/error.hpp"
#include "optimized/kernels/mersenne31.hpp"
#include "optimized/kernels/registry.hpp"
#include "optimized/protocol/frames.hpp"
#include "optimized/protocol/integrity.hpp"
#include "optimized/protocol/mask_stream.hpp"
#include "property_tests/conformance/json_values.hpp"

namespace slip::answers {

template <class P>
const kernels::ResidueKernels<P>& residue_kernels() {
    return kernels::active().of<P>();
}

inline protocol::KeyStream keystream_of(const std::array<std::uint8_t, 32>& key) {
    return protocol::KeyStream({.test_keys = key});
}

/// Residues from outside come into the product through its decoder, which refuses what is not below
/// L (CONV-1, WIRE-8). Throws ProtocolError.
template <class P>
void require_canonical(const std::vector<std::uint64_t>& numbers) {
    for (const std::uint64_t number : numbers) {
        const auto residue = static_cast<typename P::Residue>(number);
        Bytes payload(protocol::wire::columns_header_bytes - protocol::wire::length_bytes);
        payload[0] = static_cast<std::byte>(protocol::wire::FrameType::reply);
        const auto bytes = std::as_bytes(std::span(&residue, 1));
        payload.insert(payload.end(), bytes.begin(), bytes.end());
        Residues<P> decoded(1);
        protocol::wire::decode_residues<P>(payload, {0, 0, 1}, 1, std::span(decoded));
    }
}

// Arithmetic, sampler, masks --------------------------------------------------------------------

inline Json embed(const Json& in) {
    Json residues = Json::array();
    for (const Json& v : in["values"]) {
        residues.push_back(kernels::embed_p31(v.get<std::int64_t>()));
    }
    return {{"residues", residues}};
}

template <class P>
Json lift(const Json& in) {
    require_canonical<P>(in["residues"]);
    Json values = Json::array();
    for (const Json& r : in["residues"]) {
        values.push_back(kernels::lift_p31(r.get<std::uint32_t>()));
    }
    return {{"values", values}};
}

/// `operation` of every pair (a, b), below 2^62, reduced.
template <class Operation>
Json entrywise(const Json& in, const Operation& operation) {
    Json result = Json::array();
    for (std::size_t i = 0; i < in["a"].size(); ++i) {
        result.push_back(kernels::reduce_p31(
            operation(in["a"][i].get<std::uint64_t>(), in["b"][i].get<std::uint64_t>())));
    }
    return {{"result", result}};
}

inline Json ring_add(const Json& in) {
    return entrywise(in, [](std::uint64_t a, std::uint64_t b) { return a + b; });
}
inline Json ring_subtract(const Json& in) {
    return entrywise(in, [](std::uint64_t a, std::uint64_t b) { return a + kernels::P31::p - b; });
}
inline Json ring_multiply(const Json& in) {
    return entrywise(in, [](std::uint64_t a, std::uint64_t b) { return a * b; });
}

template <class P>
Json sample(const Json& in) {
    const Bytes bytes = bytes_of(in["bytes"]);
    Residues<P> words(bytes.size() / sizeof(typename P::Residue));
    std::memcpy(words.data(), bytes.data(), words.size() * sizeof(typename P::Residue));
    Residues<P> residues(words.size());
    const std::size_t accepted =
        residue_kernels<P>().sample(words.data(), words.size(), residues.data());
    base::require(accepted >= in["count"].get<std::size_t>(), "the words are enough");
    residues.resize(in["count"].get<std::size_t>());
    return {{"residues", residues}};
}

template <class P>
Residues<P> stream_of(const Json& key, protocol::StreamTag tag, std::uint64_t index,
                      std::size_t count) {
    const auto key_bytes = array_of<std::uint8_t, 32>(key);
    Residues<P> residues(count);
    keystream_of(key_bytes).draw<P>(tag, index, std::span(residues));
    return residues;
}

template <class P>
Json draw_mask(const Json& in) {
    return {{"mask", stream_of<P>(in["key"], protocol::StreamTag::mask, in["index"], in["n"])}};
}

template <class P>
Json draw_rho(const Json& in) {
    const std::size_t rows = in["rows"];
    return {{"rho", lists_of(stream_of<P>(in["key"], protocol::StreamTag::integrity, in["group"],
                                          rows * protocol::kappa<P>),
                             protocol::kappa<P>)}};
}

template <class P>
Json mask(const Json& in) {
    const std::vector<std::int16_t> q = in["q"];
    const Residues<P> r = in["r"];
    Residues<P> masked(q.size());
    residue_kernels<P>().mask(q.data(), r.data(), q.size(), masked.data());
    return {{"x_masked", masked}};
}

template <class P>
Json unmask(const Json& in) {
    const Residues<P> y = in["y_masked"], c = in["c"];
    Products<P> products(y.size());
    residue_kernels<P>().unmask(y.data(), c.data(), y.size(), products.data());
    return {{"y_D", products}};
}

// Products and the check ------------------------------------------------------------------------

template <class P>
Residues<P> multiply(const Table<std::int8_t>& W_D, const Table<typename P::Residue>& x) {
    Residues<P> y(W_D.rows * x.rows);
    kernels::WeightMatrix(W_D.view()).multiply<P>(x.entries, y);
    return y;
}

template <class P>
Json cancellation(const Json& in) {
    return {{"c", multiply<P>(Table<std::int8_t>(in["W_D"]),
                              Table<typename P::Residue>(Json{in["r"]}))}};
}

template <class P>
Json david_product(const Json& in) {
    const Table<std::int8_t> W_D(in["W_D"]);
    return {{"y_masked",
             lists_of(multiply<P>(W_D, Table<typename P::Residue>(in["x_masked"])), W_D.rows)}};
}

template <class P>
Json integrity_s(const Json& in) {
    const Table<std::int8_t> W_D(in["W_D"]);
    Json rows(W_D.cols, Json::array());
    for (std::size_t repetition = 0; repetition < protocol::kappa<P>; ++repetition) {
        Residues<P> rho, s(W_D.cols);
        for (const Json& row : in["rho"]) rho.push_back(row[repetition]);
        kernels::WeightMatrix(W_D.view()).check_vector<P>(rho, s);
        for (std::size_t j = 0; j < s.size(); ++j) rows[j].push_back(s[j]);
    }
    return {{"s", rows}};
}

template <class P>
Json integrity_check(const Json& in) {
    const Table<std::int8_t> W_D(in["W_D"]);
    const auto key = array_of<std::uint8_t, 32>(in["key"]);
    protocol::KeyStream keys = keystream_of(key);
    const protocol::IntegrityCheck<P> check(W_D.view(), in["group"], keys);
    for (const Json& column : in["y_masked"]) require_canonical<P>(column);
    if (!check.accepts(Table<typename P::Residue>(in["x_masked"]).entries,
                       Table<typename P::Residue>(in["y_masked"]).entries)) {
        throw Refused("the reply is rejected");
    }
    return Json::object();
}

}  // namespace slip::answers

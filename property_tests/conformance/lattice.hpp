// Operations on lattice masks (RAND-9, MASK-7 to MASK-10).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "optimized/base/secret_buffer.hpp"
#include "optimized/masks/lattice_blocks.hpp"
#include "optimized/masks/lattice_stock.hpp"
#include "optimized/masks/noise.hpp"
#include "optimized/masks/public_matrix.hpp"
#include "optimized/secrets/product_check.hpp"
#include "optimized/split/hint.hpp"
#include "property_tests/conformance/arithmetic.hpp"

namespace slip::answers {

using masks::LatticeGroup;
using PublicSeed = masks::PublicMatrix::Seed;

inline PublicSeed public_seed_of(const Json& hex) { return array_of<std::uint8_t, 32>(hex); }

/// The bytes of residues that are stored as integers, plane after plane.
inline Residues planes_of_stored(std::span<const std::uint8_t> stored) {
    const std::size_t n = stored.size() / planes();
    Residues bytes(stored.size());
    for (std::size_t j = 0; j < n; ++j) {
        std::uint64_t residue = 0;
        std::memcpy(&residue, stored.data() + j * planes(), planes());
        for (std::size_t p = 0; p < planes(); ++p) {
            bytes[p * n + j] = static_cast<std::uint8_t>(residue % parameters::primes[p]);
        }
    }
    return bytes;
}

/// Row `index` of T of this width, as it is stored.
inline Residues public_row(const PublicSeed& seed, std::size_t width, std::size_t index) {
    masks::PublicMatrix T(*set_of_case, seed, width);
    Residues row(T.row_bytes());
    T.expand(index, row);
    return row;
}

/// RAND-8, of the purpose that the product has: T.
inline Json public_residues(const Json& in) {
    if (!set_of_case->lattice || in["purpose"] != parameters::public_masks_purpose) {
        throw Unimplemented();
    }
    Residues row = public_row(public_seed_of(in["seed"]), in["width"], in["index"]);
    base::require(in["count"].get<std::size_t>() * planes() <= row.size(), "T has as many");
    row.resize(in["count"].get<std::size_t>() * planes());
    return {{"residues", hex_of_residues(planes_of_stored(row))}};
}

inline Json public_matrix(const Json& in) {
    const Residues row = public_row(public_seed_of(in["public_seed"]), in["width"], in["row"]);
    const std::size_t element = planes() * masks::degree;
    const auto coefficients =
        std::span(row).subspan(in["element"].get<std::size_t>() * element, element);
    return {{"coefficients", hex_of_residues(planes_of_stored(coefficients))}};
}

/// RAND-9.
inline Json small_integers(const Json& in) {
    const Residues stream = column_of(in["bytes"]);
    std::vector<std::int8_t> integers(in["count"].get<std::size_t>());
    masks::decode_small(stream, in["eta"], integers);
    return {{"integers", integers}};
}

/// tau^-1 H mod L, as the split stores it.
inline Residues hint_of(base::MatrixView<const std::int8_t> W_D, const PublicSeed& seed) {
    Residues hint(W_D.rows() * splitting::hint_row_bytes(*set_of_case));
    splitting::compute_hint(splitting::PublicColumns(*set_of_case, seed, W_D.cols()), W_D, 1, hint);
    return hint;
}

/// All masks of a block that is made by itself.
inline masks::NewBlock made_block(std::uint64_t number, const LatticeGroup& group,
                                  const PublicSeed& seed, masks::BlockSource& source) {
    std::vector<masks::Mask::Spent> memory(masks::degree);
    for (auto& mask : memory) {
        mask.mask = base::SecretBuffer<std::uint8_t>(planes() * group.shape.inputs());
        mask.cancellation = base::SecretBuffer<std::uint8_t>(planes() * group.shape.outputs());
    }
    masks::NewBlock block(number, std::move(memory), source.secret(number), group.shape, planes());
    masks::PublicMatrix T(*set_of_case, seed, group.shape.n);
    Residues rows(group.shape.n * T.row_bytes());
    T.expand(0, rows);
    masks::BlockMaker maker(*set_of_case, 1);
    maker.make_masks(rows, group.shape.n, source, {&block, 1});
    maker.make_cancellations(group, {&block, 1});
    return block;
}

inline Json lattice_block(const Json& in) {
    const Table<std::int8_t> W_D(in["W_D"]);
    const PublicSeed seed = public_seed_of(in["public_seed"]);
    const Residues hint = hint_of(W_D.view(), seed);
    const auto key = array_of<std::uint8_t, 32>(in["key"]);
    masks::BlockSource source(*set_of_case, {.given_keys = key});
    const masks::NewBlock block =
        made_block(in["block"], {{W_D.rows, W_D.cols}, hint, {}}, seed, source);
    Json masks = Json::array();
    for (const std::size_t offset : in["offsets"]) {
        const auto& mask = block.kept.at(offset);
        masks.push_back({{"index", mask.index},
                         {"r", hex_of_residues(mask.mask.span())},
                         {"c", hex_of_residues(mask.cancellation.span())}});
    }
    return {{"masks", masks}};
}

inline Json unmask_lattice(const Json& in) {
    const Residues y = canonical_column(in["y_masked"]);
    const Residues c = column_of(in["c"]);
    require_canonical(c, y.size() / planes());
    Products products = lifted_difference(y, c);
    masks::reduce_modulo_tau(products, set_of_case->lattice->tau_bits);
    return {{"y_D", products}};
}

// Charlie's check of his own products ------------------------------------------------------------

inline Json product_secret(const Json& in) {
    const auto z = secrets::draw_product_secret(array_of<std::uint8_t, 32>(in["seed"]), in["rows"]);
    const auto zW = secrets::product_companion(z, Table<std::int8_t>(in["W_D"]).view());
    return {{"z", std::vector<std::uint64_t>(z.span().begin(), z.span().end())},
            {"zW", std::vector<std::uint64_t>(zW.span().begin(), zW.span().end())}};
}

/// z W_D as a file stores it.
inline Residues stored(std::span<const std::uint64_t> zW) {
    Residues bytes(zW.size_bytes());
    std::memcpy(bytes.data(), zW.data(), bytes.size());
    return bytes;
}

inline Json product_check(const Json& in) {
    const auto seed = array_of<std::uint8_t, 32>(in["seed"]);
    const Residues zW = stored(in["zW"].get<std::vector<std::uint64_t>>());
    const secrets::ProductCheck check({seed, {}, {zW}}, in["rows"]);
    for (std::size_t column = 0; column < in["q"].size(); ++column) {
        const auto q = in["q"][column].get<std::vector<std::int16_t>>();
        if (!check.holds(check.expected(0, q), in["y_D"].at(column).get<Products>())) {
            throw Refused("a product is wrong");
        }
    }
    return Json::object();
}

/// Masks are made when they are needed, under the key of a case.
inline masks::LatticeOptions on_demand(const std::array<std::uint8_t, 32>& key) {
    masks::LatticeOptions options;
    options.ahead = false;
    options.keys.given_keys = key;
    return options;
}

/// What a session of a case needs besides: masks, made when they are needed, in the order of the
/// case, and the check of products.
class GroupsMasks {
public:
    GroupsMasks(const Json& in, std::span<const Table<std::int8_t>> W_D)
        : key_(array_of<std::uint8_t, 32>(in["key"])),
          seed_(array_of<std::uint8_t, 32>(in["seed"])),
          hints_(hints_of(W_D, public_seed_of(in["public_seed"]))),
          companions_(companions_of(W_D)),
          stock_(*set_of_case, public_seed_of(in["public_seed"]), groups_of(W_D), on_demand(key_)),
          check_({seed_, {}, {companions_.begin(), companions_.end()}}, tallest(W_D)) {}

    protocol::SharedSecrets masks() { return {&stock_, &check_}; }

private:
    static std::size_t tallest(std::span<const Table<std::int8_t>> W_D) {
        std::size_t rows = 0;
        for (const auto& table : W_D) rows = std::max(rows, table.rows);
        return rows;
    }
    static std::vector<Residues> hints_of(std::span<const Table<std::int8_t>> W_D,
                                          const PublicSeed& seed) {
        std::vector<Residues> hints;
        for (const auto& table : W_D) hints.push_back(hint_of(table.view(), seed));
        return hints;
    }
    std::vector<Residues> companions_of(std::span<const Table<std::int8_t>> W_D) const {
        const auto z = secrets::draw_product_secret(seed_, tallest(W_D));
        std::vector<Residues> companions;
        for (const auto& table : W_D) {
            companions.push_back(stored(secrets::product_companion(z, table.view()).span()));
        }
        return companions;
    }
    std::vector<LatticeGroup> groups_of(std::span<const Table<std::int8_t>> W_D) const {
        std::vector<LatticeGroup> groups;
        for (std::size_t g = 0; g < W_D.size(); ++g) {
            groups.push_back({{W_D[g].rows, W_D[g].cols}, hints_[g], {}});
        }
        return groups;
    }

    std::array<std::uint8_t, 32> key_, seed_;
    std::vector<Residues> hints_, companions_;
    masks::LatticeStock stock_;
    secrets::ProductCheck check_;
};

}  // namespace slip::answers

#include "optimized/secrets/draw_check.hpp"

#include <algorithm>
#include <vector>

#include "optimized/base/error.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/kernels/weight_matrix.hpp"
#include "optimized/masks/keystream.hpp"

namespace slip::secrets {
namespace {

using base::require;
using base::parameters::kappa;
using Bytes = base::SecretBuffer<std::uint8_t>;

/// Columns first, ..., first + count - 1 of W, as the rows of a matrix.
std::vector<std::int8_t> transposed(base::MatrixView<const std::int8_t> w, std::size_t first,
                                    std::size_t count) {
    std::vector<std::int8_t> result(count * w.rows());
    for (std::size_t i = 0; i < w.rows(); ++i) {
        for (std::size_t j = 0; j < count; ++j) result[j * w.rows() + i] = w.row(i)[first + j];
    }
    return result;
}

/// The first `count` bytes of each piece of `from` become the first of a piece of `to`.
void copy_pieces(std::size_t pieces, const std::uint8_t* from, std::size_t from_length,
                 std::uint8_t* to, std::size_t to_length, std::size_t count) {
    for (std::size_t i = 0; i < pieces; ++i) {
        std::copy_n(from + i * from_length, count, to + i * to_length);
    }
}

}  // namespace

Bytes draw_combinations(std::span<const std::uint8_t> seed, std::size_t planes, std::size_t rows) {
    require(seed.size() == base::parameters::check_seed_bytes, "draw_combinations: the seed");
    masks::Keystream stream({.given_keys = seed});
    Bytes w(kappa * planes * rows);
    for (std::size_t a = 0; a < kappa; ++a) {
        stream.draw(masks::Purpose::integrity, a, planes,
                    w.span().subspan(a * planes * rows, planes * rows));
    }
    return w;
}

/// s^T = W_D^T w: the product kernel multiplies kappa columns by the transposed matrix, a part of
/// it at a time so that the copies stay small.
Bytes companion(const Bytes& w, base::MatrixView<const std::int8_t> weights, std::size_t planes) {
    const std::size_t rows = weights.rows(), n = weights.cols(), pieces = kappa * planes;
    require(rows > 0 && w.size() % pieces == 0 && w.size() >= pieces * rows,
            "companion: the combinations");
    Bytes prefixes(pieces * rows);
    copy_pieces(pieces, w.data(), w.size() / pieces, prefixes.data(), rows, rows);
    Bytes result(pieces * n);
    constexpr std::size_t entries_at_once = std::size_t{1} << 24;  // or one column
    const std::size_t at_once = std::min(std::max<std::size_t>(entries_at_once / rows, 1), n);
    Bytes product(pieces * at_once);
    for (std::size_t first = 0; first < n; first += at_once) {
        const std::size_t count = std::min(at_once, n - first);
        const auto columns = transposed(weights, first, count);
        kernels::WeightMatrix(columns.data(), count, rows)
            .multiply(prefixes.span(), product.span().first(pieces * count), planes);
        copy_pieces(pieces, product.data(), count, result.data() + first, n, count);
    }
    return result;
}

}  // namespace slip::secrets

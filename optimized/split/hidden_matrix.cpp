#include "optimized/split/hidden_matrix.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>

#include "optimized/artifact/sha256.hpp"
#include "optimized/base/error.hpp"
#include "optimized/base/hidden_widths.hpp"
#include "optimized/base/parallel.hpp"
#include "optimized/kernels/registry.hpp"
#include "optimized/masks/small_matrix.hpp"
#include "optimized/secrets/draw_check.hpp"
#include "optimized/secrets/product_check.hpp"
#include "optimized/secrets/weight_secrets.hpp"

namespace slip::splitting {
namespace {

using base::MatrixView;
using base::parameters::kappa;
using base::parameters::ParameterSet;
using base::parameters::primes;
using Bytes = base::SecretBuffer<std::uint8_t>;

constexpr std::size_t columns_at_once = 64;

/// RING-3 modulo a prime, without a division by it, whose time may depend on what is divided.
class LeastMagnitude {
public:
    explicit LeastMagnitude(std::size_t plane)
        : prime_(primes[plane]), reciprocal_((one + prime_ / 2) / prime_) {}

    /// Requires |x| < 2^27. Then x reciprocal / 2^40 is within 2^-14 of x / prime, which is no
    /// closer than 1 / (2 prime) to where rounding changes.
    std::int32_t operator()(std::int64_t x) const {
        return static_cast<std::int32_t>(x - prime_ * ((x * reciprocal_ + one / 2) >> 40));
    }
    /// RING-1: the residue.
    std::uint8_t residue(std::int64_t x) const {
        const std::int64_t least = (*this)(x);
        return static_cast<std::uint8_t>(least + (prime_ & (least >> 63)));
    }

private:
    static constexpr std::int64_t one = std::int64_t{1} << 40;
    std::int64_t prime_, reciprocal_;
};

void append_number(artifact::Sha256Stream& stream, std::uint32_t number) {
    std::array<std::byte, 4> bytes;
    for (std::size_t i = 0; i < 4; ++i) bytes[i] = static_cast<std::byte>(number >> (8 * i));
    stream.append(bytes);
}

/// sum += w rows, entry by entry; sums of 2^12 rows are below 2^27 in magnitude.
void add_combination(std::span<const std::uint8_t> w, MatrixView<const std::int8_t> rows,
                     std::span<std::int32_t> sum) {
    for (std::size_t i = 0; i < rows.rows(); ++i) {
        const std::int32_t factor = w[i];
        const auto row = rows.row(i);
        for (std::size_t j = 0; j < row.size(); ++j) sum[j] += factor * row[j];
    }
}

/// What grows while rows are hidden: w W_t, of all combinations and planes.
class Companion {
public:
    /// Begins with the rows of U, which are the last ones.
    Companion(const PublicOfWidth& common, std::span<const std::uint8_t> check_seed, std::size_t m)
        : common_(common),
          rows_(m + common.set().public_rows()),
          w_(secrets::draw_combinations(check_seed, common.set().planes, rows_)),
          residues_(kappa * common.set().planes * common.width()) {
        for_each_plane([&](std::size_t p) { return common.plane(p); }, m);
    }

    /// Rows `first`, ... of A; plane_of(p) are those of a plane.
    template <class PlaneOf>
    void add(const PlaneOf& plane_of, std::size_t first) {
        for_each_plane(plane_of, first);
    }

    Bytes finish() { return std::move(residues_); }

private:
    template <class PlaneOf>
    void for_each_plane(const PlaneOf& plane_of, std::size_t first) {
        const std::size_t planes = common_.set().planes, n = common_.width();
        base::SecretBuffer<std::int32_t> sum(n);
        for (std::size_t i = 0; i < kappa * planes; ++i) {
            const MatrixView<const std::int8_t> rows = plane_of(i % planes);
            const LeastMagnitude modulo(i % planes);
            const auto own = residues_.span().subspan(i * n, n);
            std::copy(own.begin(), own.end(), sum.data());
            add_combination(w_.span().subspan(i * rows_ + first, rows.rows()), rows, sum.span());
            for (std::size_t j = 0; j < n; ++j) own[j] = modulo.residue(sum[j]);
        }
    }

    const PublicOfWidth& common_;
    std::size_t rows_;
    Bytes w_;
    Bytes residues_;
};

/// W' + tau E of some rows, for each plane least magnitudes modulo its prime.
std::vector<std::int8_t> noisy_rows(const ParameterSet& set, MatrixView<const std::int16_t> rows,
                                    std::size_t first, secrets::WeightStreams& streams) {
    const std::size_t n = rows.cols(), size = rows.rows() * n;
    const std::uint64_t tau = base::tau_at(set, n);
    std::vector<std::int8_t> planes(set.planes * size);
    base::SecretBuffer<std::int8_t> error(n);
    for (std::size_t i = 0; i < rows.rows(); ++i) {
        streams.weight_error(first + i, error.span());
        for (std::size_t p = 0; p < set.planes; ++p) {
            const LeastMagnitude modulo(p);
            const int of_tau = static_cast<int>(tau % primes[p]);
            std::int8_t* const out = planes.data() + p * size + i * n;
            for (std::size_t j = 0; j < n; ++j) {
                out[j] = static_cast<std::int8_t>(modulo(rows.row(i)[j] + of_tau * error[j]));
            }
        }
    }
    return planes;
}

/// HIDE-1: V^T U + what `planes` has, of `count` rows, those of the secret.
std::vector<std::int8_t> davids_rows(const PublicOfWidth& common, const masks::SmallMatrix& secret,
                                     std::size_t count, const std::vector<std::int8_t>& planes,
                                     std::size_t threads) {
    const std::size_t n = common.width(), h = common.set().planes;
    std::vector<std::int8_t> result(planes.size());
    base::parallel_for(threads, (n + columns_at_once - 1) / columns_at_once,
                       [&](std::size_t piece) {
                           const std::size_t begin = piece * columns_at_once;
                           const std::size_t width = std::min(columns_at_once, n - begin);
                           auto workspace = secret.workspace();
                           Bytes products(width * h * count);
                           for (std::size_t j = 0; j < width; ++j) {
                               secret.multiply(common.column(begin + j), h, workspace,
                                               products.span().subspan(j * h * count, h * count));
                           }
                           for (std::size_t row = 0; row < h * count; ++row) {  // of all planes
                               const LeastMagnitude modulo(row / count);
                               for (std::size_t j = 0; j < width; ++j) {
                                   const std::size_t at = row * n + begin + j;
                                   const int sum = products[j * h * count + row] + planes[at];
                                   result[at] = static_cast<std::int8_t>(modulo(sum));
                               }
                           }
                       });
    return result;
}

/// HIDE-1: no row is longer than the B of the width.
void require_norms(const HiddenModel& model) {
    const std::int64_t norm = base::hidden_width(model.n).norm;
    for (std::size_t i = 0; i < model.rows(); ++i) {
        std::int64_t squares = 0;
        for (const std::int16_t w : model.view().row(i)) squares += std::int64_t{w} * w;
        base::require(squares <= norm * norm, "hide: a row is longer than its width allows");
    }
}

kernels::PlanarMatrix planar(const std::vector<std::int8_t>& planes, std::size_t count,
                             std::size_t rows, std::size_t n) {
    std::vector<kernels::WeightMatrix> matrices;
    matrices.reserve(count);
    for (std::size_t p = 0; p < count; ++p) {
        matrices.emplace_back(planes.data() + p * rows * n, rows, n);
    }
    return kernels::PlanarMatrix(std::move(matrices));
}

}  // namespace

void HiddenModel::append(MatrixView<const float> weights) {
    base::require(weights.cols() == n && n > 0 && n <= base::widest_hidden,
                  "HiddenModel: rows of another width");
    const std::int32_t norm = base::hidden_width(n).norm;
    const std::size_t before = entries.size();
    entries.resize(before + weights.size());
    for (std::size_t i = 0; i < weights.rows(); ++i) {
        const float scale = kernels::active().quantise(weights.row(i).data(), n, norm,
                                                       entries.data() + before + i * n);
        base::require(scale > 0, "HiddenModel: weights that are not finite");
        row_scale.push_back(scale);
    }
}

Bytes hiding_key(const ParameterSet& set, std::span<const std::uint8_t> secret,
                 const masks::PublicMatrix::Seed& seed, std::uint32_t group,
                 const HiddenModel& model) {
    constexpr std::string_view domain = "SLIP-2 hide";
    artifact::Sha256 digest_of_model = artifact::sha256(std::as_bytes(std::span(model.entries)));
    artifact::Sha256Stream stream;
    stream.append(std::as_bytes(std::span(domain)));
    stream.append(std::as_bytes(std::span(&set.code, 1)));
    append_number(stream, group);
    append_number(stream, static_cast<std::uint32_t>(model.rows()));
    append_number(stream, static_cast<std::uint32_t>(model.n));
    stream.append(std::as_bytes(std::span(digest_of_model)));
    stream.append(std::as_bytes(std::span(seed)));
    stream.append(std::as_bytes(secret));
    artifact::Sha256 digest = stream.finish();
    Bytes key(digest.size());
    std::copy(digest.begin(), digest.end(), key.data());
    base::wipe(digest.data(), digest.size());
    base::wipe(digest_of_model.data(), digest_of_model.size());
    return key;
}

PublicOfWidth::PublicOfWidth(const ParameterSet& set, const masks::PublicMatrix::Seed& seed,
                             std::size_t width)
    : columns_(set, seed, width),
      ell_(set.public_rows()),
      u_(width * ell_),
      planes_(masks::public_rows_by_plane(set, seed, width)) {
    // RING-5: the planes of a row of U joined, some rows at a time so that a column gets runs.
    constexpr std::size_t rows_at_once = 16;
    const std::vector<std::uint8_t> nothing(set.planes * width);
    std::vector<std::uint8_t> row(set.planes * width);
    std::vector<std::int64_t> joined(rows_at_once * width);
    for (std::size_t first = 0; first < ell_; first += rows_at_once) {
        for (std::size_t l = 0; l < rows_at_once; ++l) {
            for (std::size_t p = 0; p < set.planes; ++p) {
                const auto own = plane(p).row(first + l);
                for (std::size_t j = 0; j < width; ++j) {
                    const int r = own[j];
                    row[p * width + j] = static_cast<std::uint8_t>(r < 0 ? r + primes[p] : r);
                }
            }
            kernels::active().unmask(row.data(), nothing.data(), width, set.planes,
                                     joined.data() + l * width);
        }
        for (std::size_t j = 0; j < width; ++j) {
            for (std::size_t l = 0; l < rows_at_once; ++l) {
                u_[j * ell_ + first + l] = joined[l * width + j];
            }
        }
    }
}

HiddenCompanions hide(const PublicOfWidth& common, const HiddenModel& model,
                      std::span<const std::uint8_t> key, std::span<const std::uint8_t> check_seed,
                      std::size_t threads, const std::function<void(const HiddenRows&)>& use) {
    const ParameterSet& set = common.set();
    const std::size_t n = model.n, m = model.rows(), own = set.public_rows();
    base::require(n == common.width() && m > 0, "hide: a matrix of another width");
    require_norms(model);
    secrets::WeightStreams streams(set, key);
    const auto secret = streams.weight_secret(m);
    Companion companion(common, check_seed, m);
    for (std::size_t first = 0; first < m; first += hidden_rows_at_once) {
        HiddenRows rows;
        rows.first = first;
        rows.count = std::min(hidden_rows_at_once, m - first);
        const std::size_t blocks = (rows.count + masks::degree - 1) / masks::degree;
        auto noisy = noisy_rows(set, model.view().rows_from(first, rows.count), first, streams);
        const masks::SmallMatrix part(
            secret.span().subspan(first / masks::degree * own, blocks * own), set.lattice->rank);
        rows.davids = davids_rows(common, part, rows.count, noisy, threads);
        companion.add(
            [&](std::size_t p) {
                return MatrixView<const std::int8_t>(rows.davids.data() + p * rows.count * n,
                                                     rows.count, n);
            },
            first);
        rows.hint = Bytes(rows.count * hint_row_bytes(set));
        compute_rounded_hint(common.columns(), planar(noisy, set.planes, rows.count, n), threads,
                             rows.hint.span());
        base::wipe(noisy.data(), noisy.size());
        use(rows);
    }
    return {companion.finish(),
            secrets::product_companion(secrets::draw_product_secret(check_seed, m), model.view())};
}

std::size_t memory_to_hide(const ParameterSet& set, const base::GroupShape& group) {
    const std::size_t n = group.n, m = group.product().rows, ell = set.public_rows();
    std::size_t tallest = 0;
    for (const base::MemberShape& member : group.members) tallest = std::max(tallest, member.m);
    const std::size_t floats = tallest * (group.columns() + n) * sizeof(float);
    const std::size_t model = m * n * sizeof(std::int16_t);
    const std::size_t common = n * ell * (sizeof(std::int64_t) + 2 * set.planes);
    const std::size_t rows = hidden_rows_at_once * (3 * set.planes * n + hint_row_bytes(set));
    return floats + model + common + rows;
}

double measured_products_per_second(const ParameterSet& set, std::size_t threads) {
    constexpr std::size_t rows = 256, width = 1024;
    const PublicColumns columns(set, {}, width);
    const std::vector<std::int8_t> planes(set.planes * rows * width, 1);
    const kernels::PlanarMatrix matrix = planar(planes, set.planes, rows, width);
    matrix.prepare();
    std::vector<std::uint8_t> hint(rows * hint_row_bytes(set));
    const auto start = std::chrono::steady_clock::now();
    compute_rounded_hint(columns, matrix, threads, hint);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    return static_cast<double>(rows * width * set.public_rows() * set.planes) / taken.count();
}

Bytes hidden_companion(const PublicOfWidth& common, const kernels::PlanarMatrix& davids,
                       std::span<const std::uint8_t> check_seed) {
    Companion companion(common, check_seed, davids.rows());
    for (std::size_t first = 0; first < davids.rows(); first += hidden_rows_at_once) {
        const std::size_t count = std::min(hidden_rows_at_once, davids.rows() - first);
        companion.add([&](std::size_t p) { return davids.plane(p).rows_from(first, count); },
                      first);
    }
    return companion.finish();
}

}  // namespace slip::splitting

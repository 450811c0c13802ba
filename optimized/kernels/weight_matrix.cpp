#include "optimized/kernels/weight_matrix.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/registry.hpp"

namespace slip::kernels {

using base::HugeBuffer;
using base::require;
using base::WorkerTeam;
namespace parameters = base::parameters;

namespace {

/// What one of `parts` parts has of the whole, cut between units.
std::size_t part_of(std::size_t whole, std::size_t unit, std::size_t parts) {
    const std::size_t units = (whole + unit - 1) / unit;
    return (units + parts - 1) / parts * unit;
}

}  // namespace

struct WeightMatrix::Packed {
    std::once_flag once;
    std::unique_ptr<HugeBuffer> bytes;
    std::unique_ptr<const DeviceMatrix> device;
};

WeightMatrix::WeightMatrix(const std::int8_t* data, std::size_t rows, std::size_t cols)
    : MatrixView(data, rows, cols), packed_(std::make_shared<Packed>()) {}

void WeightMatrix::multiply_on(std::unique_ptr<const DeviceMatrix> device) {
    require(packed_ != nullptr && packed_->bytes == nullptr,
            "WeightMatrix::multiply_on: there are no weights, or they are already laid out");
    packed_->device = std::move(device);
}

void WeightMatrix::prepare() const {
    require(packed_ != nullptr, "WeightMatrix: there are no weights");
    if (packed_->device == nullptr) copy();
}

const HugeBuffer& WeightMatrix::copy() const {
    require(packed_ != nullptr, "WeightMatrix: there are no weights");
    std::call_once(packed_->once, [&] {
        const Backend& kernels = kernels::active();
        auto bytes = std::make_unique<HugeBuffer>(kernels.packed_bytes(rows(), cols()));
        kernels.pack(data(), rows(), cols(), bytes->as<PackedWeights>());
        packed_->bytes = std::move(bytes);
    });
    return *packed_->bytes;
}

std::span<const std::int8_t> WeightMatrix::packed() const { return copy().span(); }

/// A single column's rows in several parts per thread, so that whoever is slower takes fewer. The
/// planes of a part lie together and have to be taken apart.
void WeightMatrix::multiply_row_parts(const std::uint8_t* x, std::uint8_t* y, std::size_t planes,
                                      WorkerTeam& team) const {
    constexpr std::size_t most = 8 * rows_apart;  // on a stack
    const Backend& kernels = kernels::active();
    const auto* const w = copy().as<PackedWeights>();
    const std::size_t part = std::min(most, part_of(rows(), rows_apart, 4 * team.threads()));
    team.run((rows() + part - 1) / part, [&](std::size_t i) {
        const std::size_t first = i * part, count = std::min(part, rows() - first);
        std::uint8_t product[most * parameters::primes.size()];
        kernels.gemm(w + kernels.packed_bytes(first, cols()), count, cols(), x, 1, planes, product);
        for (std::size_t p = 0; p < planes; ++p) {
            std::copy_n(product + p * count, count, y + p * rows() + first);
        }
        base::wipe(product, planes * count);  // of a mask, a cancellation
    });
}

/// Columns in one part per thread, because each part reads all of W.
void WeightMatrix::multiply_column_parts(const std::uint8_t* x, std::size_t columns,
                                         std::uint8_t* y, std::size_t planes,
                                         WorkerTeam& team) const {
    const Backend& kernels = kernels::active();
    const auto* const w = copy().as<PackedWeights>();
    const std::size_t part = part_of(columns, 1, team.threads());
    team.run((columns + part - 1) / part, [&](std::size_t i) {
        const std::size_t first = i * part;
        kernels.gemm(w, rows(), cols(), x + first * planes * cols(),
                     std::min(part, columns - first), planes, y + first * planes * rows());
    });
}

void WeightMatrix::multiply(std::span<const std::uint8_t> x, std::span<std::uint8_t> y,
                            std::size_t planes, WorkerTeam* team) const {
    require(planes > 0 && planes <= parameters::primes.size(), "WeightMatrix::multiply: planes");
    require(cols() > 0 && x.size() % (planes * cols()) == 0,
            "WeightMatrix::multiply: not whole columns");
    const std::size_t columns = x.size() / (planes * cols());
    require(y.size() == columns * planes * rows(),
            "WeightMatrix::multiply: the size of the product");
    if (columns == 0 || rows() == 0) return;
    if (packed_ != nullptr && packed_->device != nullptr) {
        packed_->device->multiply(x, y, planes, team);
    } else if (team == nullptr || team->threads() == 1) {
        kernels::active().gemm(copy().as<PackedWeights>(), rows(), cols(), x.data(), columns,
                               planes, y.data());
    } else if (columns == 1) {
        multiply_row_parts(x.data(), y.data(), planes, *team);
    } else {
        multiply_column_parts(x.data(), columns, y.data(), planes, *team);
    }
}

/// A single column's rows in one part per thread, or several columns in as many.
void WeightMatrix::multiply_plane(std::span<const std::uint8_t> x, std::span<std::uint8_t> y,
                                  std::size_t plane, WorkerTeam* team) const {
    require(plane < parameters::primes.size() && cols() > 0 && x.size() % cols() == 0,
            "WeightMatrix::multiply_plane: not whole columns of a plane");
    const std::size_t columns = x.size() / cols();
    require(y.size() == columns * rows(), "WeightMatrix::multiply_plane: the size of the product");
    require(packed_ != nullptr && packed_->device == nullptr,
            "WeightMatrix::multiply_plane: a device multiplies whole residues");
    if (columns == 0 || rows() == 0) return;
    const Backend& kernels = kernels::active();
    const auto* const w = copy().as<PackedWeights>();
    const std::size_t threads = team == nullptr ? 1 : team->threads();
    const bool by_rows = columns == 1;
    const std::size_t whole = by_rows ? rows() : columns;
    const std::size_t part = part_of(whole, by_rows ? rows_apart : 1, threads);
    const auto multiply_part = [&](std::size_t i) {
        const std::size_t first = i * part, count = std::min(part, whole - first);
        if (by_rows) {
            kernels.gemm_plane(w + kernels.packed_bytes(first, cols()), count, cols(), x.data(), 1,
                               plane, y.data() + first);
        } else {
            kernels.gemm_plane(w, rows(), cols(), x.data() + first * cols(), count, plane,
                               y.data() + first * rows());
        }
    };
    if (threads == 1) return multiply_part(0);
    team->run((whole + part - 1) / part, multiply_part);
}

}  // namespace slip::kernels

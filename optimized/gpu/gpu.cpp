#include "optimized/gpu/gpu.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <optional>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/base/secret_buffer.hpp"
#include "optimized/base/worker_team.hpp"
#include "optimized/gpu/memory.hpp"

namespace slip::gpu {

namespace parameters = base::parameters;

namespace {

/// While it lives, the calling thread and those that it starts receive no signals: the driver's
/// threads must not take those that the program waits for.
class NoSignals {
public:
    NoSignals() {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_BLOCK, &all, &before_);
    }
    NoSignals(const NoSignals&) = delete;
    NoSignals& operator=(const NoSignals&) = delete;
    ~NoSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
    sigset_t before_{};
};

/// Calls work(0), ..., work(count - 1), which do not depend on each other, and together read or
/// write `bytes` bytes. A team helps if they are enough to be worth waking its threads.
template <class Work>
void for_each(std::size_t count, std::size_t bytes, base::WorkerTeam* team, const Work& work) {
    constexpr std::size_t least = std::size_t{1} << 18;
    if (team != nullptr && bytes >= least) return team->run(count, work);
    for (std::size_t i = 0; i < count; ++i) work(i);
}

/// Up to row_tile rows of W as tiles (work.hpp).
std::vector<std::int8_t> in_tiles(base::MatrixView<const std::int8_t> w, std::size_t stride) {
    std::vector<std::int8_t> tiles(row_tile * stride);
    for (std::size_t i = 0; i < w.rows(); ++i) {
        const auto row = w.row(i);
        for (std::size_t j = 0; j < row.size(); j += step) {
            const auto part = row.subspan(j, std::min<std::size_t>(step, row.size() - j));
            std::copy(part.begin(), part.end(), tiles.data() + j / step * tile_bytes + i * step);
        }
    }
    return tiles;
}

}  // namespace

/// What a product needs beside W, in a stream of its own. It keeps nothing of a message (SESS-6).
struct Gpu::Lane {
    explicit Lane(const Driver& of)
        : driver(of), x(of), partial(of), y(of), sent(of), received(of) {
        constexpr unsigned non_blocking = 1;  // CU_STREAM_NON_BLOCKING: apart from other streams
        driver.stream_create(&stream, non_blocking);
    }
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;
    /// The memory is freed afterwards: nothing uses it any more.
    ~Lane() {
        driver.stream_synchronize.ignoring_failure(stream);
        driver.stream_destroy.ignoring_failure(stream);
    }

    const Driver& driver;
    Stream stream = nullptr;
    DeviceMemory x, partial, y;
    PinnedMemory sent, received;
};

/// A lane for one product. It is destroyed unless it is given back, so a failed product leaves
/// none.
class Gpu::Lease {
public:
    explicit Lease(Gpu& gpu) : gpu_(gpu) {
        const std::lock_guard lock(gpu_.mutex_);
        if (gpu_.idle_.empty()) {
            lane_ = std::make_unique<Lane>(gpu_.driver_);
        } else {
            lane_ = std::move(gpu_.idle_.back());
            gpu_.idle_.pop_back();
        }
    }
    Lane& operator*() const { return *lane_; }
    void give_back() {
        const std::lock_guard lock(gpu_.mutex_);
        gpu_.idle_.push_back(std::move(lane_));
    }

private:
    Gpu& gpu_;
    std::unique_ptr<Lane> lane_;
};

/// Padded with zeros.
class HeldRows {
public:
    HeldRows(std::shared_ptr<Gpu> gpu, const std::vector<base::MatrixView<const std::int8_t>>& of)
        : matrices(of.size()),
          rows(of.front().rows()),
          cols(of.front().cols()),
          padded_rows(padded(rows, row_tile)),
          stride(padded(cols, step)),
          gpu_(std::move(gpu)),
          memory_(std::in_place, gpu_->driver_, matrices * padded_rows * stride) {
        for (std::size_t k = 0; k < matrices; ++k) copy(of[k], k * padded_rows * stride);
        gpu_->driver_.context_synchronize();  // before a stream of its own reads them
    }
    HeldRows(const HeldRows&) = delete;
    HeldRows& operator=(const HeldRows&) = delete;
    ~HeldRows() {
        try {
            const InContext current(gpu_->driver_, gpu_->context_);
            memory_.reset();
        } catch (const DriverError&) {
            memory_.reset();  // the driver ended before this object, and its memory with it
        }
    }

    Address address() const { return memory_->address(); }

    const std::size_t matrices, rows, cols, padded_rows, stride;

private:
    void copy(base::MatrixView<const std::int8_t> w, std::size_t at) const {
        for (std::size_t i = 0; i < rows; i += row_tile) {
            const auto part = w.rows_from(i, std::min<std::size_t>(row_tile, rows - i));
            const std::vector<std::int8_t> tiles = in_tiles(part, stride);
            gpu_->driver_.copy_to_gpu(address() + at + i * stride, tiles.data(), tiles.size());
        }
    }

    const std::shared_ptr<Gpu> gpu_;
    std::optional<DeviceMemory> memory_;
};

/// W: one matrix for all planes, or [above ; below] of one per plane.
class HeldMatrix : public kernels::DeviceMatrix {
public:
    HeldMatrix(std::shared_ptr<Gpu> gpu, std::shared_ptr<const HeldRows> above,
               std::shared_ptr<const HeldRows> below = nullptr)
        : gpu_(std::move(gpu)), above_(std::move(above)), below_(std::move(below)) {
        if (below_ == nullptr) return;
        rows_ += below_->rows;
        padded_rows_ += below_->padded_rows;
    }

    void multiply(std::span<const std::uint8_t> x, std::span<std::uint8_t> y, std::size_t planes,
                  base::WorkerTeam* team) const override;

private:
    Work work_of(std::size_t columns, std::size_t planes) const;
    void multiply_columns(Gpu::Lane& lane, std::span<const std::uint8_t> x,
                          std::span<std::uint8_t> y, std::size_t planes,
                          base::WorkerTeam* team) const;

    const std::shared_ptr<Gpu> gpu_;
    const std::shared_ptr<const HeldRows> above_, below_;
    std::size_t rows_ = above_->rows, padded_rows_ = above_->padded_rows;
};

/// Multiplies at most as many columns at a time as a message has.
void HeldMatrix::multiply(std::span<const std::uint8_t> x, std::span<std::uint8_t> y,
                          std::size_t planes, base::WorkerTeam* team) const {
    base::require(above_->matrices == 1 || above_->matrices == planes,
                  "HeldMatrix: another set's planes");
    const InContext current(gpu_->driver_, gpu_->context_);
    Gpu::Lease lane(*gpu_);
    const std::size_t cols = above_->cols, columns = x.size() / (planes * cols);
    for (std::size_t first = 0; first < columns; first += parameters::largest_columns) {
        const std::size_t count = std::min(parameters::largest_columns, columns - first) * planes;
        multiply_columns(*lane, x.subspan(first * planes * cols, count * cols),
                         y.subspan(first * planes * rows_, count * rows_), planes, team);
    }
    lane.give_back();
}

Work HeldMatrix::work_of(std::size_t columns, std::size_t planes) const {
    const bool is_planar = above_->matrices > 1;
    Work work{};
    work.w = above_->address();
    work.below = below_ == nullptr ? work.w : below_->address();
    work.primes = packed_primes();
    work.rows = static_cast<unsigned>(padded_rows_);
    work.rows_above = static_cast<unsigned>(above_->padded_rows);
    work.stride = static_cast<unsigned>(above_->stride);
    work.matrices = static_cast<unsigned>(above_->matrices);
    work.vectors = static_cast<unsigned>(is_planar ? columns : columns * planes);
    work.planes = static_cast<unsigned>(is_planar ? 1 : planes);
    gpu_->products_->divide(work);
    return work;
}

void HeldMatrix::multiply_columns(Gpu::Lane& lane, std::span<const std::uint8_t> x,
                                  std::span<std::uint8_t> y, std::size_t planes,
                                  base::WorkerTeam* team) const {
    const Driver& driver = lane.driver;
    const std::size_t cols = above_->cols, stride = above_->stride, vectors = x.size() / cols;
    const std::size_t columns = vectors / planes;
    Work work = work_of(columns, planes);
    const std::size_t partial_bytes = Products::partial_bytes(work);
    lane.x.at_least(vectors * stride);
    lane.partial.at_least(partial_bytes);
    lane.y.at_least(Products::residues(work));
    work.x = lane.x.address();
    work.y = lane.y.address();
    work.partial = partial_bytes > 0 ? lane.partial.address() : work.y;

    const auto sent = lane.sent.first(vectors * stride);
    const auto received = lane.received.first(Products::residues(work));
    // Vector v of the message, plane v % planes of a column, among those of its matrix.
    const auto line_of = [&](std::size_t v) {
        return work.matrices == 1 ? v : v % planes * columns + v / planes;
    };
    for_each(vectors, sent.size(), team, [&](std::size_t v) {
        std::uint8_t* const line = sent.data() + line_of(v) * stride;
        std::fill(std::copy_n(x.data() + v * cols, cols, line), line + stride, std::uint8_t{0});
    });
    driver.copy_to_gpu_in(work.x, sent.data(), sent.size(), lane.stream);
    gpu_->products_->multiply(work, lane.stream);
    driver.copy_from_gpu_in(received.data(), work.y, received.size(), lane.stream);
    driver.stream_synchronize(lane.stream);
    for_each(vectors, received.size(), team, [&](std::size_t v) {
        std::uint8_t* const line = received.data() + line_of(v) * padded_rows_;
        std::uint8_t* const end = std::copy_n(line, above_->rows, y.data() + v * rows_);
        std::copy_n(line + above_->padded_rows, rows_ - above_->rows, end);
        base::wipe(line, padded_rows_);  // SESS-6
        base::wipe(sent.data() + v * stride, stride);
    });
    // On the GPU nobody waits for it: what the stream does next comes after it.
    driver.fill_in(work.x, 0, sent.size(), lane.stream);
    driver.fill_in(work.y, 0, received.size(), lane.stream);
    if (partial_bytes > 0) driver.fill_in(work.partial, 0, partial_bytes, lane.stream);
}

std::shared_ptr<Gpu> Gpu::open(const char* library) {
    if (*products_ptx == '\0') {
        throw BadInput("GPU: this build has no kernels for one, because clang++-19 was not there");
    }
    const NoSignals in_the_drivers_threads;
    try {
        return std::shared_ptr<Gpu>(new Gpu(library));
    } catch (const DriverError& error) {
        throw BadInput(error.what());
    }
}

Gpu::Gpu(const char* library) : driver_(library) {
    driver_.device_get(&device_, 0);
    std::array<char, 256> name{};
    driver_.device_get_name(name.data(), static_cast<int>(name.size() - 1), device_);
    name_ = name.data();
    require_capability();
    int multiprocessors = 0;
    driver_.device_get_attribute(&multiprocessors, Attribute::multiprocessors, device_);
    driver_.context_retain(&context_, device_);
    try {
        const InContext current(driver_, context_);
        products_ = std::make_unique<const Products>(driver_, products_ptx,
                                                     static_cast<unsigned>(multiprocessors));
    } catch (...) {
        driver_.context_release.ignoring_failure(device_);
        throw;
    }
}

void Gpu::require_capability() const {
    int major = 0, minor = 0;
    driver_.device_get_attribute(&major, Attribute::capability_major, device_);
    driver_.device_get_attribute(&minor, Attribute::capability_minor, device_);
    if (major >= 8) return;
    throw BadInput("GPU: " + name_ + " has compute capability " + std::to_string(major) + "." +
                   std::to_string(minor) + ", expected at least 8.0");
}

Gpu::~Gpu() {
    try {
        const InContext current(driver_, context_);
        idle_.clear();
        products_.reset();
    } catch (const DriverError&) {
        // The driver ended before this object, and everything with it.
        idle_.clear();
        products_.reset();
    }
    driver_.context_release.ignoring_failure(device_);
}

std::shared_ptr<const HeldRows> Gpu::hold_rows(
    const std::vector<base::MatrixView<const std::int8_t>>& matrices) {
    try {
        const InContext current(driver_, context_);
        return std::make_shared<const HeldRows>(shared_from_this(), matrices);
    } catch (const DriverError& error) {
        throw BadInput(error.what());
    }
}

std::unique_ptr<const kernels::DeviceMatrix> Gpu::hold(base::MatrixView<const std::int8_t> w) {
    return std::make_unique<const HeldMatrix>(shared_from_this(), hold_rows({w}));
}

std::unique_ptr<const kernels::DeviceMatrix> Gpu::hold(const kernels::PlanarMatrix& above,
                                                       std::shared_ptr<const HeldRows> below) {
    base::require(below->matrices == above.planes() && below->cols == above.cols(),
                  "Gpu::hold: rows that do not fit");
    std::vector<base::MatrixView<const std::int8_t>> planes;
    planes.reserve(above.planes());
    for (std::size_t p = 0; p < above.planes(); ++p) planes.push_back(above.plane(p));
    return std::make_unique<const HeldMatrix>(shared_from_this(), hold_rows(planes),
                                              std::move(below));
}

}  // namespace slip::gpu

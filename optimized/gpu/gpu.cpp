#include "optimized/gpu/gpu.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <optional>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/base/secret_buffer.hpp"
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

/// Lines that lie without gaps in `from` begin every `stride` bytes in `to`, zeros between them.
void spread(std::span<const std::uint8_t> from, std::size_t line, std::span<std::uint8_t> to,
            std::size_t stride) {
    for (std::size_t i = 0; i * line < from.size(); ++i) {
        std::uint8_t* const end = std::copy_n(from.data() + i * line, line, to.data() + i * stride);
        std::fill_n(end, stride - line, std::uint8_t{0});
    }
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

/// W in the GPU's memory, padded with zeros.
class HeldMatrix : public kernels::DeviceMatrix {
public:
    HeldMatrix(std::shared_ptr<Gpu> gpu, base::MatrixView<const std::int8_t> w)
        : gpu_(std::move(gpu)),
          rows_(w.rows()),
          cols_(w.cols()),
          padded_rows_(padded(rows_, row_tile)),
          stride_(padded(cols_, step)),
          memory_(std::in_place, gpu_->driver_, padded_rows_ * stride_) {
        for (std::size_t i = 0; i < rows_; i += row_tile) {
            const auto part = w.rows_from(i, std::min<std::size_t>(row_tile, rows_ - i));
            const std::vector<std::int8_t> tiles = in_tiles(part, stride_);
            gpu_->driver_.copy_to_gpu(memory_->address() + i * stride_, tiles.data(), tiles.size());
        }
        gpu_->driver_.context_synchronize();  // before a stream of its own reads them
    }
    HeldMatrix(const HeldMatrix&) = delete;
    HeldMatrix& operator=(const HeldMatrix&) = delete;
    ~HeldMatrix() override;

    void multiply(std::span<const std::uint8_t> x, std::span<std::uint8_t> y,
                  std::size_t planes) const override;

private:
    void multiply_vectors(Gpu::Lane& lane, std::span<const std::uint8_t> x,
                          std::span<std::uint8_t> y, std::size_t planes) const;

    const std::shared_ptr<Gpu> gpu_;
    const std::size_t rows_, cols_, padded_rows_, stride_;
    std::optional<DeviceMemory> memory_;
};

HeldMatrix::~HeldMatrix() {
    try {
        const InContext current(gpu_->driver_, gpu_->context_);
        memory_.reset();
    } catch (const DriverError&) {
        memory_.reset();  // the driver ended before this object, and its memory with it
    }
}

/// At most so many columns at a time, as in a message.
void HeldMatrix::multiply(std::span<const std::uint8_t> x, std::span<std::uint8_t> y,
                          std::size_t planes) const {
    const InContext current(gpu_->driver_, gpu_->context_);
    Gpu::Lease lane(*gpu_);
    const std::size_t columns = x.size() / (planes * cols_);
    for (std::size_t first = 0; first < columns; first += parameters::largest_columns) {
        const std::size_t count = std::min(parameters::largest_columns, columns - first) * planes;
        multiply_vectors(*lane, x.subspan(first * planes * cols_, count * cols_),
                         y.subspan(first * planes * rows_, count * rows_), planes);
    }
    lane.give_back();
}

void HeldMatrix::multiply_vectors(Gpu::Lane& lane, std::span<const std::uint8_t> x,
                                  std::span<std::uint8_t> y, std::size_t planes) const {
    const Driver& driver = lane.driver;
    const std::size_t vectors = x.size() / cols_;
    Work work{};
    work.w = memory_->address();
    work.rows = static_cast<unsigned>(padded_rows_);
    work.stride = static_cast<unsigned>(stride_);
    work.vectors = static_cast<unsigned>(vectors);
    work.planes = static_cast<unsigned>(planes);
    work.primes = packed_primes(0);
    gpu_->products_->divide(work);
    const std::size_t partial_bytes = Products::partial_bytes(work);
    lane.x.at_least(vectors * stride_);
    lane.partial.at_least(partial_bytes);
    lane.y.at_least(vectors * padded_rows_);
    work.x = lane.x.address();
    work.y = lane.y.address();
    work.partial = partial_bytes > 0 ? lane.partial.address() : work.y;

    const auto sent = lane.sent.first(vectors * stride_);
    const auto received = lane.received.first(vectors * padded_rows_);
    spread(x, cols_, sent, stride_);
    driver.copy_to_gpu_in(work.x, sent.data(), sent.size(), lane.stream);
    gpu_->products_->multiply(work, lane.stream);
    driver.copy_from_gpu_in(received.data(), work.y, received.size(), lane.stream);
    driver.stream_synchronize(lane.stream);
    for (std::size_t v = 0; v < vectors; ++v) {
        std::copy_n(received.data() + v * padded_rows_, rows_, y.data() + v * rows_);
    }
    // SESS-6. On the GPU nobody waits for it: what the stream does next comes after it.
    base::wipe(sent.data(), sent.size());
    base::wipe(received.data(), received.size());
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

std::unique_ptr<const kernels::DeviceMatrix> Gpu::hold(base::MatrixView<const std::int8_t> w) {
    try {
        const InContext current(driver_, context_);
        return std::make_unique<const HeldMatrix>(shared_from_this(), w);
    } catch (const DriverError& error) {
        throw BadInput(error.what());
    }
}

}  // namespace slip::gpu

// A GPU that multiplies in the place of the processor: David's products (LIN-1, MASK-3, HIDE-1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "optimized/base/matrix_view.hpp"
#include "optimized/gpu/driver.hpp"
#include "optimized/gpu/products.hpp"
#include "optimized/kernels/planar_matrix.hpp"

namespace slip::gpu {

inline constexpr const char* driver_library = "libcuda.so.1";

/// Rows in the GPU's memory, in one matrix for all planes or one per plane. Thread-safe.
class HeldRows;

/// The machine's first GPU, or the first that CUDA_VISIBLE_DEVICES leaves, and the kernels in it.
/// Thread-safe. A process that forks has it on the side that made it, and not on the other.
class Gpu : public std::enable_shared_from_this<Gpu> {
public:
    /// Throws BadInput, naming the call of the driver that failed, unless there is a GPU of compute
    /// capability 8.0 or later that can run the kernels, and if this was built without them.
    static std::shared_ptr<Gpu> open(const char* library = driver_library);
    ~Gpu();
    Gpu(const Gpu&) = delete;
    Gpu& operator=(const Gpu&) = delete;

    const std::string& name() const { return name_; }

    /// Copies rows to the GPU, of one matrix or of one per plane, of one shape; the bytes are not
    /// read again. Throws BadInput if the GPU's memory does not suffice.
    std::shared_ptr<const HeldRows> hold_rows(
        const std::vector<base::MatrixView<const std::int8_t>>& matrices);

    /// W, copied likewise. Its products throw DriverError if a call fails.
    std::unique_ptr<const kernels::DeviceMatrix> hold(base::MatrixView<const std::int8_t> w);
    /// [above ; below]: the bytes that `above` is a view of are copied likewise; the rows below may
    /// be those of other matrices too.
    /// Throws InternalError unless both are as wide, of as many planes.
    std::unique_ptr<const kernels::DeviceMatrix> hold(const kernels::PlanarMatrix& above,
                                                      std::shared_ptr<const HeldRows> below);

private:
    friend class HeldRows;
    friend class HeldMatrix;
    /// What a product needs beside W. Each is used by one thread at a time.
    struct Lane;
    class Lease;

    explicit Gpu(const char* library);
    void require_capability() const;

    const Driver driver_;
    Device device_ = 0;
    Context context_ = nullptr;
    std::string name_;
    std::unique_ptr<const Products> products_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Lane>> idle_;  // guarded by mutex_
};

}  // namespace slip::gpu

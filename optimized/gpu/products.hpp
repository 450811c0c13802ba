// The kernels, and how they are launched.
#pragma once

#include <array>
#include <cstddef>

#include "optimized/base/parameters.hpp"
#include "optimized/gpu/driver.hpp"
#include "optimized/gpu/work.hpp"

namespace slip::gpu {

/// PTX of kernels/products.cu, or "" where it was built without clang++-19.
extern const char* const products_ptx;

/// `size` as whole units.
constexpr std::size_t padded(std::size_t size, std::size_t unit) {
    return (size + unit - 1) / unit * unit;
}

/// Work::primes (RING-5).
constexpr unsigned long long packed_primes() {
    unsigned long long packed = 0;
    for (std::size_t p = base::parameters::primes.size(); p-- > 0;) {
        packed = packed << 8 | base::parameters::primes[p];
    }
    return packed;
}

/// The kernels of a module, loaded in the current context. Thread-safe.
class Products {
public:
    /// `multiprocessors` of the GPU. Throws DriverError if `ptx` cannot be loaded.
    Products(const Driver& driver, const char* ptx, unsigned multiprocessors);
    Products(const Products&) = delete;
    Products& operator=(const Products&) = delete;
    ~Products();

    /// Divides the steps of a product between blocks: sets splits and steps_per_split. Requires
    /// rows, stride, matrices and vectors, at least one of each.
    void divide(Work& work) const;
    /// The bytes of work.y.
    static std::size_t residues(const Work& work);
    /// The bytes of work.partial, beside work.y: 0 if there is one split, whose residues are Y.
    static std::size_t partial_bytes(const Work& work);
    /// Launches the product in a stream. Requires all of `work` as the kernels do; where there is
    /// one split, work.partial is work.y. Throws DriverError.
    void multiply(const Work& work, Stream stream) const;

private:
    /// A kernel, and the part of Y that a block computes.
    struct Kernel {
        Function function = nullptr;
        unsigned threads = 0, rows = 0, vectors = 0;
        /// So many blocks per multiprocessor keep the memory busy.
        unsigned blocks = 0;
        /// The least steps of a split: joining a shorter one costs more than it saves.
        unsigned least_steps = 0;

        unsigned tiles_of(unsigned all) const { return (all + vectors - 1) / vectors; }
    };
    const Kernel& kernel_for(unsigned vectors) const;
    void launch(const Kernel& kernel, unsigned x, unsigned y, unsigned z, const Work& work,
                Stream stream) const;

    const Driver& driver_;
    const unsigned multiprocessors_;
    Module module_ = nullptr;
    Kernel narrow_, join_;
    std::array<Kernel, 4> wide_;  // by their vectors
};

}  // namespace slip::gpu

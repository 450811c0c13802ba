#include "optimized/gpu/products.hpp"

#include <algorithm>

namespace slip::gpu {

// The kernels read `work` as the host lays it out.
static_assert(sizeof(Work) == 80 && alignof(Work) == 8);

Products::Products(const Driver& driver, const char* ptx, unsigned multiprocessors)
    : driver_(driver), multiprocessors_(multiprocessors) {
    driver_.module_load(&module_, ptx);
    const auto named = [&](const char* name) {
        Function function = nullptr;
        driver_.module_get_function(&function, module_, name);
        return function;
    };
    try {
        narrow_ = {named("narrow"), narrow_threads, narrow_rows, narrow_vectors, 1, 32};
        wide_ = {Kernel{named("wide32"), wide_threads, row_tile, 32, 2, 4},
                 Kernel{named("wide64"), wide_threads, row_tile, 64, 2, 4},
                 Kernel{named("wide96"), wide_threads, row_tile, 96, 2, 4},
                 Kernel{named("wide128"), wide_threads, row_tile, 128, 2, 4}};
        join_ = {named("join"), join_threads};
    } catch (...) {
        driver_.module_unload.ignoring_failure(module_);
        throw;
    }
}

Products::~Products() { driver_.module_unload.ignoring_failure(module_); }

/// As few tiles as the widest kernel has, as narrow as they may be.
const Products::Kernel& Products::kernel_for(unsigned vectors) const {
    if (vectors <= narrow_.vectors) return narrow_;
    const unsigned tiles = wide_.back().tiles_of(vectors);
    return *std::find_if(wide_.begin(), wide_.end(),
                         [&](const Kernel& kernel) { return kernel.tiles_of(vectors) == tiles; });
}

void Products::divide(Work& work) const {
    const Kernel& kernel = kernel_for(work.vectors);
    const unsigned steps = work.stride / step;
    const unsigned tiles = work.rows / kernel.rows * kernel.tiles_of(work.vectors) * work.matrices;
    const unsigned wanted = kernel.blocks * multiprocessors_ / tiles;
    const unsigned splits = std::max(
        {1U, std::min(wanted, steps / kernel.least_steps), (steps + most_steps - 1) / most_steps});
    work.steps_per_split = (steps + splits - 1) / splits;
    work.splits = (steps + work.steps_per_split - 1) / work.steps_per_split;
}

std::size_t Products::residues(const Work& work) {
    return std::size_t{work.matrices} * work.vectors * work.rows;
}

std::size_t Products::partial_bytes(const Work& work) {
    return work.splits == 1 ? 0 : work.splits * residues(work);
}

void Products::multiply(const Work& work, Stream stream) const {
    const Kernel& kernel = kernel_for(work.vectors);
    launch(kernel, work.rows / kernel.rows, kernel.tiles_of(work.vectors),
           work.matrices * work.splits, work, stream);
    if (work.splits == 1) return;
    const std::size_t units = residues(work) / join_bytes;
    launch(join_, static_cast<unsigned>((units + join_threads - 1) / join_threads), 1, 1, work,
           stream);
}

void Products::launch(const Kernel& kernel, unsigned x, unsigned y, unsigned z, const Work& work,
                      Stream stream) const {
    Work copy = work;
    void* arguments[] = {&copy};
    driver_.launch(kernel.function, x, y, z, kernel.threads, 1, 1, 0, stream, arguments, nullptr);
}

}  // namespace slip::gpu

// What the kernels reach, against the machine and against peers.
#pragma once

#include <cstddef>

#include "experiments/bench/medians.hpp"

namespace slip::bench {

struct KernelOptions {
    std::size_t repetitions = 7;  // at least 5
};

/// Measures on one processor, to which the calling thread is bound from here on. A figure whose
/// peer or whose instructions are missing is left out.
Report measure_kernels(const KernelOptions& options);

}  // namespace slip::bench

// What the kernels reach, against the machine and against peers.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace slip::bench {

struct KernelOptions {
    std::size_t repetitions = 7;  // at least 5
};

/// A measurement: the median of the repetitions.
struct KernelRow {
    std::string name;
    double seconds = 0;
    double per_second = 0;  // bytes, products or residues a second, as `unit` says
    std::string unit;
};

/// A ratio: the median over the repetitions, in each of which both sides ran.
struct KernelFigure {
    std::string name;
    double value = 0;
};

struct KernelReport {
    std::vector<KernelFigure> figures;
    std::vector<KernelRow> rows;
};

/// Measures on one processor, to which the calling thread is bound from here on. A figure whose
/// peer or whose instructions are missing is left out.
KernelReport measure_kernels(const KernelOptions& options);

}  // namespace slip::bench

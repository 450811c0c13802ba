// What a step of eight columns costs at least where Charlie and David take turns.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "experiments/bench/medians.hpp"
#include "experiments/bench/whole_model.hpp"

namespace slip::bench {

/// David's products of `columns` columns, in this thread: the values do not matter, since no
/// kernel's time depends on them.
class DavidsProducts {
public:
    /// The model outlives the object.
    DavidsProducts(const WholeModel& whole, std::size_t columns);
    /// The products of every group once.
    void multiply();

private:
    const kernels::OffloadedWeights& weights_;
    const std::size_t residues_;  // of an entry, in all columns
    const std::size_t planes_;
    std::vector<std::uint8_t> x_, y_;
};

/// The mean of a few calls, in seconds: one repetition.
double mean_seconds(const std::function<void()>& work);

/// Parts of a step of eight generations with the paper's split, each measured by itself and with
/// nothing around it:
///   step      all of it, unprotected;
///   rest      of this, what is no product: attention, norms, the next tokens' logits;
///   products  David's: residues mod p times the packed weights;
///   wire      as many bytes over TLS to and from a process that answers without arithmetic;
///   kernels   Charlie's: mask, check, unmask, low rank.
/// Masks and cancellations are made ahead of use and not part of it; packing, copies and waits are
/// not either. Since no two parts of one step can overlap, step / (rest + products + wire +
/// kernels) bounds batch8_over_unprotected, on the processors of the other contestants.
class ServeBound {
public:
    /// Forks. Requires: this process has one thread. The model outlives the object.
    explicit ServeBound(WholeModel& whole);
    ~ServeBound();

    /// One repetition.
    void measure();
    /// Rows of all parts, and the figure batch8_in_turn.
    void report_in(Report& report) const;

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
    std::vector<double> step_, rest_, products_, wire_, kernels_;
};

}  // namespace slip::bench

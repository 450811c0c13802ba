// What lattice masks cost, and what decode reaches while they are made.
#pragma once

#include "experiments/bench/medians.hpp"
#include "experiments/bench/whole_model.hpp"
#include "optimized/masks/block_secret.hpp"

namespace slip::bench {

/// For a model whose set has lattice masks; of another the report is empty. Figures:
/// block_ns_inputs and block_ns_outputs, nanoseconds of one processor per row and message of the
/// masks and cancellations of a block, made as the stock makes them: four blocks per pass of T, two
/// per pass of H. charlie_cpu_1 and charlie_cpu_16, Charlie's processor time per token over TLS at
/// 1 and 16 columns, floats, TLS and the masks that he uses up included, over Int8Engine's;
/// messages_cpu_1 and messages_cpu_16, of that time what as many bytes over TLS take alone. Its
/// parts, and how much they account for: measure_charlie_parts(). charlie_shm_1 and charlie_shm_16,
/// Charlie's processor time in shared memory, without masks, over that over TLS.
/// decode_tls_steady, decode over TLS while a background thread that shares David's processor makes
/// the masks that are used up, over Int8Engine's.
Report measure_masks(WholeModel& whole);

/// Seconds of one processor for the masks of a token, one per group, in memory that a stock reuses.
double mask_seconds_per_token(const WholeModel& whole);

/// A secret that products take as long with as with any other; the same every time.
masks::BlockSecret some_secret(const base::parameters::LatticeParameters& lattice);

}  // namespace slip::bench

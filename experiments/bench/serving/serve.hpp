// What company is worth: eight generations in one batch, over TLS, over HTTP and in the open.
#pragma once

#include <functional>
#include <string>

#include "experiments/bench/medians.hpp"
#include "experiments/bench/whole_model.hpp"

namespace slip::bench {

/// On which processors the contestants run.
std::string serve_processors(const WholeModel& whole);

/// Each repetition runs all contestants in turn, each behind a Scheduler: Int8Engine, and the
/// hybrid engine over TLS, and in shared memory, with masks that are ready before a clock starts.
/// Tokens are counted while all generations run. Hybrid is over TLS where nothing else is said.
/// Figures:
///   batch8_over_batch1       tokens per second of 8 generations over those of one, hybrid;
///   batch8_over_batch1_shm   the same in shared memory;
///   batch8_over_unprotected  the same 8, hybrid over Int8Engine;
///   batch8_in_turn           what that could be at most if Charlie and David take turns, of the
///                            paper's split alone: ServeBound;
///   batch8_bound, _shm       batch8_over_unprotected, times h (1 + ell/M): 1 is what David's
///                            products allow if they cost what their multiplications do;
///   davids_share, _shm       of the time of a token of 8, what David's products take alone;
///   two_batches, _shm        what 8 generations could gain at most if Charlie had them in two
///                            batches of 4, of which David always multiplies one: the time of a
///                            token now, over that of his products of 4 columns twice;
///   first_token              seconds from a prompt of 512 tokens to its first token, hybrid over
///                            Int8Engine;
///   first_token_bound, _shm  h (1 + ell/M) over that;
///   first_token_share, _shm  of that time, what David's products of the prompt take alone;
///   endpoint_over_library    tokens per second of 8 streams over HTTP, as clients see them, over
///                            those of the scheduler, Int8Engine: masks that are made meanwhile
///                            would disturb one more than the other.
/// Rows only, of uniform masks: 8 generations in the steady state, while Charlie replaces the masks
/// that they spend.
/// `tell` is told how far the measurement is.
Report measure_serve(WholeModel& whole, const std::function<void(const std::string&)>& tell);

}  // namespace slip::bench

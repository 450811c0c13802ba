// What company is worth: eight generations in one batch, over TLS and in the open.
#pragma once

#include "experiments/bench/measure.hpp"
#include "experiments/bench/whole_model.hpp"

namespace slip::bench {

/// Every repetition runs in turn, each through a Scheduler: eight generations one after the other,
/// then eight at once, of the hybrid engine over TLS with masks from D2 that are ready before a
/// clock starts; and the same of Int8Engine. The prompt is not timed. Charlie has one processor, as
/// Int8Engine has; David has another one, which he shares with D2. Figures, in tokens per second of
/// all generations together: batch8_over_batch1, of the hybrid engine; batch8_over_unprotected, of
/// the hybrid engine over Int8Engine, both at eight. Rows only: the same with masks that Charlie
/// makes beside the generations, on his processor.
Report measure_serve(WholeModel& whole);

}  // namespace slip::bench

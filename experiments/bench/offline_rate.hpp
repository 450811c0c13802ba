// How fast an offline David is, against his products alone.
#pragma once

#include "experiments/bench/measure.hpp"
#include "experiments/bench/whole_model.hpp"

namespace slip::bench {

/// By turns: this process multiplies 16 columns by the W_D of every group, with the kernel of D2;
/// and D2, in his process, answers a REQUEST of 16 columns for every group, four at a time
/// unanswered, over TLS, to a Charlie who only receives. The figure offline_rate is the
/// cancellations per second of D2 over the columns per second of the products, by the clock of the
/// wall; offline_rate_cpu by processor time.
Report measure_offline_rate(const WholeModel& whole);

}  // namespace slip::bench

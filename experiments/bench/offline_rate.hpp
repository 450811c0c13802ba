// The rate of an offline David, compared with his products alone.
#pragma once

#include "experiments/bench/measure.hpp"
#include "experiments/bench/whole_model.hpp"

namespace slip::bench {

/// Alternates two measurements: this process multiplies W_D of every group by 16 columns, with D2's
/// kernel; and D2, in his process, answers a REQUEST of 16 columns for every group over TLS, with
/// four unanswered at a time, to a Charlie who only receives. The figure offline_rate is D2's
/// cancellations per second over the columns per second of the products, in wall-clock time;
/// offline_rate_cpu is the same in processor time.
Report measure_offline_rate(const WholeModel& whole);

}  // namespace slip::bench

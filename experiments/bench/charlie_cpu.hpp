// What protection costs Charlie in processor time when an offline David computes the cancellations.
#pragma once

#include "experiments/bench/measure.hpp"
#include "experiments/bench/whole_model.hpp"

namespace slip::bench {

/// Decodes by turns with Int8Engine and over TLS with D1 and D2, who are processes of their own, so
/// that this process is Charlie alone. Counted is its processor time, user and system: the decode
/// from a full stock, and beside it and after it what fills the stock again, so for every token as
/// many masks are drawn, received and checked as are used. His waits sleep at once
/// (TimeLimits::awake); he is idle then, which takes no time.
///
/// Figures: charlie_cpu_share, of a token by itself, over Int8Engine's; charlie_cpu_share_16, of 16
/// sequences with a column each in every message, over Int8Engine with the same 16;
/// charlie_cpu_share_16_bound, of the same bytes in the same messages over TLS, with nobody who
/// computes anything, and of AES for as many masks. charlie_cpu_share_16_of_1 is the second over
/// Int8Engine with a token by itself. And from the counters of the same decode, what
/// report_epsilon() says.
Report measure_charlie_cpu(WholeModel& whole);

}  // namespace slip::bench

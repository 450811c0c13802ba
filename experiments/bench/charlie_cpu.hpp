// Charlie's processor time with an offline David, compared with an unprotected model.
#pragma once

#include "experiments/bench/measure.hpp"
#include "experiments/bench/whole_model.hpp"

namespace slip::bench {

/// Alternates decodes with Int8Engine and over TLS with D1 and D2, which run in processes of their
/// own, so that this process does Charlie's work only. Measures its processor time, user and
/// system: a decode from a full stock and the refill of the stock, so that for every token as many
/// masks are drawn, received and checked as are used. Waits sleep at once (TimeLimits::awake), so
/// idle time is not counted.
///
/// Figures: charlie_cpu_share is the time per token over Int8Engine's. charlie_cpu_share_16 is the
/// same with 16 sequences, one column each in every message, over Int8Engine with the same 16.
/// charlie_cpu_share_16_bound is a lower bound for the latter: the same bytes in the same messages
/// over TLS, to a peer that computes nothing, and AES for as many masks. charlie_cpu_share_16_of_1
/// is the time per token with 16 sequences over Int8Engine with one. report_epsilon() adds its
/// figures from the counters of the same decode.
Report measure_charlie_cpu(WholeModel& whole);

}  // namespace slip::bench

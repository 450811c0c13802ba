// What protection costs a whole model, against int8 weights in the open.
#pragma once

#include "experiments/bench/measure.hpp"
#include "experiments/bench/whole_model.hpp"

namespace slip::bench {

struct DecodeResult {
    double hybrid_tokens_per_second = 0;  // David in process; medians over the repetitions
    double int8_tokens_per_second = 0;
    double ratio = 0;                      // hybrid to unprotected, median of the pairs
    double offline_seconds_per_token = 0;  // processor time for masks, beside the ratio
    Report report;
};

/// In every repetition, in turn and on one processor: a plain read of the weights, Int8Engine, the
/// hybrid engine with David in this process, and the hybrid engine with David in a process and on a
/// processor of his own, over loopback TLS: with cancellations that Charlie has computed, and with
/// those of D2, which have come over TLS. Every mask is ready, a stock full, before a clock starts.
/// Then rounds alone, for what TLS adds to one. Figures: unprotected_read (bytes of weights per
/// second that Int8Engine decodes with, over those of the read), decode_in_process,
/// decode_tls_alone and, with D2's stock, decode_tls (tokens per second over Int8Engine's),
/// tls_round_us.
DecodeResult measure_decode(WholeModel& whole);

}  // namespace slip::bench

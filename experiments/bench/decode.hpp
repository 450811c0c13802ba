// Speed of a whole protected model, compared with unprotected int8 weights.
#pragma once

#include "experiments/bench/medians.hpp"
#include "experiments/bench/whole_model.hpp"

namespace slip::bench {

struct DecodeResult {
    double hybrid_tokens_per_second = 0;  // David in process; medians over the repetitions
    double int8_tokens_per_second = 0;
    double ratio = 0;                      // hybrid to unprotected, median of the pairs
    double offline_seconds_per_token = 0;  // processor time for masks, beside the ratio
    Report report;
};

/// Every repetition runs in turn, on one processor: a plain read of the weights; Int8Engine; the
/// hybrid engine with David in this process; and the hybrid engine with David in a process and on a
/// processor of his own, over loopback TLS and in shared memory. All masks are ready before a clock
/// starts. Single rounds follow, which show the time that TLS adds to a round. Figures:
/// unprotected_read (bytes of weights per second in Int8Engine over those of the plain read);
/// decode_in_process, decode_tls and decode_shm, in tokens per second over Int8Engine's, and
/// prefill_tls, of the prompt in one batch; session_open_products, Charlie's multiplications before
/// a session's first message; tls_round_us.
DecodeResult measure_decode(WholeModel& whole);

}  // namespace slip::bench

// What protection costs a whole model, against int8 weights in the open.
#pragma once

#include <cstddef>
#include <filesystem>

#include "experiments/bench/measure.hpp"

namespace slip::bench {

struct DecodeOptions {
    std::filesystem::path artifact;  // what `slip split` wrote
    std::filesystem::path model;     // the checkpoint it was made from
    std::size_t prompt = 8;          // tokens, in one batch before the decoded ones
    std::size_t tokens = 64;         // decoded in each repetition
    std::size_t repetitions = 7;
};

struct DecodeResult {
    double hybrid_tokens_per_second = 0;  // David in process; medians over the repetitions
    double int8_tokens_per_second = 0;
    double ratio = 0;                      // hybrid to unprotected, median of the pairs
    double offline_seconds_per_token = 0;  // processor time for masks, beside the ratio
    Report report;
};

/// In every repetition, in turn and on one processor: a plain read of the weights, Int8Engine, the
/// hybrid engine with David in this process, and the hybrid engine with David in a process and on a
/// processor of his own, over loopback TLS. Every mask is ready before a clock starts. Then rounds
/// alone, for what TLS adds to one. Figures: unprotected_read (bytes of weights per second that
/// Int8Engine decodes with, over those of the read), decode_in_process and decode_tls (tokens a
/// second over Int8Engine's), tls_round_us. Binds the calling thread.
DecodeResult measure_decode(const DecodeOptions& options);

}  // namespace slip::bench

// What protection costs a decode step, against int8 weights in the open.
#pragma once

#include <cstddef>
#include <filesystem>

namespace slip::bench {

struct DecodeOptions {
    std::filesystem::path artifact;  // what `slip split` wrote
    std::filesystem::path model;     // the checkpoint it was made from
    std::size_t tokens = 64;         // decoded in each repetition
    std::size_t repetitions = 7;
};

struct DecodeResult {
    double hybrid_tokens_per_second = 0;  // medians over the repetitions
    double int8_tokens_per_second = 0;
    double ratio = 0;                      // hybrid to unprotected, median of the pairs
    double offline_seconds_per_token = 0;  // processor time for masks, beside the ratio
    std::size_t positions = 0;             // filled before the first decoded token
};

/// Interleaves hybrid decoding, David in process and every mask ready before the clock starts, with
/// decoding by Int8Engine on the same graph.
DecodeResult measure_decode(const DecodeOptions& options);

}  // namespace slip::bench

// What a round over TLS costs beyond its arithmetic.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "slip/tls.hpp"

namespace slip::bench {

struct RoundOptions {
    std::filesystem::path artifact;  // what `slip split` wrote
    Endpoint david;
    std::filesystem::path tls;  // Charlie's certificates
    std::size_t repetitions = 200;
};

/// One group shape, messages of one column.
struct RoundResult {
    std::size_t n = 0;
    std::size_t rows = 0;
    double tls_microseconds = 0;         // medians of a whole round: mask, send, receive, check
    double in_process_microseconds = 0;  // the same without a network
    double overhead_microseconds = 0;    // median of the pairs' differences
};

/// For every distinct group shape, interleaves rounds over TLS with rounds in process.
std::vector<RoundResult> measure_rounds(const RoundOptions& options);

}  // namespace slip::bench

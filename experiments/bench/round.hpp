// What a round over TLS costs beyond its arithmetic.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "optimized/protocol/charlie.hpp"
#include "optimized/protocol/david.hpp"
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
    std::size_t groups = 0;              // of this shape
    double tls_microseconds = 0;         // medians of a whole round: mask, send, receive, check
    double in_process_microseconds = 0;  // the same without a network
    double overhead_microseconds = 0;    // median of the pairs' differences
};

/// For every distinct group shape, interleaves rounds over TLS with rounds in process.
std::vector<RoundResult> measure_rounds(const RoundOptions& options);
/// The same with two sessions, one over TLS and one with a David in this process. `shapes` are
/// those of the products that they give.
std::vector<RoundResult> measure_rounds(const std::vector<base::ProductShape>& shapes,
                                        protocol::CharlieSession& remote,
                                        protocol::CharlieSession& local, std::size_t repetitions);

/// The median over all rounds of one token: every shape counts as often as the model has it.
double median_overhead(const std::vector<RoundResult>& results);

}  // namespace slip::bench

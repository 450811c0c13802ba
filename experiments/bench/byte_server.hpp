// What David's messages cost where nobody multiplies.
#pragma once

#include <cstddef>
#include <vector>

#include "optimized/kernels/group_weights.hpp"
#include "optimized/protocol/frames.hpp"
#include "slip/tls.hpp"

namespace slip::bench {

/// Bytes of a group's messages, frames included.
struct MessageBytes {
    std::size_t up = 0;    // APPLY
    std::size_t down = 0;  // REPLY
};

/// For messages of `columns` columns, one per group.
std::vector<MessageBytes> message_bytes(const kernels::OffloadedWeights& weights,
                                        std::size_t planes, std::size_t columns);

/// A David without arithmetic: takes as many bytes as an APPLY of every group in turn, and sends as
/// many as its REPLY. `groups` outlives the server.
TlsServer::Serve answer_bytes(const std::vector<MessageBytes>& groups);

}  // namespace slip::bench

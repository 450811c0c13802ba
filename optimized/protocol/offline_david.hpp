// The offline David (D2): draws masks under Charlie's key and computes their cancellations. He
// never receives an activation, masked or unmasked.
#pragma once

#include <cstdint>
#include <memory>

#include "optimized/base/parameters.hpp"
#include "optimized/protocol/david.hpp"

namespace slip::protocol {

/// A session on `model`, which outlives it (OFF-2 to OFF-8): answers KEY with READY, then each
/// REQUEST with CANCELLATIONS. The mask of column j of a REQUEST is stream (tag 1, index + j) under
/// the connection's key (RAND-1, RAND-2), and its cancellation is W_D r mod L (MASK-3, CNN-4).
/// Masks are wiped once their cancellations are computed, the key when the session ends (OFF-8).
/// `tamper` may change the cancellations; the sequence in its header is the index of the first
/// mask. `blocks_per_key`: RAND-5; a REQUEST beyond this limit is refused as out of order.
std::unique_ptr<DavidSession> make_offline_session(
    const DavidModel& model, DavidSession::Tamper tamper = {},
    std::uint64_t blocks_per_key = base::parameters::blocks_per_key);

}  // namespace slip::protocol

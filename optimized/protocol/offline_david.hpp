// The offline David (D2): computes cancellations of masks that he draws from Charlie's key. He sees
// no activation, masked or not.
#pragma once

#include <cstdint>
#include <memory>

#include "optimized/base/parameters.hpp"
#include "optimized/protocol/david.hpp"

namespace slip::protocol {

/// A session on `model`, which outlives it (OFF-2 to OFF-8): KEY and READY, then CANCELLATIONS for
/// each REQUEST. The mask of column j of a REQUEST is stream (tag 1, index + j) under the
/// connection's key (RAND-1, RAND-2), and its cancellation is W_D r mod L (MASK-3, CNN-4). A mask
/// is wiped with its answer, the key when the session ends (OFF-8). `tamper` sees the
/// cancellations; its header has the first mask's index as sequence. `blocks_per_key`: RAND-5;
/// beyond, a REQUEST is out of order.
std::unique_ptr<DavidSession> make_offline_session(
    const DavidModel& model, DavidSession::Tamper tamper = {},
    std::uint64_t blocks_per_key = base::parameters::blocks_per_key);

}  // namespace slip::protocol

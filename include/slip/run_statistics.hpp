// What runs of a model have cost.
#pragma once

#include <cstdint>

#include "slip/durations.hpp"
#include "slip/export.hpp"

namespace SLIP_API slip {

/// What a model's runs have cost so far. What does not apply, such as rounds where there is no
/// protocol, is 0.
struct RunStatistics {
    std::uint64_t rounds = 0;      ///< messages to David, each with its reply
    std::uint64_t columns = 0;     ///< of these messages
    std::uint64_t bytes_up = 0;    ///< to David
    std::uint64_t bytes_down = 0;  ///< from David
    std::uint64_t checks = 0;      ///< replies that passed the integrity check (INTEG-3)
    double charlie_seconds = 0;    ///< processor time of Charlie's own online work
    /// Of the products of a David in this process. What Charlie waits for a David, here or
    /// elsewhere, is round_times.seconds.
    double david_seconds = 0;
    double offline_seconds = 0;  ///< processor time of all of Charlie's threads for masks
    double late_seconds = 0;     ///< of these, of masks that a message made for itself
    std::uint64_t charlie_multiplications = 0;  ///< online
    std::uint64_t david_multiplications = 0;    ///< online
    std::uint64_t offline_multiplications = 0;  ///< Charlie's for the masks that were used
    std::uint64_t masks_made = 0;        ///< by all sessions of the model, since this one began
    std::uint64_t masks_used = 0;        ///< likewise; one per column of a message
    std::uint64_t masks_waited_for = 0;  ///< of these, not ready when their message needed them
    double mask_wait_seconds = 0;        ///< wall time until messages had masks that were not ready
    Durations round_times;  ///< from a message's last byte sent to its reply's last byte received
};

}  // namespace slip

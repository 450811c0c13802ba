// What runs of a model have cost.
#pragma once

#include <cstdint>

#include "slip/durations.hpp"
#include "slip/export.hpp"

namespace SLIP_API slip {

/// What messages to David have cost online.
struct OnlineCosts {
    std::uint64_t rounds = 0;                   ///< messages to David, each with its reply
    std::uint64_t checks = 0;                   ///< replies that passed the check (INTEG-3)
    std::uint64_t bytes_up = 0;                 ///< to David
    std::uint64_t bytes_down = 0;               ///< from David
    std::uint64_t charlie_multiplications = 0;  ///< online
    std::uint64_t david_multiplications = 0;    ///< online

    /// Counts all of `others`.
    void add(const OnlineCosts& others) {
        rounds += others.rounds;
        checks += others.checks;
        bytes_up += others.bytes_up;
        bytes_down += others.bytes_down;
        charlie_multiplications += others.charlie_multiplications;
        david_multiplications += others.david_multiplications;
    }
    /// Charlie's part of the multiplications, 0 to 1; 0 if there are none.
    [[nodiscard]] double charlie_share() const {
        const auto charlie = static_cast<double>(charlie_multiplications);
        const double all = charlie + static_cast<double>(david_multiplications);
        return all > 0 ? charlie / all : 0;
    }
};

/// What a model's runs have cost so far. What does not apply, such as rounds where there is no
/// protocol, is 0.
struct RunStatistics : OnlineCosts {
    std::uint64_t columns = 0;   ///< columns of all messages to David
    double charlie_seconds = 0;  ///< processor time of Charlie's own online work
    /// Of the products of a David in this process. What Charlie waits for a David, here or
    /// elsewhere, is round_times.seconds.
    double david_seconds = 0;
    double offline_seconds = 0;  ///< processor time of all of Charlie's threads for masks
    double late_seconds = 0;     ///< offline_seconds of masks that messages made themselves
    std::uint64_t offline_multiplications = 0;  ///< Charlie's for the masks that were used
    std::uint64_t masks_made = 0;        ///< by all sessions of the model, since this one began
    std::uint64_t masks_used = 0;        ///< by the same sessions; one per column of a message
    std::uint64_t masks_waited_for = 0;  ///< masks that messages had to wait for
    double mask_wait_seconds = 0;        ///< wall time until messages had masks that were not ready
    Durations round_times;  ///< from a message's last byte sent to its reply's last byte received

    /// Counts all of `others`.
    void add(const RunStatistics& others) {
        OnlineCosts::add(others);
        columns += others.columns;
        charlie_seconds += others.charlie_seconds;
        david_seconds += others.david_seconds;
        offline_seconds += others.offline_seconds;
        late_seconds += others.late_seconds;
        offline_multiplications += others.offline_multiplications;
        masks_made += others.masks_made;
        masks_used += others.masks_used;
        masks_waited_for += others.masks_waited_for;
        mask_wait_seconds += others.mask_wait_seconds;
        round_times.add(others.round_times);
    }
};

}  // namespace slip

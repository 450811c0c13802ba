// Charlie, the trusted side: runs a split model with a David who learns nothing from it.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "slip/export.hpp"
#include "slip/model.hpp"
#include "slip/trace.hpp"
#include "slip/transport.hpp"

namespace SLIP_API slip {

/// Makes the connection to David. Called when the artifact has been read and its kind found to be
/// right, so that David does not wait meanwhile; and again for every attempt while he is busy. A
/// Scheduler calls it again when a session was lost, in a thread of its own, so what it refers to
/// has to live as long as the model; another call may lead to another David.
using Connect = std::function<std::unique_ptr<Transport>()>;

/// The largest CharlieOptions::masks_ready.
inline constexpr std::size_t most_masks_ready = std::size_t{1} << 16;
/// What CharlieOptions::masks_ready stands for if it is 0.
inline constexpr std::size_t default_masks_ready = 64;

/// How Charlie runs.
struct CharlieOptions {
    /// Uniform masks, with their cancellations, that are kept ready per group: those of the set
    /// `paper`, and of convolutions; 1 to most_masks_ready, or 0 for default_masks_ready. Where
    /// columns are so long that as many take more than 64 MiB per group, that memory bounds them.
    /// BadInput for more, and for any number but 0 for a model that has only lattice masks:
    /// mask_memory says how many of these are kept.
    std::size_t masks_ready = 0;
    /// Bytes of memory for the lattice masks of a model, of all sessions with it together; 0 for
    /// six fifths of a block of every group. Too few are BadInput, and so is any number but 0 for
    /// a model that has only uniform masks: masks_ready says how many of these are kept.
    std::size_t mask_memory = 0;
    /// For how long a David who is busy is asked again, with a new connection and a new session
    /// each time (SESS-5). 0: he is asked once. Refusals for other reasons are final.
    std::chrono::milliseconds busy_limit{0};
    /// Called before the first wait for a David who is busy. What it throws ends the attempts, and
    /// reaches the caller.
    std::function<void()> on_busy = {};
    /// Receives messages for the user that are no errors, in the thread that opens.
    std::function<void(const std::string&)> note = {};
    /// The file of the key that the artifact's hints are sealed with (SplitOptions::seal); empty if
    /// they are not sealed. BadInput if it is missing, another key, or not its owner's alone.
    std::filesystem::path seal = {};
    /// Gets a span for everything that Charlie does for a message, for every wait of his, and for
    /// the masks that are made ahead of use.
    std::shared_ptr<Trace> trace = {};
};

/// The split model `artifact` over the protocol: one session, until the model is destroyed.
/// `artifact` is OUT: Charlie's half, and where masks are uniform David's too, from which their
/// cancellations are computed (MODEL-7).
/// `david` leads to David. Throws BadInput for files that are not of one split or hold another kind
/// of model, Refused if David refuses, Distrusted if a peer with the transport's peer_name() has
/// sent a wrong reply in this process, and ProtocolError if it is not David who answers. One
/// transport is one attempt: busy_limit has no effect.
template <class Kind = Model>
[[nodiscard]] SLIP_API Kind open_charlie(const std::filesystem::path& artifact,
                                         std::unique_ptr<Transport> david,
                                         const CharlieOptions& options = {});

/// The same over the connection that `connect` makes, which may throw what it likes.
template <class Kind = Model>
[[nodiscard]] SLIP_API Kind open_charlie(const std::filesystem::path& artifact,
                                         const Connect& connect,
                                         const CharlieOptions& options = {});

/// The same for a split in shards (SplitOptions::shards, MODEL-22): shards[i] leads to the David
/// who has david-i. BadInput for another number of them than the split has.
template <class Kind = Model>
[[nodiscard]] SLIP_API Kind open_charlie(const std::filesystem::path& artifact,
                                         const std::vector<Connect>& shards,
                                         const CharlieOptions& options = {});

/// The same with a David inside the model: the protocol in one process and one thread, to measure
/// and to test. It protects nothing.
template <class Kind = Model>
[[nodiscard]] SLIP_API Kind open_charlie_in_process(const std::filesystem::path& artifact,
                                                    const CharlieOptions& options = {});

/// Whether the system has refused in this process to lock keys, masks or the check's secret in
/// memory, so that they may be written to swap (THREAT-3). It refuses beyond RLIMIT_MEMLOCK.
/// CharlieOptions::note is told once.
SLIP_API bool secrets_may_be_swapped() noexcept;

}  // namespace slip

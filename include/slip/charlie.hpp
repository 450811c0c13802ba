// Charlie, the trusted side: runs a split model with a David who learns nothing from it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

#include "slip/export.hpp"
#include "slip/model.hpp"
#include "slip/transport.hpp"

namespace SLIP_API slip {

struct CharlieOptions {
    /// Masks and cancellations a group that are kept ready, at least 64 of them.
    std::size_t masks_ready = 0;
};

/// A split model over the protocol: one session, from the constructor to the destructor, which ends
/// it in order. After a ProtocolError or an IntegrityError the session is dead (SESS-4); an
/// inference is repeated with a new Charlie over a new connection.
class Charlie : public Model {
public:
    /// `artifact` is OUT: Charlie's half, and David's, which the masks' cancellations are computed
    /// from. `david` leads to the other David. Throws BadInput for files that are not of one split,
    /// and ProtocolError if David refuses, is not who answers, or if a peer with the transport's
    /// peer_name() has sent a wrong reply too short a time ago (INTEG-7).
    Charlie(const std::filesystem::path& artifact, std::unique_ptr<Transport> david,
            const CharlieOptions& options = {});

    /// With a David inside this object: the protocol in one process and one thread.
    explicit Charlie(const std::filesystem::path& artifact, const CharlieOptions& options = {});

    /// Blocks until so many masks per group are ready, at most as many as are kept.
    void wait_for_masks(std::size_t masks_per_group);
};

}  // namespace slip

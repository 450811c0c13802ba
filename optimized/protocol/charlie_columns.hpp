// What Charlie's session does with residues, apart from when it does it. Private to this room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "optimized/base/matrix_view.hpp"
#include "optimized/protocol/cancellation.hpp"
#include "optimized/protocol/frames.hpp"
#include "optimized/protocol/profile.hpp"

namespace slip {

/// A session's checks and masks, and the columns of the message that is under way, in the session's
/// profile. CharlieSession, which knows no residue, calls this in the order of SESS-1. Everything
/// that has to stay secret is here and in the KeyStream.
class CharlieColumns {
public:
    /// Draws rho and computes s for every group (INTEG-1, INTEG-2). `weights` and `keys` outlive
    /// the object.
    static std::unique_ptr<CharlieColumns> make(Profile profile, const OffloadedWeights& weights,
                                                KeyStream& keys);
    CharlieColumns() = default;
    CharlieColumns(const CharlieColumns&) = delete;
    CharlieColumns& operator=(const CharlieColumns&) = delete;
    virtual ~CharlieColumns() = default;

    virtual Profile profile() const = 0;

    /// Begins to make masks. From now on the pool's thread uses the keys as well.
    virtual void open_pool(const PoolOptions& options) = 0;
    /// See CancellationPool; 0 before open_pool().
    virtual void wait_until_ready(std::size_t masks_a_group) = 0;
    virtual double offline_seconds() const = 0;
    virtual double late_seconds() const = 0;

    /// MASK-1: masks every column and encodes them. The whole APPLY frame, valid until the next
    /// call. `activations` are b x n with b = header.columns.
    virtual std::span<const std::byte> mask(const wire::ColumnsHeader& header,
                                            MatrixView<const std::int16_t> activations) = 0;
    /// WIRE-8: takes the residues of the REPLY to the last APPLY. Throws ProtocolError.
    virtual void decode_reply(std::span<const std::byte> payload,
                              const wire::ColumnsHeader& header) = 0;
    /// INTEG-3, of what decode_reply() took.
    virtual bool accepts_reply(const wire::ColumnsHeader& header) const = 0;
    /// MASK-4: y_D = lift(y~ - c) for every column, b x M, of what accepts_reply() accepted. Throws
    /// InternalError for the other profile's products.
    virtual void unmask(MatrixView<P31::Product> products) = 0;
    virtual void unmask(MatrixView<P61::Product> products) = 0;

    /// Every mask and cancellation, every rho and s; the pool's thread ends.
    virtual void wipe_secrets() noexcept = 0;
};

}  // namespace slip

// What Charlie's session does with residues, apart from when it does it. Private to this room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "optimized/base/matrix_view.hpp"
#include "optimized/protocol/cancellation.hpp"
#include "optimized/protocol/exchange.hpp"
#include "optimized/protocol/integrity.hpp"
#include "optimized/protocol/mask_supply.hpp"

namespace slip::protocol {

/// A session's masks and checks. Everything that has to stay secret is here, in the Sent message
/// and in the KeyStream.
template <class P>
class CharlieColumns {
public:
    /// Draws rho and computes s for every group (INTEG-1, INTEG-2). `weights` and `keys` outlive
    /// the object.
    CharlieColumns(const kernels::OffloadedWeights& weights, KeyStream& keys);

    /// Begins to make masks. From now on the pool's thread uses the keys as well.
    void open_pool(const PoolOptions& options) {
        supply_ = std::make_unique<CancellationPool<P>>(weights_, keys_, options);
    }
    /// Requires: an open pool.
    MaskSupply<P>& supply() { return *supply_; }
    /// These three are zero before one is open.
    StockLevel stock() const { return supply_ ? supply_->stock() : StockLevel{}; }
    SupplyStatistics supplied() const {
        return supply_ ? supply_->statistics() : SupplyStatistics{};
    }
    std::uint64_t supply_multiplications() const { return supply_multiplications_; }

    const std::vector<base::ProductShape>& shapes() const { return shapes_; }

    /// MASK-1: masks the columns of `activations`, b x inputs() with b = header.columns. Requires:
    /// an open pool.
    Sent<P> mask(const wire::ColumnsHeader& header,
                 base::MatrixView<const std::int16_t> activations);
    /// The whole APPLY frame, valid until the next call.
    std::span<const std::byte> encode(const Sent<P>& sent);
    /// SESS-3, WIRE-8: takes the residues of the REPLY to `sent`. Throws ProtocolError for another
    /// frame.
    Answered<P> decode_reply(Sent<P>&& sent, std::span<const std::byte> payload) const;
    /// INTEG-3. Nothing on a reject, and then the secrets are wiped: nothing is checked or unmasked
    /// any more. Throws InternalError for a reply that was checked before, or after the end.
    std::optional<Checked<P>> check(Answered<P>&& answered);
    /// MASK-4: y_D = lift(y~ - c) for every column, b x outputs(). Throws InternalError for a reply
    /// to another session, or one that was unmasked before, or after the end.
    void unmask(Checked<P>&& reply, base::MatrixView<typename P::Product> products);

    /// Every mask and cancellation, every rho and s; the supply's threads end.
    void wipe_secrets() noexcept;

private:
    const kernels::OffloadedWeights& weights_;
    const std::vector<base::ProductShape> shapes_;
    KeyStream& keys_;
    const std::uint64_t session_;            // of those of this process
    std::vector<IntegrityCheck<P>> checks_;  // one per group; none once the session is over
    std::unique_ptr<MaskSupply<P>> supply_;
    std::uint64_t supply_multiplications_ = 0;  // for the masks taken from it
    std::vector<Mask<P>> masks_;
    Exchange<P> spare_;  // the memory of the last message
    GrowingBuffer<std::byte> frame_;
};

extern template class CharlieColumns<P31>;

}  // namespace slip::protocol

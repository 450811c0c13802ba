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
#include "optimized/protocol/offline_stock.hpp"
#include "optimized/protocol/pair_store.hpp"

namespace slip::protocol {

/// A session's masks and checks. Everything that has to stay secret is here, in the Sent message
/// and in the KeyStream.
template <class P>
class CharlieColumns {
public:
    using CheckedReply = Checked<P, Answered<P>>;

    /// Draws rho and computes s for every group (INTEG-1, INTEG-2), unless a `pair` is given, which
    /// is of the same artifact and whose life goes on after the session. `keys` outlives the
    /// object; `weights` do where open_pool() is called, and are of no use otherwise: with a pair
    /// they may be empty then. Throws IntegrityError if the life of the pair is over.
    CharlieColumns(const kernels::OffloadedWeights& weights, KeyStream& keys,
                   std::shared_ptr<TakenPair> pair = nullptr);

    /// Begins to make masks. From now on the pool's thread uses the keys as well.
    void open_pool(const PoolOptions& options) {
        base::require(weights_.size() == shapes_.size(), "CharlieColumns: a pool needs weights");
        supply_ = std::make_unique<CancellationPool<P>>(weights_, keys_, options);
    }
    /// Begins to ask for masks, of offline Davids, none of whom may be `david`.
    void open_stock(const Digest& digest, const std::string& david, RejectLimiter* limiter,
                    const PoolOptions& pool, const OfflineOptions& options);
    /// Requires: an open pool or stock, here and below.
    MaskSupply<P>& supply() { return *supply_; }
    std::size_t largest_step() const { return supply_->largest_step(); }
    /// Both are zero before one is open.
    StockLevel stock() const { return supply_ ? supply_->stock() : StockLevel{}; }
    SupplyStatistics supplied() const {
        SupplyStatistics supplied = supply_ ? supply_->statistics() : SupplyStatistics{};
        supplied.multiplications = multiplications_;
        return supplied;
    }

    const std::vector<base::ProductShape>& shapes() const { return shapes_; }
    const Life& life() const { return pair_ ? pair_->life() : own_life_; }

    /// MASK-1: masks the columns of `activations`, b x inputs() with b = header.columns.
    Sent<P> mask(const wire::ColumnsHeader& header,
                 base::MatrixView<const std::int16_t> activations);
    /// The whole APPLY frame, valid until the next call.
    std::span<const std::byte> encode(const Sent<P>& sent);
    /// SESS-3, WIRE-8: takes the residues of the REPLY to `sent`. Throws ProtocolError for another
    /// frame.
    Answered<P> decode_reply(Sent<P>&& sent, std::span<const std::byte> payload) const;
    /// INTEG-3. Empty, and the end of the life, on a reject of `david`'s reply, or if another
    /// answer was rejected meanwhile.
    std::optional<CheckedReply> check(Answered<P>&& answered,
                                      const Answerer& david = {IntegrityCheck<P>::david});
    /// MASK-4: y_D = lift(y~ - c) for every column, b x outputs(). Throws InternalError for a reply
    /// to another session, or one that was unmasked before.
    void unmask(CheckedReply&& reply, base::MatrixView<typename P::Product> products);

    /// Every mask and cancellation, every rho and s; the supply's threads end.
    void wipe_secrets() noexcept;

private:
    void take_checks_of_pair();

    const kernels::OffloadedWeights& weights_;  // for the pool alone
    const std::vector<base::ProductShape> shapes_;
    KeyStream& keys_;
    const std::uint64_t session_ = unique_number();
    Life& life() { return pair_ ? pair_->life() : own_life_; }

    std::shared_ptr<TakenPair> pair_;        // null for rho and s of this session
    Life own_life_;                          // of these: as long as the session, at most
    std::vector<IntegrityCheck<P>> checks_;  // one per group
    std::optional<Life::AtReject> at_reject_;
    std::unique_ptr<MaskSupply<P>> supply_;  // after what its threads use
    std::uint64_t multiplications_ = 0;      // for the masks taken from it
    std::vector<Mask<P>> masks_;
    Exchange<P> spare_;  // the memory of the last message
    GrowingBuffer<std::byte> frame_;
};

extern template class CharlieColumns<P31>;
extern template class CharlieColumns<P61>;

}  // namespace slip::protocol

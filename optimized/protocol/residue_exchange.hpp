// What Charlie's session does with residues, apart from when it does it. Private to this room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "optimized/base/matrix_view.hpp"
#include "optimized/base/stock_level.hpp"
#include "optimized/base/thread_clock.hpp"
#include "optimized/masks/cancellation.hpp"
#include "optimized/masks/lattice_stock.hpp"
#include "optimized/masks/mask_supply.hpp"
#include "optimized/protocol/exchange.hpp"
#include "optimized/protocol/integrity.hpp"
#include "optimized/protocol/shared_secrets.hpp"
#include "optimized/secrets/product_check.hpp"
#include "optimized/secrets/weight_secrets.hpp"

namespace slip::protocol {

/// A session's masks, and the check that it shares with others. Everything of the session that has
/// to stay secret is here, in the Sent message and in the Keystream.
class ResidueExchange {
public:
    /// The references outlive the object, as do the members of `shared`.
    ResidueExchange(const kernels::OffloadedWeights& weights, const IntegrityCheck& check,
                    masks::Keystream& keys, const SharedSecrets& shared = {});

    /// Begins to make masks. From now on the stock's thread uses the keys as well.
    void open_stock(const masks::StockOptions& options);
    /// Requires: an open stock.
    masks::MaskSupply& supply() { return *supply_; }
    /// These three are zero before one is open.
    base::StockLevel stock() const { return supply_ ? supply_->stock() : base::StockLevel{}; }
    masks::SupplyStatistics supplied() const {
        return supply_ ? supply_->statistics() : masks::SupplyStatistics{};
    }
    std::uint64_t supply_multiplications() const { return supply_multiplications_; }
    /// Of Charlie's online work, for whoever calls; it is paused while mask() takes masks.
    base::WorkClock& clock() { return clock_; }
    const base::WorkClock& clock() const { return clock_; }

    const std::vector<base::ProductShape>& shapes() const { return reply_check_.shapes(); }
    std::size_t planes() const { return reply_check_.planes(); }
    /// Entries of a product: those of a reply but for the ell of y_U (HIDE-4).
    std::size_t outputs(base::GroupId group) const;

    /// MASK-1: masks the columns of `activations`, b x inputs() of the group with b =
    /// header.columns, for a frame with this header. Requires: an open stock.
    Sent mask(base::GroupId group, const wire::ColumnsHeader& header,
              base::MatrixView<const std::int16_t> activations);
    /// SESS-3, WIRE-8: takes the residues of the REPLY to `sent`. Throws ProtocolError for another
    /// frame.
    Replied decode_reply(Sent&& sent, std::span<const std::byte> payload) const;
    /// INTEG-3. Nothing on a reject, and then the secrets are wiped: nothing is checked or unmasked
    /// any more. Throws InternalError for a reply that was checked before, or after the end.
    std::optional<Checked> check(Replied&& replied);
    /// MASK-4, MASK-8, HIDE-5: y_D, or W' q, for every column, b x M of them or, of a convolution,
    /// outputs(). Throws InternalError for a reply to another session, or one that was unmasked
    /// before, or after the end, and if a product does not pass MASK-10: then Charlie's own files
    /// or memory are damaged.
    void unmask(Checked&& reply, base::MatrixView<std::int64_t> products);

    /// Every mask and cancellation; the supply's threads end.
    void wipe_secrets() noexcept;

private:
    bool has_lattice_masks(base::GroupId group) const {
        return shared_.stock != nullptr && shared_.stock->serves(group);
    }
    void unmask_column(base::GroupId group, std::span<const std::uint8_t> reply,
                       std::span<const std::uint8_t> cancellation, std::span<std::int64_t> product);
    void require_sound_product(base::GroupId group, std::uint64_t expected,
                               std::span<const std::int64_t> product);

    const kernels::OffloadedWeights& weights_;
    const IntegrityCheck& reply_check_;
    masks::Keystream& keys_;
    const SharedSecrets shared_;
    const std::uint64_t session_;  // of those of this process
    bool over_ = false;
    std::unique_ptr<masks::MaskSupply> supply_;
    std::uint64_t supply_multiplications_ = 0;  // for the masks taken from it
    std::vector<masks::Mask> masks_;
    base::WorkClock clock_;
    Exchange spare_;                                              // the memory of the last message
    std::optional<secrets::WeightSecrets::Workspace> workspace_;  // of the hidden split
};

}  // namespace slip::protocol

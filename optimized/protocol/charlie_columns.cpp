#include "optimized/protocol/charlie_columns.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/kernels/registry.hpp"

namespace slip::protocol {

using base::require;

namespace {

/// 1, 2, 3, ...: a new number at each call in a process.
std::uint64_t unique_number() {
    static std::atomic<std::uint64_t> last = 0;
    return ++last;
}

}  // namespace

CharlieColumns::CharlieColumns(const kernels::OffloadedWeights& weights,
                               const IntegrityCheck& check, KeyStream& keys)
    : weights_(weights), check_(check), keys_(keys), session_(unique_number()) {
    require(weights.size() == shapes().size(), "CharlieSession: the check is of another model");
    for (base::GroupId group = 0; group < weights.size(); ++group) {
        const base::ProductShape& shape = shapes()[group];
        require(weights[group].shape() == shape, "CharlieSession: the check is of another model");
        require(shape.inputs() > 0 && shape.outputs() > 0 && columns_that_fit(shape, planes()) > 0,
                "CharlieSession: no column of a group fits a message");
    }
}

/// MASK-1 and MASK-5: x~ = q + r for every column, uniform whatever q is, because r -> x~ is a
/// bijection (MASK-2). A mask r is spent here and wiped as soon as its column is formed (MASK-6);
/// its cancellation goes with the message until the reply is unmasked.
Sent CharlieColumns::mask(const wire::ColumnsHeader& header,
                          base::MatrixView<const std::int16_t> activations) {
    const std::size_t n = activations.cols();
    supply_->take(header.group, activations.rows(), masks_);
    supply_multiplications_ +=
        activations.rows() * supply_->multiplications_per_mask(shapes()[header.group]);
    Exchange exchange = std::move(spare_);
    exchange.session = session_;
    exchange.header = header;
    const auto columns = wire::begin_columns(
        wire::FrameType::apply, header,
        exchange.apply.resize(wire::columns_frame_bytes(planes() * activations.size())));
    for (std::size_t c = 0; c < activations.rows(); ++c) {
        auto& spent = exchange.masks.emplace_back(std::move(masks_[c]).spend());
        kernels::active().mask(activations.row(c).data(), spent.mask.data(), n, planes(),
                               columns.data() + c * planes() * n);
        spent.mask.clear();  // MASK-6
    }
    masks_.clear();
    return Sent(std::move(exchange));
}

Answered CharlieColumns::decode_reply(Sent&& sent, std::span<const std::byte> payload) const {
    const wire::ColumnsHeader header = sent.header();
    if (wire::decode_columns_header(wire::FrameType::reply, payload) != header) {
        throw ProtocolError("REPLY: sequence, group or columns are not those of the APPLY");
    }
    const auto reply =
        wire::decode_residues(payload, header, planes(), shapes()[header.group].outputs());
    Exchange exchange = std::move(sent.exchange_);
    std::copy(reply.begin(), reply.end(), exchange.reply.resize(reply.size()).begin());
    return Answered(std::move(exchange));
}

std::optional<Checked> CharlieColumns::check(Answered&& answered) {
    require(!over_, "CharlieColumns: the session is over");
    auto checked = check_.check(std::move(answered));
    if (!checked) wipe_secrets();  // INTEG-6
    return checked;
}

void CharlieColumns::unmask(Checked&& reply, base::MatrixView<std::int64_t> products) {
    require(!over_, "CharlieColumns: the session is over");
    Exchange exchange = std::move(reply.exchange_);
    const auto columns = exchange.reply.span();
    const std::size_t rows = products.cols();
    require(exchange.session == session_, "CharlieColumns: a reply to another session");
    require(
        products.rows() == exchange.masks.size() && planes() * products.size() == columns.size(),
        "CharlieColumns: the shape of the products");
    for (std::size_t c = 0; c < products.rows(); ++c) {
        auto& spent = exchange.masks[c];
        kernels::active().unmask(columns.data() + c * planes() * rows, spent.cancellation.data(),
                                 rows, planes(), products.row(c).data());
        supply_->recycle(exchange.header.group, std::move(spent));  // MASK-6: wiped there
    }
    exchange.masks.clear();
    spare_ = std::move(exchange);
}

void CharlieColumns::wipe_secrets() noexcept {
    over_ = true;
    masks_.clear();
    if (supply_) supply_->destroy();
}

}  // namespace slip::protocol

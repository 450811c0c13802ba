#include "optimized/protocol/charlie_columns.hpp"

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

std::vector<base::ProductShape> shapes_of(const kernels::OffloadedWeights& weights) {
    std::vector<base::ProductShape> shapes;
    for (const kernels::GroupWeights& group : weights) shapes.push_back(group.shape());
    return shapes;
}

}  // namespace

template <class P>
CharlieColumns<P>::CharlieColumns(const kernels::OffloadedWeights& weights, KeyStream& keys)
    : weights_(weights), shapes_(shapes_of(weights)), keys_(keys), session_(unique_number()) {
    for (const base::ProductShape& shape : shapes_) {
        require(shape.inputs() > 0 && shape.outputs() > 0 && columns_that_fit<P>(shape) > 0,
                "CharlieSession: no column of a group fits a message");
    }
    checks_.reserve(weights.size());
    for (base::GroupId group = 0; group < weights.size(); ++group) {
        checks_.emplace_back(weights[group], group, keys);
    }
}

/// MASK-1 and MASK-5: x~ = q + r for every column, uniform whatever q is, because r -> x~ is a
/// bijection (MASK-2). A mask r is spent here and wiped as soon as its column is formed (MASK-6);
/// its cancellation goes with the message until the reply is unmasked.
template <class P>
Sent<P> CharlieColumns<P>::mask(const wire::ColumnsHeader& header,
                                base::MatrixView<const std::int16_t> activations) {
    const std::size_t n = activations.cols();
    supply_->take(header.group, activations.rows(), masks_);
    supply_multiplications_ +=
        activations.rows() * supply_->multiplications_per_mask(shapes_[header.group]);
    Exchange<P> exchange = std::move(spare_);
    exchange.session = session_;
    exchange.header = header;
    const auto columns = exchange.masked.resize(activations.size());
    for (std::size_t c = 0; c < activations.rows(); ++c) {
        auto& spent = exchange.masks.emplace_back(std::move(masks_[c]).spend());
        kernels::active().of<P>().mask(activations.row(c).data(), spent.mask.data(), n,
                                       columns.data() + c * n);
        spent.mask.clear();  // MASK-6
    }
    masks_.clear();
    return Sent<P>(std::move(exchange));
}

template <class P>
std::span<const std::byte> CharlieColumns<P>::encode(const Sent<P>& sent) {
    const auto columns = sent.exchange_.masked.span();
    const auto frame = frame_.resize(wire::columns_frame_bytes(columns.size_bytes()));
    wire::encode_columns<P>(wire::FrameType::apply, sent.header(), columns, frame);
    return frame;
}

template <class P>
Answered<P> CharlieColumns<P>::decode_reply(Sent<P>&& sent,
                                            std::span<const std::byte> payload) const {
    const wire::ColumnsHeader header = sent.header();
    if (wire::decode_columns_header(wire::FrameType::reply, payload) != header) {
        throw ProtocolError("REPLY: sequence, group or columns are not those of the APPLY");
    }
    Exchange<P> exchange = std::move(sent.exchange_);
    const std::size_t rows = shapes_[header.group].outputs();
    wire::decode_residues<P>(payload, header, rows, exchange.reply.resize(header.columns * rows));
    return Answered<P>(std::move(exchange));
}

template <class P>
std::optional<Checked<P>> CharlieColumns<P>::check(Answered<P>&& answered) {
    require(answered.group() < checks_.size(), "CharlieColumns: the session is over");
    auto checked = checks_[answered.group()].check(std::move(answered));
    if (!checked) wipe_secrets();  // INTEG-6
    return checked;
}

template <class P>
void CharlieColumns<P>::unmask(Checked<P>&& reply, base::MatrixView<typename P::Product> products) {
    require(!checks_.empty(), "CharlieColumns: the session is over");
    Exchange<P> exchange = std::move(reply.exchange_);
    const auto columns = exchange.reply.span();
    const std::size_t rows = products.cols();
    require(exchange.session == session_, "CharlieColumns: a reply to another session");
    require(products.rows() == exchange.masks.size() && products.size() == columns.size(),
            "CharlieColumns: the shape of the products");
    for (std::size_t c = 0; c < products.rows(); ++c) {
        auto& spent = exchange.masks[c];
        kernels::active().of<P>().unmask(columns.data() + c * rows, spent.cancellation.data(), rows,
                                         products.row(c).data());
        supply_->recycle(exchange.header.group, std::move(spent));  // MASK-6: wiped there
    }
    exchange.masks.clear();
    spare_ = std::move(exchange);
}

template <class P>
void CharlieColumns<P>::wipe_secrets() noexcept {
    masks_.clear();
    if (supply_) supply_->destroy();
    checks_.clear();
}

template class CharlieColumns<P31>;

}  // namespace slip::protocol

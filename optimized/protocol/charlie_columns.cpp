#include "optimized/protocol/charlie_columns.hpp"

#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/kernels/registry.hpp"

namespace slip::protocol {

using base::require;

namespace {

std::vector<base::ProductShape> shapes_of(const kernels::OffloadedWeights& weights) {
    std::vector<base::ProductShape> shapes;
    for (const kernels::GroupWeights& group : weights) shapes.push_back(group.shape());
    return shapes;
}

}  // namespace

template <class P>
CharlieColumns<P>::CharlieColumns(const kernels::OffloadedWeights& weights, KeyStream& keys,
                                  std::shared_ptr<TakenPair> pair)
    : weights_(weights),
      shapes_(pair ? pair->pair().subject().groups : shapes_of(weights)),
      keys_(keys),
      pair_(std::move(pair)) {
    require(weights.empty() || shapes_ == shapes_of(weights),
            "CharlieSession: a pair of another artifact");
    checks_.reserve(shapes_.size());
    at_reject_.emplace(life(), [this] {
        for (IntegrityCheck<P>& check : checks_) check.destroy();
    });
    for (const base::ProductShape& shape : shapes_) {
        require(shape.inputs() > 0 && shape.outputs() > 0 && columns_that_fit<P>(shape) > 0,
                "CharlieSession: no column of a group fits a message");
    }
    if (pair_) {
        take_checks_of_pair();
        return;
    }
    for (base::GroupId group = 0; group < shapes_.size(); ++group) {
        checks_.emplace_back(weights[group], group, keys, own_life_);
    }
}

/// A reject in another session of the pair destroys them at any time from now on.
template <class P>
void CharlieColumns<P>::take_checks_of_pair() {
    const bool lasts = life().while_it_lasts([&] {
        base::GroupId group = 0;
        for (CheckVectors<P>& vectors : pair_->pair().template vectors<P>()) {
            checks_.emplace_back(shapes_[group], group, std::move(vectors), life());
            ++group;
        }
    });
    if (!lasts) throw IntegrityError("an answer that these check vectors judged was wrong");
}

template <class P>
void CharlieColumns<P>::open_stock(const Digest& digest, const std::string& david,
                                   RejectLimiter* limiter, const PoolOptions& pool,
                                   const OfflineOptions& options) {
    const OfflineContext<P> context{shapes_, checks_, life(), keys_, digest, david, limiter};
    supply_ = std::make_unique<OfflineStock<P>>(context, pool, options);
}

/// MASK-1 and MASK-5: x~ = q + r for every column, uniform whatever q is, because r -> x~ is a
/// bijection (MASK-2). A mask r is spent here and wiped as soon as its column is formed (MASK-6);
/// its cancellation goes with the message until the reply is unmasked.
template <class P>
Sent<P> CharlieColumns<P>::mask(const wire::ColumnsHeader& header,
                                base::MatrixView<const std::int16_t> activations) {
    const std::size_t n = activations.cols();
    supply_->take(header.group, activations.rows(), masks_);
    multiplications_ +=
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
auto CharlieColumns<P>::check(Answered<P>&& answered, const Answerer& david)
    -> std::optional<CheckedReply> {
    require(answered.group() < checks_.size(), "CharlieColumns: the session is over");
    const IntegrityCheck<P>& check = checks_[answered.group()];
    return check.check(std::move(answered), david);
}

template <class P>
void CharlieColumns<P>::unmask(CheckedReply&& reply,
                               base::MatrixView<typename P::Product> products) {
    require(!checks_.empty(), "CharlieColumns: the session is over");
    Exchange<P> exchange = std::move(reply).spend(life()).exchange_;
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
    own_life_.end();
    masks_.clear();
    if (supply_) supply_->destroy();
    at_reject_.reset();
    checks_.clear();
    pair_.reset();  // returned, unless a reject has deleted it
}

template class CharlieColumns<P31>;
template class CharlieColumns<P61>;

}  // namespace slip::protocol

#include "optimized/protocol/residue_exchange.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/kernels/registry.hpp"
#include "optimized/masks/lattice_supply.hpp"
#include "optimized/masks/noise.hpp"

namespace slip::protocol {

using base::require;

namespace {

/// 1, 2, 3, ...: a new number at each call in a process.
std::uint64_t unique_number() {
    static std::atomic<std::uint64_t> last = 0;
    return ++last;
}

}  // namespace

ResidueExchange::ResidueExchange(const kernels::OffloadedWeights& weights,
                                 const IntegrityCheck& check, masks::Keystream& keys,
                                 const SharedSecrets& shared)
    : weights_(weights),
      reply_check_(check),
      keys_(keys),
      shared_(shared),
      session_(unique_number()) {
    if (shared.secrets != nullptr) workspace_.emplace(shared.secrets->workspace());
    require((shared.stock == nullptr) == (shared.product_check == nullptr),
            "ResidueExchange: lattice masks need the check of products");
    const bool has_weights = !weights.empty();
    require(!has_weights || weights.size() == shapes().size(),
            "ResidueExchange: the check is of another model");
    for (base::GroupId group = 0; group < shapes().size(); ++group) {
        const base::ProductShape& shape = shapes()[group];
        require(has_weights || has_lattice_masks(group),
                "ResidueExchange: uniform masks need the weights");
        require(!has_weights || weights[group].shape() == shape,
                "ResidueExchange: the check is of another model");
        require(shape.inputs() > 0 && shape.outputs() > 0 && columns_that_fit(shape, planes()) > 0,
                "ResidueExchange: no column of a group fits a message");
    }
}

void ResidueExchange::open_stock(const masks::StockOptions& options) {
    const auto is_uniform = [&](base::GroupId group) { return !has_lattice_masks(group); };
    std::unique_ptr<masks::CancellationStock> uniform;
    bool any_uniform = false;
    for (base::GroupId g = 0; g < shapes().size(); ++g) any_uniform = any_uniform || is_uniform(g);
    if (any_uniform) {
        uniform = std::make_unique<masks::CancellationStock>(weights_, planes(), keys_, options,
                                                             is_uniform);
    }
    if (shared_.stock == nullptr) {
        supply_ = std::move(uniform);
    } else {
        supply_ = std::make_unique<masks::LatticeSupply>(*shared_.stock, std::move(uniform));
    }
}

/// MASK-1 and MASK-5: x~ = q + r for every column. For uniform masks it is uniform whatever q is,
/// because r -> x~ is a bijection (MASK-2). A mask r is spent here and wiped as soon as its column
/// is formed (MASK-6); its cancellation goes with the message until the reply is unmasked.
Sent ResidueExchange::mask(base::GroupId group, const wire::ColumnsHeader& header,
                           base::MatrixView<const std::int16_t> activations) {
    const std::size_t n = activations.cols();
    {
        const base::WorkClock::Pause taking(clock_);
        supply_->take(group, activations.rows(), masks_);
    }
    const std::uint64_t per_mask = supply_->multiplications_per_mask(group, shapes()[group]);
    supply_multiplications_ += activations.rows() * per_mask;
    Exchange exchange = std::move(spare_);
    exchange.session = session_;
    exchange.group = group;
    exchange.header = header;
    const auto columns = wire::begin_columns(
        wire::FrameType::apply, header,
        exchange.apply.resize(wire::columns_frame_bytes(planes() * activations.size())));
    for (std::size_t c = 0; c < activations.rows(); ++c) {
        auto& spent = exchange.masks.emplace_back(std::move(masks_[c]).spend());
        kernels::active().mask(activations.row(c).data(), spent.mask.data(), n, planes(),
                               columns.data() + c * planes() * n);
        spent.mask.clear();  // MASK-6
        if (has_lattice_masks(group)) {
            exchange.expected.push_back(
                shared_.product_check->expected(group, activations.row(c)));  // MASK-10
        }
    }
    masks_.clear();
    return Sent(std::move(exchange));
}

Replied ResidueExchange::decode_reply(Sent&& sent, std::span<const std::byte> payload) const {
    const wire::ColumnsHeader header = sent.header();
    if (wire::decode_columns_header(wire::FrameType::reply, payload) != header) {
        throw ProtocolError("REPLY: sequence, group or columns are not those of the APPLY");
    }
    const auto reply =
        wire::decode_residues(payload, header, planes(), shapes()[sent.group()].outputs());
    Exchange exchange = std::move(sent.exchange_);
    std::copy(reply.begin(), reply.end(), exchange.reply.resize(reply.size()).begin());
    return Replied(std::move(exchange));
}

std::optional<Checked> ResidueExchange::check(Replied&& replied) {
    require(!over_, "ResidueExchange: the session is over");
    auto checked = reply_check_.check(std::move(replied));
    if (!checked) wipe_secrets();  // INTEG-6
    return checked;
}

void ResidueExchange::unmask(Checked&& reply, base::MatrixView<std::int64_t> products) {
    require(!over_, "ResidueExchange: the session is over");
    Exchange exchange = std::move(reply.exchange_);
    const auto columns = exchange.reply.span();
    const base::GroupId group = exchange.group;
    require(exchange.session == session_, "ResidueExchange: a reply to another session");
    require(products.rows() == exchange.masks.size() && products.cols() == outputs(group),
            "ResidueExchange: the shape of the products");
    const std::size_t bytes = columns.size() / products.rows();
    for (std::size_t c = 0; c < products.rows(); ++c) {
        auto& spent = exchange.masks[c];
        unmask_column(group, columns.subspan(c * bytes, bytes), spent.cancellation.span(),
                      products.row(c));
        if (has_lattice_masks(group)) {
            require_sound_product(group, exchange.expected[c], products.row(c));
        }
        supply_->recycle(group, std::move(spent));  // MASK-6: wiped there
    }
    exchange.masks.clear();
    exchange.expected.clear();
    spare_ = std::move(exchange);
}

std::size_t ResidueExchange::outputs(base::GroupId group) const {
    return has_lattice_masks(group) ? shared_.stock->shape(group).outputs()
                                    : shapes()[group].outputs();
}

/// MASK-4, MASK-8; HIDE-4 and HIDE-5 for a hidden matrix.
void ResidueExchange::unmask_column(base::GroupId group, std::span<const std::uint8_t> reply,
                                    std::span<const std::uint8_t> cancellation,
                                    std::span<std::int64_t> product) {
    if (shared_.secrets != nullptr) {
        return shared_.secrets->products(group, reply, cancellation, *workspace_, product);
    }
    kernels::active().unmask(reply.data(), cancellation.data(), product.size(), planes(),
                             product.data());
    if (has_lattice_masks(group)) {
        masks::reduce_modulo_tau(product, shared_.stock->set().lattice->tau_bits);
    }
}

/// MASK-10. David's reply was right, so what is wrong is H, which has digests, or T, a transform or
/// memory.
void ResidueExchange::require_sound_product(base::GroupId group, std::uint64_t expected,
                                            std::span<const std::int64_t> product) {
    if (shared_.product_check->holds(expected, product)) return;
    wipe_secrets();
    shared_.stock->require_hint(group);
    throw InternalError(
        "a product does not pass Charlie's own check: his artifact or his memory is damaged "
        "(David's reply was right)");
}

void ResidueExchange::wipe_secrets() noexcept {
    over_ = true;
    masks_.clear();
    if (supply_) supply_->destroy();
}

}  // namespace slip::protocol

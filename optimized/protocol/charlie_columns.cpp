#include "optimized/protocol/charlie_columns.hpp"

#include <type_traits>
#include <utility>
#include <vector>

#include "optimized/base/error.hpp"
#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/registry.hpp"
#include "optimized/protocol/growing_buffer.hpp"
#include "optimized/protocol/integrity.hpp"

namespace slip {
namespace {

template <class P>
class ColumnsOf : public CharlieColumns {
public:
    using Residue = typename P::Residue;

    ColumnsOf(const OffloadedWeights& weights, KeyStream& keys) : weights_(weights), keys_(keys) {
        checks_.reserve(weights.size());
        for (std::uint32_t group = 0; group < weights.size(); ++group) {
            const GroupWeights& w = weights[group];
            require(w.inputs() > 0 && w.outputs() > 0 &&
                        columns_that_fit(profile_of<P>, w.inputs(), w.outputs()) > 0,
                    "CharlieSession: no column of a group fits a message");
            checks_.emplace_back(w, group, keys);
        }
    }

    Profile profile() const override { return profile_of<P>; }

    void open_pool(const PoolOptions& options) override {
        pool_ = std::make_unique<CancellationPool<P>>(weights_, keys_, options);
    }
    void wait_until_ready(std::size_t count) override { pool_->wait_until_ready(count); }
    double offline_seconds() const override { return pool_ ? pool_->offline_seconds() : 0; }
    double late_seconds() const override { return pool_ ? pool_->late_seconds() : 0; }

    std::span<const std::byte> mask(const wire::ColumnsHeader& header,
                                    MatrixView<const std::int16_t> activations) override;
    void decode_reply(std::span<const std::byte> payload,
                      const wire::ColumnsHeader& header) override;
    bool accepts_reply(const wire::ColumnsHeader& header) const override;
    void unmask(MatrixView<P31::Product> products) override { unmask_columns(products); }
    void unmask(MatrixView<P61::Product> products) override { unmask_columns(products); }
    void wipe_secrets() noexcept override;

private:
    template <class Product>
    void unmask_columns(MatrixView<Product> products);

    const OffloadedWeights& weights_;
    KeyStream& keys_;
    std::vector<IntegrityCheck<P>> checks_;  // a group
    std::unique_ptr<CancellationPool<P>> pool_;
    std::vector<Mask<P>> masks_;
    // Of the outstanding APPLY; of the masks only the memory is left.
    std::uint32_t group_ = 0;
    std::vector<typename Mask<P>::Spent> spent_;
    // As large as the largest message so far.
    std::vector<Residue> masked_;
    std::vector<Residue> reply_;
    std::vector<std::byte> frame_;
};

/// MASK-1 and MASK-5: x~ = q + r for every column, uniform whatever q is, because r -> x~ is a
/// bijection (MASK-2). A mask r is spent here and wiped as soon as its column is formed (MASK-6);
/// its cancellation stays until the reply is unmasked.
template <class P>
std::span<const std::byte> ColumnsOf<P>::mask(const wire::ColumnsHeader& header,
                                              MatrixView<const std::int16_t> activations) {
    const std::size_t n = activations.cols();
    pool_->take(header.group, activations.rows(), masks_);
    const auto columns = first_of(masked_, activations.size());
    group_ = header.group;
    spent_.clear();
    for (std::size_t c = 0; c < activations.rows(); ++c) {
        auto& spent = spent_.emplace_back(std::move(masks_[c]).spend());
        kernels::active().of<P>().mask(activations.row(c).data(), spent.mask.data(), n,
                                       columns.data() + c * n);
        spent.mask.clear();  // MASK-6
    }
    masks_.clear();
    const auto frame = first_of(frame_, wire::columns_frame_bytes(columns.size_bytes()));
    wire::encode_columns(wire::FrameType::apply, header, columns, frame);
    return frame;
}

template <class P>
void ColumnsOf<P>::decode_reply(std::span<const std::byte> payload,
                                const wire::ColumnsHeader& header) {
    const std::size_t rows = weights_[header.group].outputs();
    wire::decode_residues(payload, header, rows, first_of(reply_, header.columns * rows));
}

template <class P>
bool ColumnsOf<P>::accepts_reply(const wire::ColumnsHeader& header) const {
    const GroupWeights& w = weights_[header.group];
    return checks_[header.group].accepts(std::span(masked_).first(header.columns * w.inputs()),
                                         std::span(reply_).first(header.columns * w.outputs()));
}

template <class P>
template <class Product>
void ColumnsOf<P>::unmask_columns(MatrixView<Product> products) {
    if constexpr (std::is_same_v<Product, typename P::Product>) {
        const std::size_t rows = products.cols();
        for (std::size_t c = 0; c < products.rows(); ++c) {
            kernels::active().of<P>().unmask(reply_.data() + c * rows,
                                             spent_[c].cancellation.data(), rows,
                                             products.row(c).data());
            pool_->recycle(group_, std::move(spent_[c]));  // MASK-6: wiped there
        }
        spent_.clear();
    } else {
        throw InternalError("CharlieSession::receive: the products are of the other profile");
    }
}

template <class P>
void ColumnsOf<P>::wipe_secrets() noexcept {
    masks_.clear();
    spent_.clear();
    if (pool_) pool_->destroy();
    checks_.clear();
}

}  // namespace

std::unique_ptr<CharlieColumns> CharlieColumns::make(Profile profile,
                                                     const OffloadedWeights& weights,
                                                     KeyStream& keys) {
    return with_profile(profile, [&](auto p) -> std::unique_ptr<CharlieColumns> {
        return std::make_unique<ColumnsOf<decltype(p)>>(weights, keys);
    });
}

}  // namespace slip

// One bit of H flips, on a disk or in memory: David's reply is right, the cancellation is not, and
// the product is wrong. Charlie's check of his own products is what notices (MASK-10).
#include "experiments/attacks/hidden_matrix.hpp"
#include "experiments/attacks/product_check.hpp"
#include "experiments/attacks/runs.hpp"
#include "optimized/kernels/registry.hpp"
#include "optimized/masks/lattice_stock.hpp"
#include "optimized/secrets/product_check.hpp"

namespace slip::attacks {
namespace {

using Eigen::Index;

/// A group of a hidden model whose hint has one wrong bit, served message by message.
class DamagedGroup {
public:
    DamagedGroup(const HiddenMatrix& hidden, std::size_t bit)
        : hidden_(hidden),
          hint_(hidden.hint()),
          weights_(hidden.davids_weights()),
          secrets_(hidden_set(), keys(), std::span(&shape_, 1)),
          check_(hidden.check_secret(), hidden.m()) {
        hint_[bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
        masks::LatticeOptions options;
        options.ahead = false;
        stock_ = std::make_unique<masks::LatticeStock>(
            hidden_set(), hidden.seed(),
            std::vector<masks::LatticeGroup>{{.shape = shape_, .hint = hint_, .require_hint = {}}},
            options);
    }

    struct Verdict {
        bool wrong = false, noticed = false;
    };
    Verdict serve(std::span<const std::int16_t> q) {
        const std::size_t h = hidden_set().planes;
        std::vector<masks::Mask> masks;
        stock_->take(0, 1, masks);
        const auto spent = std::move(masks.front()).spend();
        std::vector<std::uint8_t> sent(h * hidden_.n()), reply(h * weights_.shape().outputs());
        kernels::active().mask(q.data(), spent.mask.data(), hidden_.n(), h, sent.data());
        weights_.apply(sent, reply, h);
        std::vector<std::int64_t> product(hidden_.m());
        auto workspace = secrets_.workspace();
        secrets_.products(0, reply, spent.cancellation.span(), workspace, product);
        return {product != right(q), !check_.holds(check_.expected(0, q), product)};
    }

private:
    std::vector<std::span<const std::uint8_t>> keys() const { return {hidden_.key()}; }
    std::vector<std::int64_t> right(std::span<const std::int16_t> q) const {
        std::vector<std::int64_t> product(hidden_.m(), 0);
        for (std::size_t i = 0; i < product.size(); ++i) {
            const auto row = hidden_.integer_row(i);
            for (std::size_t j = 0; j < q.size(); ++j) product[i] += std::int64_t{row[j]} * q[j];
        }
        return product;
    }

    const HiddenMatrix& hidden_;
    const base::ProductShape shape_ = hidden_.shape();
    std::vector<std::uint8_t> hint_;
    kernels::GroupWeights weights_;
    secrets::WeightSecrets secrets_;
    secrets::ProductCheck check_;
    std::unique_ptr<masks::LatticeStock> stock_;
};

/// The share of wrong products that are noticed, of one message under each of some flipped bits.
Outcome flipped_bits(const Setting& setting, bool checked) {
    const HiddenMatrix hidden = hidden_o_proj(setting);
    std::mt19937_64 random(setting.seed);
    const Eigen::MatrixXi inputs = scaled_inputs(setting, 0, 8);
    const std::uint64_t bits = setting.full ? 200 : 12;
    std::uint64_t wrong = 0, noticed = 0;
    for (std::uint64_t i = 0; i < bits; ++i) {
        DamagedGroup group(hidden, random() % (8 * hidden.hint().size()));
        const Eigen::Matrix<std::int16_t, Eigen::Dynamic, 1> q =
            inputs.col(static_cast<Index>(i) % inputs.cols()).cast<std::int16_t>();
        const auto verdict = group.serve({q.data(), static_cast<std::size_t>(q.size())});
        wrong += verdict.wrong;
        noticed += verdict.wrong && checked && verdict.noticed;
        if (!verdict.wrong && verdict.noticed) throw std::logic_error("a right product is refused");
    }
    return {wrong == 0 ? 1 : static_cast<double>(noticed) / static_cast<double>(wrong), 0.5, bits,
            std::to_string(wrong) + " of " + std::to_string(bits) +
                " flipped bits make a wrong product, " + std::to_string(noticed) + " are noticed"};
}

}  // namespace

Outcome wrong_hint_twin(const Setting& setting) { return flipped_bits(setting, false); }
Outcome wrong_hint_hidden(const Setting& setting) { return flipped_bits(setting, true); }

}  // namespace slip::attacks

// A matrix of the model as the hidden split has it (HIDE-1).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "experiments/attacks/lattice_messages.hpp"
#include "experiments/attacks/split_matrix.hpp"
#include "optimized/base/hidden_widths.hpp"
#include "optimized/secrets/weight_secrets.hpp"
#include "optimized/split/hidden_matrix.hpp"

namespace slip::attacks {

/// A matrix as the owner hides it, and the E that he drew.
class HiddenMatrix {
public:
    HiddenMatrix(const RowMajor& W, std::mt19937_64& random)
        : model_{.n = static_cast<std::size_t>(W.cols()), .entries = {}, .row_scale = {}} {
        model_.append(view_of(W));
        seed_ = drawn_bytes<masks::PublicMatrix::Seed>(random);
        const auto secret = drawn_bytes<std::array<std::uint8_t, 32>>(random);
        common_ = std::make_unique<splitting::PublicOfWidth>(hidden_set(), seed_, n());
        check_seed_ = drawn_bytes<std::array<std::uint8_t, 32>>(random);
        key_ = splitting::hiding_key(hidden_set(), secret, seed_, 0, model_);
        A_.resize(hidden_set().planes * m() * n());
        companions_ = splitting::hide(
            *common_, model_, key_.span(), check_seed_, 1, [&](const splitting::HiddenRows& rows) {
                for (std::size_t p = 0; p < hidden_set().planes; ++p) {
                    std::copy_n(rows.davids.data() + p * rows.count * n(), rows.count * n(),
                                A_.data() + (p * m() + rows.first) * n());
                }
                hint_.insert(hint_.end(), rows.hint.span().begin(), rows.hint.span().end());
            });
        secrets::WeightStreams streams(hidden_set(), key_.span());
        E_.resize(m() * n());
        for (std::size_t i = 0; i < m(); ++i) {
            streams.weight_error(i, std::span(E_).subspan(i * n(), n()));
        }
    }

    std::size_t m() const { return model_.rows(); }
    std::size_t n() const { return model_.n; }
    std::span<const std::int16_t> integer_row(std::size_t i) const { return model_.view().row(i); }
    std::span<const std::int8_t> noise_row(std::size_t i) const {
        return std::span(E_).subspan(i * n(), n());
    }
    std::span<const std::int8_t> davids_row(std::size_t i, std::size_t p) const {
        return std::span(A_).subspan((p * m() + i) * n(), n());
    }
    std::span<const std::int8_t> public_row(std::size_t l, std::size_t p) const {
        return common_->plane(p).row(l);
    }
    /// W_t, as David multiplies by it.
    kernels::GroupWeights davids_weights() const {
        std::vector<kernels::WeightMatrix> a, u;
        for (std::size_t p = 0; p < hidden_set().planes; ++p) {
            a.emplace_back(A_.data() + p * m() * n(), m(), n());
            u.emplace_back(common_->plane(p));
        }
        return {kernels::PlanarMatrix(std::move(a)), kernels::PlanarMatrix(std::move(u))};
    }
    /// The secret of the check of a model that has this matrix alone.
    base::CheckSecret check_secret() const {
        const auto* product = reinterpret_cast<const std::uint8_t*>(companions_.product.data());
        return {check_seed_,
                {companions_.check.span()},
                {{product, companions_.product.size() * sizeof(std::uint64_t)}}};
    }
    base::ProductShape shape() const { return {m(), n()}; }
    std::span<const std::uint8_t> key() const { return key_.span(); }
    const std::vector<std::uint8_t>& hint() const { return hint_; }
    const masks::PublicMatrix::Seed& seed() const { return seed_; }
    std::int64_t tau() const { return static_cast<std::int64_t>(base::tau_at(hidden_set(), n())); }

private:
    splitting::HiddenModel model_;
    std::unique_ptr<splitting::PublicOfWidth> common_;
    std::array<std::uint8_t, 32> check_seed_{};
    splitting::HiddenCompanions companions_;
    masks::PublicMatrix::Seed seed_{};
    base::SecretBuffer<std::uint8_t> key_;
    std::vector<std::uint8_t> hint_;
    std::vector<std::int8_t> A_, E_;
};

}  // namespace slip::attacks

#include "experiments/attacks/weakened_engine.hpp"

#include <utility>

#include "optimized/kernels/registry.hpp"

namespace slip::attacks {
namespace {

using base::MatrixView;

/// sum_j w[j] q[j] over Z.
std::int64_t product(std::span<const std::int16_t> w, std::span<const std::int16_t> q) {
    std::int64_t sum = 0;
    for (std::size_t j = 0; j < w.size(); ++j) sum += std::int64_t{w[j]} * q[j];
    return sum;
}

/// The same. 128 products of 8 and 16 bits add up to less than 2^31, so that vectors can be used.
std::int64_t product(std::span<const std::int8_t> w, std::span<const std::int16_t> q) {
    constexpr std::size_t at_once = 128;
    std::int64_t sum = 0;
    for (std::size_t first = 0; first < w.size(); first += at_once) {
        const std::size_t end = std::min(first + at_once, w.size());
        std::int32_t part = 0;
        for (std::size_t j = first; j < end; ++j) part += std::int32_t{w[j]} * q[j];
        sum += part;
    }
    return sum;
}

/// x mod L in -(L - 1) / 2 .. (L - 1) / 2, for an odd L.
std::int64_t centred(std::int64_t x, std::int64_t L) {
    const std::int64_t residue = ((x % L) + L) % L;
    return residue > L / 2 ? residue - L : residue;
}

/// A (B q), as Charlie computes it.
std::vector<std::int64_t> low_rank(const artifact::CharlieMember& member,
                                   std::span<const std::int16_t> q) {
    std::vector<std::int64_t> z(member.rank);
    for (std::size_t c = 0; c < member.rank; ++c) z[c] = product(member.b.row(c), q);
    std::vector<std::int64_t> y(member.shape.m, 0);
    for (std::size_t i = 0; i < y.size(); ++i) {
        for (std::size_t c = 0; c < member.rank; ++c) y[i] += member.a(i, c) * z[c];
    }
    return y;
}

}  // namespace

WeakenedEngine::WeakenedEngine(const Victim& victim, Weakened rules)
    : victim_(victim), rules_(std::move(rules)) {}

void WeakenedEngine::show(base::GroupId group, const engines::QuantisedColumns& columns) {
    const auto values = columns.values();
    Message message{group, values.rows(), {}, std::vector<float>(values.rows(), 1)};
    std::vector<std::uint64_t> mask(values.cols(), 0);
    for (std::size_t c = 0; c < values.rows(); ++c) {
        if (rules_.mask) {
            rules_.mask(group, mask);
        } else {
            message.scales[c] = columns.scale(c);
        }
        for (std::size_t j = 0; j < values.cols(); ++j) {
            message.residues.push_back(
                embed(values.row(c)[j] + static_cast<std::int64_t>(mask[j])));
        }
    }
    message.arrived = Clock::now();
    view_.push_back(std::move(message));
}

void WeakenedEngine::apply(base::GroupId group, MatrixView<const float> input,
                           std::span<const MatrixView<float>> outputs) {
    artifact::CharlieGroup own = victim_.charlie().groups()[group];
    own.activation_norm = rules_.activation_norm;
    const kernels::GroupWeights& W_D = victim_.weights()[group];
    engines::QuantisedColumns columns;
    columns.assign(own, input);
    show(group, columns);
    std::vector<std::int64_t> error(W_D.rows(), 0);
    for (std::size_t c = 0; c < input.rows(); ++c) {
        const auto q = columns.values().row(c);
        std::fill(error.begin(), error.end(), 0);
        if (rules_.tamper) rules_.tamper(group, error);
        std::size_t row = 0;
        for (std::size_t i = 0; i < own.members.size(); ++i) {
            std::vector<std::int64_t> y = low_rank(own.members[i], q);
            for (std::size_t of_member = 0; of_member < y.size(); ++of_member, ++row) {
                const std::int64_t y_D =
                    centred(product(W_D.row(row), q) + error[row], rules_.modulus);
                y[of_member] += 65536 * y_D;
            }
            kernels::active().dequantise(y.data(), own.members[i].row_scale.data(),
                                         columns.scale(c), y.size(), outputs[i].row(c).data());
        }
    }
    view_.back().answered = Clock::now();
}

}  // namespace slip::attacks

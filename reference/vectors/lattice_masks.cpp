#include "reference/vectors/lattice_masks.hpp"

#include <utility>

#include "reference/error.hpp"

namespace slip::reference::vectors {

namespace {

/// The set with what depends on the width, if anything does (HIDE-2).
ParameterSet set_of_width(const ParameterSet& set, std::size_t n) {
    return set.hides_weights ? at_width(set, n) : set;
}

}  // namespace

std::vector<DrawnMask> drawn_block(const ParameterSet& set, const Key& public_seed, const Key& key,
                                   std::uint64_t block, const Matrix& W_D) {
    const NegacyclicRing R(set.ring(), set.lattice->N);
    const RingMatrix T = public_matrix(set, public_seed, W_D.cols());
    const RingMatrix H = multiply(R, W_D, T);
    const std::vector<RingElement> HS = multiply(R, H, block_secret(set, key, block));
    std::vector<DrawnMask> drawn;
    for (OneTimeMask& mask : lattice_block(set, T, H, key, block)) {
        const std::size_t i = drawn.size();
        drawn.push_back(
            {mask.index(), mask.mask(set.ring(), Vector(W_D.cols(), 0)), coefficient(HS, i)});
        require(mask.unmask(set.ring(), drawn.back().c) == Vector(W_D.rows(), 0),
                "the cancellation is that of the mask");
    }
    return drawn;
}

DrawnMasks::DrawnMasks(const ParameterSet& set, const Key& public_seed, const Key& key,
                       const std::vector<Matrix>& weights,
                       const std::vector<PlannedMessage>& schedule)
    : schedule_(schedule) {
    const std::uint64_t N = set.lattice->N;
    for (const Matrix& W_D : weights) {
        const ParameterSet at = set_of_width(set, W_D.cols());
        noise_.push_back(at.width ? Noise(*at.width) : Noise(at.lattice->tau));
    }
    std::map<std::uint64_t, std::vector<DrawnMask>> blocks;
    for (auto& [group, masks] : prepare_lattice_masks(set, key, public_seed, weights, schedule)) {
        for (const OneTimeMask& mask : masks) {
            const std::uint64_t block = mask.index() / N;
            if (!blocks.contains(block)) {
                const Matrix& W_D = weights[group];
                blocks[block] =
                    drawn_block(set_of_width(set, W_D.cols()), public_seed, key, block, W_D);
            }
            masks_[group].push_back(blocks[block].at(mask.index() % N));
        }
    }
}

std::vector<Vector> DrawnMasks::indices() const {
    std::map<std::uint32_t, std::size_t> used;
    std::vector<Vector> result;
    for (const PlannedMessage& message : schedule_) {
        result.emplace_back();
        for (std::size_t t = 0; t < message.columns; ++t) {
            result.back().push_back(masks_.at(message.group)[used[message.group]++].index);
        }
    }
    return result;
}

Masks DrawnMasks::again() const {
    Masks masks;
    for (const auto& [group, drawn] : masks_) {
        for (const auto& [index, r, c] : drawn)
            masks[group].emplace_back(index, r, c, noise_.at(group));
    }
    return masks;
}

}  // namespace slip::reference::vectors

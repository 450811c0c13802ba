// INSECURE. The twin: Charlie's part of the protocol with rules left out. It computes the same
// integer model as the product; what it sends is masked by a rule of the attack's choice or not at
// all, and replies are not checked.
#pragma once

#include <algorithm>

#include "experiments/attacks/victim.hpp"
#include "optimized/engines/quantised_columns.hpp"

namespace slip::attacks {

/// What replaces the product's rules.
struct Weakened {
    /// Fills the mask of one column of a message to `group`. Null: messages are not masked, and
    /// the scale of each column goes with them.
    std::function<void(base::GroupId group, std::span<std::uint64_t> mask)> mask = {};
    /// David's error in each column's reply, which nobody checks.
    Tamper tamper = {};
    /// Products are recovered mod this number, which may be too small for them.
    std::int64_t modulus = attacks::modulus;
    /// Activations are quantised to this norm. That of the set, a seventh of the largest, leaves
    /// room for the noise of lattice masks, which a protocol without masks has no use for.
    std::int32_t activation_norm = paper_set.lattice->activation_norm;
};

/// A mask of zeros: the view is the activations, in the integers that the product masks.
inline void no_mask(base::GroupId, std::span<std::uint64_t> mask) {
    std::fill(mask.begin(), mask.end(), 0);
}

class WeakenedEngine : public base::Engine {
public:
    /// `victim` outlives the engine.
    WeakenedEngine(const Victim& victim, Weakened rules);
    void apply(base::GroupId group, base::MatrixView<const float> input,
               std::span<const base::MatrixView<float>> outputs) override;

    const View& view() const { return view_; }

private:
    void show(base::GroupId group, const engines::QuantisedColumns& columns);

    const Victim& victim_;
    Weakened rules_;
    View view_;
};

}  // namespace slip::attacks

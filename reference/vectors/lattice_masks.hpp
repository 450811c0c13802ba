// Masks of lattice blocks with their residues, for the cases that state or use them.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "reference/lattice.hpp"
#include "reference/session.hpp"

namespace slip::reference::vectors {

/// MASK-7. A mask of a block as it is: its residues, and the exact cancellation.
struct DrawnMask {
    std::uint64_t index;
    Vector r, c;
};

/// The masks of a block for a group of this W_D, or W' + tau E; `public_seed` is that of T.
std::vector<DrawnMask> drawn_block(const ParameterSet& set, const Key& public_seed, const Key& key,
                                   std::uint64_t block, const Matrix& W_D);

/// The masks of a schedule by group, in order of use, drawn once and handed out as often as a
/// session with the same frames is repeated.
class DrawnMasks {
public:
    DrawnMasks(const ParameterSet& set, const Key& public_seed, const Key& key,
               const std::vector<Matrix>& weights, const std::vector<PlannedMessage>& schedule);

    /// The mask indices of the messages of the schedule.
    std::vector<Vector> indices() const;

    Masks again() const;

private:
    std::vector<Noise> noise_;  ///< by group
    std::vector<PlannedMessage> schedule_;
    std::map<std::uint32_t, std::vector<DrawnMask>> masks_;
};

}  // namespace slip::reference::vectors

#include "optimized/masks/mask.hpp"

#include <utility>

#include "optimized/base/error.hpp"

namespace slip::masks {

using base::require;

Mask::Mask(std::uint64_t index, Residues mask, Residues cancellation)
    : index_(index), mask_(std::move(mask)), cancellation_(std::move(cancellation)) {
    require(spendable(), "Mask: a mask has at least one residue");
}

Mask::Spent Mask::spend() && {  // MASK-5
    require(spendable(), "a mask was used a second time");
    return {index_, std::move(mask_), std::move(cancellation_)};
}

}  // namespace slip::masks

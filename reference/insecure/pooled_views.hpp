// INSECURE, for demonstration only: what someone learns who holds the views of both Davids, or is
// both of them.
#pragma once

#include <optional>
#include <vector>

#include "reference/session.hpp"
#include "reference/wire.hpp"

namespace slip::reference::insecure {

/// The activation of one column, read off both views.
struct Unmasked {
    std::uint32_t group;
    Vector q;

    friend bool operator==(const Unmasked&, const Unmasked&) = default;
};

/// OFF-12. The attack. David's view gives the columns x~ of each APPLY, the offline David's view
/// the key and the indices of each REQUEST. For every column and every index of its group,
///
///     lift(x~ - r mod L)
///
/// is tried; it is q for the right index, and has an entry beyond `qa_max` for a wrong one, except
/// with probability ((2 qa_max + 1) / L)^n. A column that no index fits is left out.
///
/// @param davids   every frame that David received
/// @param offline  every frame that the offline David received
std::vector<Unmasked> pooled_activations(const Shapes& shapes, const std::vector<Bytes>& davids,
                                         const std::vector<Bytes>& offline, const Integer& qa_max);

}  // namespace slip::reference::insecure

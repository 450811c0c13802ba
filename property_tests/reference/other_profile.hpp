// A profile of no protocol version: the reference takes any modulus and any width of a residue.
#pragma once

#include "reference/parameters.hpp"

namespace slip::reference {

/// L = 2^56 - 5, a prime; seven bytes, kappa = 2.
inline Profile other_profile() { return {9, (Integer(1) << 56) - 5, 7, 2}; }

}  // namespace slip::reference

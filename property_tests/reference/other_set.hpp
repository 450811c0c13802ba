// A set of no protocol version: the reference takes any primes and any number of combinations.
#pragma once

#include "reference/parameters.hpp"

namespace slip::reference {

/// All seven primes of RING-5, two combinations.
inline ParameterSet other_set() { return {"other", 9, Planes(all_primes), 2}; }

}  // namespace slip::reference

// What runs of a model have cost.
#pragma once

#include <cstdint>

namespace slip {

/// What a model's runs have cost so far. What does not apply, such as rounds where there is no
/// protocol, is 0.
struct RunStatistics {
    std::uint64_t rounds = 0;
    std::uint64_t bytes_up = 0;
    std::uint64_t bytes_down = 0;
    std::uint64_t checks = 0;  ///< replies that passed the integrity check (INTEG-3)
    double charlie_seconds = 0;
    double david_seconds = 0;  ///< in process: David's products; remote: Charlie's waiting
    double offline_seconds = 0;
    double setup_seconds = 0;
    std::uint64_t charlie_multiplications = 0;
    std::uint64_t david_multiplications = 0;
    std::uint64_t setup_multiplications = 0;  ///< kappa n M per group, for the check vectors
};

}  // namespace slip

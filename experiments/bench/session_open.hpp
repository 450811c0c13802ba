// Time to open a session with and without a prepared pair of check vectors.
#pragma once

#include <cstddef>
#include <filesystem>

#include "experiments/bench/measure.hpp"

namespace slip::bench {

/// Opens sessions over `artifact` with a David in this process, alternating between check vectors
/// that are computed for the session and a prepared pair from a state folder in the system's
/// temporary directory. Taking the pair includes reading it and flushing its new name to disk.
/// Masks and TLS are left out. The figure session_open is the time with a prepared pair over the
/// time without; rows have the seconds of both.
Report measure_session_open(const std::filesystem::path& artifact, std::size_t repetitions);

}  // namespace slip::bench

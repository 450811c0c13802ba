// What a prepared pair of check vectors saves when a session is opened.
#pragma once

#include <cstddef>
#include <filesystem>

#include "experiments/bench/measure.hpp"

namespace slip::bench {

/// Opens sessions over `artifact` with a David in this process, by turns with a pair that is
/// computed then and with one from a state folder in the system's folder for temporary files:
/// taken, which includes reading it and flushing its new name to disk. Masks and TLS are left out.
/// The figure session_open is the second by the first; rows have the seconds of both.
Report measure_session_open(const std::filesystem::path& artifact, std::size_t repetitions);

}  // namespace slip::bench

// What Charlie's process holds when an offline David computes the cancellations.
#pragma once

#include <cstddef>
#include <filesystem>

#include "experiments/bench/measure.hpp"

namespace slip::bench {

/// Tokens of the sequence; fewer where the model has no room for so many.
inline constexpr std::size_t context_of_memory = 512;

/// The resident set of a process that has opened a folder with OUT/charlie alone, by what the
/// library offers its users, with a prepared pair, D1 and D2 elsewhere, and all options as they are
/// by default, and has the context in its cache. Figures, in MiB: charlie_memory (VmRSS), of it
/// charlie_memory_own (what no file backs) and charlie_memory_files, which the system can take
/// back.
///
/// To be called while this process has one thread and little memory, which its children begin with.
Report measure_charlie_memory(const std::filesystem::path& artifact);

}  // namespace slip::bench

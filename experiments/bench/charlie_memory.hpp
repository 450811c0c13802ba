// Memory of Charlie's process with an offline David.
#pragma once

#include <cstddef>
#include <filesystem>

#include "experiments/bench/measure.hpp"

namespace slip::bench {

/// Tokens of the sequence; fewer if the context of the model is shorter.
inline constexpr std::size_t context_of_memory = 512;

/// The resident set of a process that has opened a folder with OUT/charlie alone through the public
/// interface, with a prepared pair, D1 and D2 in other processes, and default options, and has
/// filled its KV cache with the context. Figures, in MiB: charlie_memory (VmRSS), and its parts
/// charlie_memory_own (RssAnon) and charlie_memory_files (RssFile), which the kernel can reclaim.
///
/// Requires: this process has one thread, and little memory, since its children inherit it.
Report measure_charlie_memory(const std::filesystem::path& artifact);

}  // namespace slip::bench

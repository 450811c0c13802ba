// The machine that is measured, and what it can do at most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace slip::bench {

/// What /proc/cpuinfo calls the processor.
std::string processor_name();

/// The processor that runs this thread.
std::size_t this_processor();
/// Binds the calling thread, and those that it starts from now on, to these processors.
void bind_to_processors(std::initializer_list<std::size_t> processors);
inline void bind_to_processor(std::size_t processor) { bind_to_processors({processor}); }

/// Reads all of it, as fast as one thread can.
void read_all(std::span<const std::int8_t> bytes);

/// `count` times 12 independent vpdpbusd, 64 products of bytes each; only if has_vnni().
void multiply_bytes(std::size_t count);
bool has_vnni();

/// `count` times fused_at_once independent fused products of 4 or 8 doubles each; only on
/// processors with AVX2, or AVX-512.
void multiply_doubles(std::size_t lanes, std::size_t count);
inline constexpr std::size_t fused_at_once = 12;

}  // namespace slip::bench

// What backends pack matrices into.
#pragma once

#include <cstdint>
#include <type_traits>

namespace slip::kernels {

/// An element of what a backend has packed, by pack, pack_combinations, pack_right or pack_left, in
/// a layout of its own. Each is a type of its own, so that no kernel reads what was packed for
/// another one, or was not packed.
enum class PackedWeights : std::int8_t {};
enum class PackedCombinations : std::int8_t {};
enum class PackedRight : std::uint8_t {};
enum class PackedLeft : std::uint8_t {};

/// For the leaves, which know the layouts.
template <class Packed>
[[gnu::always_inline]] inline std::underlying_type_t<Packed>* raw(Packed* packed) {
    return reinterpret_cast<std::underlying_type_t<Packed>*>(packed);
}
template <class Packed>
[[gnu::always_inline]] inline const std::underlying_type_t<Packed>* raw(const Packed* packed) {
    return reinterpret_cast<const std::underlying_type_t<Packed>*>(packed);
}

}  // namespace slip::kernels

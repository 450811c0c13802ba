// What the owner draws and computes once for the integrity check, when the model is split:
// spec/integrity.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "optimized/base/matrix_view.hpp"
#include "optimized/base/secret_buffer.hpp"

namespace slip::secrets {

/// INTEG-1: the combinations w under a seed of check_seed_bytes. Byte (a * planes + p) * rows + i
/// is entry i of combination a in plane p; fewer rows give a prefix of the same entries.
base::SecretBuffer<std::uint8_t> draw_combinations(std::span<const std::uint8_t> seed,
                                                   std::size_t planes, std::size_t rows);

/// INTEG-2: s = w W_D in every plane, for the first weights.rows() entries of each combination.
/// Byte (a * planes + p) * n + j is entry j of s[a][p], n = weights.cols(). `w` is
/// draw_combinations(seed, planes, rows) with rows >= weights.rows().
base::SecretBuffer<std::uint8_t> companion(const base::SecretBuffer<std::uint8_t>& w,
                                           base::MatrixView<const std::int8_t> weights,
                                           std::size_t planes);

}  // namespace slip::secrets

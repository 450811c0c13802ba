// The numbers of the protocol, each once: those of spec/parameters.md, and what other clauses fix.
// tools/checks/constants.py compares them with the text. Two kinds stand elsewhere, once as well:
// codes and sizes of frames in protocol/frames.hpp; what a user of the library sees, time limits
// among it, in include/slip.
#pragma once

#include <cstddef>
#include <cstdint>

namespace slip::base::parameters {

/// PARAM-1: L = 2^bits - 1; a wrong reply is accepted with probability L^-kappa.
struct ProfileNumbers {
    unsigned bits;
    std::size_t residue_bytes;
    std::size_t kappa;
};
inline constexpr ProfileNumbers p31{.bits = 31, .residue_bytes = 4, .kappa = 2};

/// PARAM-2: the shift t, and the greatest magnitudes of what is stored and of activations.
inline constexpr int residual_shift = 16;
inline constexpr int largest_weight = 127;
inline constexpr int largest_factor = 2047;
inline constexpr unsigned largest_row_exponent = 20;
inline constexpr std::int32_t largest_qa_max = 32767;
/// ENC-3: a group that leaves activations fewer steps is refused.
inline constexpr std::int32_t smallest_qa_max = 127;
/// ENC-1: a column whose greatest magnitude is below is all zeros.
inline constexpr float zero_threshold = 0x1p-100F;
/// DECO-4: no row scale is below this share of the row's L1 norm, nor below the least normal
/// number.
inline constexpr double row_norm_floor = 0x1p-46;
inline constexpr float smallest_row_scale = 0x1p-126F;

/// PARAM-3.
inline constexpr std::size_t largest_columns = 4096;
inline constexpr std::size_t largest_residue_bytes = std::size_t{1} << 26;
inline constexpr std::size_t largest_extent = std::size_t{1} << 20;
inline constexpr std::size_t largest_group_count = std::size_t{1} << 16;

/// PARAM-4.
inline constexpr std::uint16_t protocol_version = 1;
inline constexpr int artifact_version = 2;

/// RAND-1: purposes of a keystream, and the blocks that its counter of 32 bits can number.
inline constexpr std::uint8_t mask_tag = 1;
inline constexpr std::uint8_t integrity_tag = 2;
inline constexpr std::uint8_t selection_tag = 3;
inline constexpr std::uint64_t blocks_per_stream = std::uint64_t{1} << 32;
/// RAND-4.
inline constexpr std::size_t session_key_bytes = 32;
/// RAND-5.
inline constexpr std::uint64_t blocks_per_key = std::uint64_t{1} << 32;

/// MODEL-8: the coefficient of x^3 in GELU's tanh form.
inline constexpr float gelu_cubic = 0.044715F;
/// MODEL-11: tokens.
inline constexpr std::size_t largest_vocabulary = std::size_t{1} << 20;
/// MODEL-7, THREAT-2: of what only its owner may read.
inline constexpr unsigned secret_file_mode = 0600;
inline constexpr unsigned secret_folder_mode = 0700;

}  // namespace slip::base::parameters

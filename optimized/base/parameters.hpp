// The numbers of the protocol, each once: those of spec/parameters.md, and what other clauses fix.
// tools/checks/constants.py compares them with the text. Two kinds stand elsewhere, once as well:
// codes and sizes of frames in protocol/frames.hpp; what a user of the library sees, time limits
// among it, in include/slip.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace slip::base::parameters {

/// RING-5: a residue has one byte per plane, that of plane p below primes[p].
inline constexpr std::array<std::uint8_t, 7> primes{251, 241, 239, 233, 229, 227, 223};

/// PARAM-5: what lattice masks are made of (MASK-7), and the norms under which their noise vanishes
/// (MASK-8).
struct LatticeParameters {
    std::size_t degree;            // N of X^N + 1, and masks per block
    std::size_t rank;              // d, ring elements of a block's secret
    unsigned eta;                  // small integers are centred binomial, of eta + eta bits
    unsigned tau_bits;             // tau = 2^tau_bits; 0: HIDE-2 has tau and norms by width
    std::int32_t weight_norm;      // B_w
    std::int32_t activation_norm;  // B_q
    std::int64_t allowance;        // Delta
};
inline constexpr LatticeParameters paper_lattice{256, 8, 2, 24, 1736, 4832, 64};
inline constexpr LatticeParameters hidden_lattice{256, 9, 1, 0, 0, 0, 4096};

/// PARAM-1: a set of parameters. Its modulus L is the product of the first `planes` primes.
struct ParameterSet {
    std::string_view name;
    std::uint8_t code;                         // on the wire
    std::size_t planes;                        // h, the bytes of a residue
    std::optional<LatticeParameters> lattice;  // absent: all masks are uniform
    bool hides_weights = false;                // HIDE-1: David's matrices are [A ; U]

    /// HIDE-1: ell, the rows of U; 0 where nothing is hidden.
    constexpr std::size_t public_rows() const {
        return hides_weights ? lattice->rank * lattice->degree : 0;
    }
};
inline constexpr std::array<ParameterSet, 3> parameter_sets{
    {{"paper", 1, 4, std::nullopt},
     {"paper-lattice", 2, 5, paper_lattice},
     {"hidden", 3, 6, hidden_lattice, true}}};
/// The set of this name; null if there is none.
constexpr const ParameterSet* set_named(std::string_view name) {
    for (const ParameterSet& set : parameter_sets) {
        if (set.name == name) return &set;
    }
    return nullptr;
}

/// The modulus L of sets with this many planes.
constexpr std::uint64_t modulus(std::size_t planes) {
    std::uint64_t product = 1;
    for (std::size_t p = 0; p < planes; ++p) product *= primes[p];
    return product;
}

/// INTEG-1: combinations of the check. A wrong reply is accepted with probability at most
/// primes[planes - 1]^-kappa.
inline constexpr std::size_t kappa = 8;
inline constexpr std::size_t check_seed_bytes = 32;

/// PARAM-2: the shift t, and the greatest magnitudes of what is stored and of activations.
inline constexpr int residual_shift = 16;
inline constexpr int largest_weight = 127;
inline constexpr int largest_factor = 2047;
inline constexpr unsigned largest_row_exponent = 20;
inline constexpr std::int32_t largest_activation_norm = 32767;
/// ENC-3: a group that leaves activations less is refused.
inline constexpr std::int32_t smallest_activation_norm = 1024;
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
inline constexpr std::uint16_t protocol_version = 2;
inline constexpr int artifact_version = 3;

/// RAND-1: purposes of a stream, the field of its plane and purpose, and the blocks that its
/// counter of 32 bits can number.
inline constexpr std::uint8_t mask_purpose = 1;
inline constexpr std::uint8_t integrity_purpose = 2;
inline constexpr std::uint8_t selection_purpose = 3;
inline constexpr std::uint8_t block_secret_purpose = 4;
inline constexpr std::uint8_t noise_purpose = 5;
inline constexpr std::uint8_t product_check_purpose = 6;
inline constexpr std::uint8_t weight_secret_purpose = 7;
inline constexpr std::uint8_t weight_error_purpose = 8;
/// RAND-8: the purposes of public residues, of T and of U, and the bytes of their seed.
inline constexpr std::uint8_t public_masks_purpose = 1;
inline constexpr std::uint8_t public_weights_purpose = 2;
inline constexpr std::size_t public_seed_bytes = 32;
/// MASK-10.
inline constexpr std::uint64_t product_modulus = (std::uint64_t{1} << 61) - 1;
constexpr std::uint32_t stream_field(std::size_t plane, std::uint8_t purpose) {
    return static_cast<std::uint32_t>(256 * plane + purpose);
}
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

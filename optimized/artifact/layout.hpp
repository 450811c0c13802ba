// Names and fixed fields of the two artifacts (MODEL-7), for the code that writes them and the code
// that reads them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "optimized/artifact/sha256.hpp"
#include "optimized/base/parameters.hpp"

namespace slip::artifact::layout {

inline constexpr const char* charlie_folder = "charlie";
inline constexpr const char* charlie_weights = "charlie.safetensors";
inline constexpr const char* charlie_description = "plan.json";
inline constexpr const char* check_secret = "check.safetensors";
inline constexpr const char* check_seed = "seed";
inline constexpr const char* masks = "masks.safetensors";
inline constexpr const char* masks_seed = "seed";
inline constexpr const char* config = "config.json";

inline constexpr const char* david_folder = "david";
/// MODEL-22: the folder of each shard of David's half, "david-0", ..., or of the whole half.
std::vector<std::string> david_folders(std::size_t shards);
inline constexpr const char* david_weights = "david.safetensors";
inline constexpr const char* david_description = "manifest.json";

inline constexpr const char* charlie_format = "slip-charlie";
inline constexpr const char* david_format = "slip-david";

/// PARAM-1, for messages: "paper" or "one, another".
std::string names_of_sets();
/// The set of this name. Throws BadInput, with all names, if there is none.
const base::parameters::ParameterSet& require_set(const std::string& name);

/// The set of a split that names none: that of the paper's split with lattice masks, which a plan
/// asks for, or of the hidden one.
constexpr std::string_view default_set(bool has_plan) {
    return has_plan ? "paper-lattice" : "hidden";
}

/// What david.safetensors, check.safetensors and masks.safetensors have of a group.
inline std::string group_tensor(std::size_t group) { return "group." + std::to_string(group); }
/// z W_D (MASK-10) of a group with lattice masks, in check.safetensors.
inline std::string product_tensor(std::size_t group) { return "product." + std::to_string(group); }

/// The key of V and E (HIDE-3) of a group of the hidden split, in check.safetensors.
inline std::string key_tensor(std::size_t group) { return "key." + std::to_string(group); }
inline constexpr std::size_t key_bytes = 32;

/// What the owner has of a hidden model to run it unsplit, apart from both halves: the stacked W'
/// of each group (HIDE-8), and the digest of the david.safetensors that was made with it.
inline constexpr const char* audit = "audit.safetensors";
inline constexpr const char* audit_digest = "david_sha256";

/// The digests of the hint of a group with lattice masks, in check.safetensors.
inline std::string hint_tensor(std::size_t group) { return "hint." + std::to_string(group); }
/// Rows of a hint that have a digest together.
inline constexpr std::size_t hint_chunk_rows = 64;
/// MODEL-7: of the tensor with the rows of a hint.
inline std::vector<std::size_t> hint_shape(const base::parameters::ParameterSet& set,
                                           std::size_t rows) {
    const std::size_t entries = set.lattice->rank * set.lattice->degree;
    if (set.hides_weights) return {rows, entries / 2, 11};  // two entries of 44 bits each
    return {rows, entries, set.planes};
}
inline constexpr std::size_t hint_chunks(std::size_t rows) {
    return (rows + hint_chunk_rows - 1) / hint_chunk_rows;
}

/// PARAM-1: whether a group, `Group` being a GroupShape or a CharlieGroup, has lattice masks.
template <class Group>
bool has_lattice_masks(const base::parameters::ParameterSet& set, const Group& group) {
    return set.lattice && !group.convolution;
}

/// Salt and tags of a group whose hint is sealed (MODEL-20), in masks.safetensors.
inline std::string salt_tensor(std::size_t group) { return "salt." + std::to_string(group); }
inline std::string tag_tensor(std::size_t group) { return "tag." + std::to_string(group); }
inline constexpr std::size_t seal_key_bytes = 32;
inline constexpr std::size_t salt_bytes = 32;
inline constexpr std::size_t tag_bytes = 16;
/// One for each chunk of a group, and one for its key of V and E, where it has one.
inline std::size_t tags(const base::parameters::ParameterSet& set, std::size_t rows) {
    return hint_chunks(rows) + (set.hides_weights ? 1 : 0);
}

/// Of David's half: that of its file, or of the digests of its shards, one after the other
/// (MODEL-22).
Sha256 digest_of_half(const std::vector<Sha256>& shards);

/// Charlie's list of the digests of his own files.
inline constexpr const char* digests = "SHA256SUMS";

}  // namespace slip::artifact::layout

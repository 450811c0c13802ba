// The architectures of GGUF files that are read, and the names of their tensors (MODEL-19).
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "optimized/import/gguf.hpp"

namespace slip::importing {

/// A module with a weight, and its name in Hugging Face's models with a head.
struct GgufModule {
    std::string_view stored;
    std::string_view name;
    bool bias = false;  // whether it has one as well
};

struct GgufArchitecture {
    std::string_view name;        // general.architecture
    std::string_view model_type;  // of config.json
    std::string_view blocks;      // before the number of a block: "model.layers."
    std::span<const GgufModule> outside_blocks;
    std::span<const GgufModule> in_blocks;
    /// The rows of the query and key matrices are pairs that RoPE turns (0, 1), (2, 3), ..., where
    /// Hugging Face's turn (0, d/2), (1, d/2 + 1), ...
    bool heads_in_pairs = false;
    /// Norms hold 1 + w, where Hugging Face's hold w.
    bool norms_plus_one = false;
    /// RoPE's scaling is a tensor: rope_freqs (Llama 3), or rope_factors_short and
    /// rope_factors_long (longrope).
    bool frequencies = false;
    bool factors = false;
};

inline constexpr std::string_view gguf_embedding = "token_embd.weight";
inline constexpr std::string_view gguf_head = "output.weight";
inline constexpr std::string_view gguf_frequencies = "rope_freqs.weight";
inline constexpr std::string_view gguf_short_factors = "rope_factors_short.weight";
inline constexpr std::string_view gguf_long_factors = "rope_factors_long.weight";

/// Throws BadInput, naming `origin` and general.architecture, for one that is not read.
const GgufArchitecture& gguf_architecture(const GgufHeader& header,
                                          const std::filesystem::path& origin);

/// The name of a tensor in Hugging Face's models with a head; nothing for one that belongs to the
/// configuration. Throws BadInput, naming `origin` and the tensor, for one that the architecture
/// does not have.
std::optional<std::string> gguf_tensor_name(const GgufArchitecture& architecture,
                                            std::string_view name,
                                            const std::filesystem::path& origin);

}  // namespace slip::importing

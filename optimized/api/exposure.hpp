// What an artifact exposes to the untrusted machine (David) and costs the trusted one (Charlie),
// for `slip inspect` (THREAT-4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "optimized/api/model_files.hpp"
#include "optimized/base/convolution.hpp"
#include "optimized/base/model_shape.hpp"
#include "slip/run_statistics.hpp"
#include "slip/types.hpp"

namespace slip::api {

/// One offloaded matrix of the paper's split.
struct MatrixExposure {
    base::MemberShape shape;
    std::size_t n = 0;
    std::optional<base::Convolution> convolution;
    std::size_t rank = 0;
    std::int32_t activation_norm = 0;
    /// log2 of how often the largest product of ENC-4 fits between 0 and (L - 1) / 2.
    double margin_bits = 0;
    std::uint64_t unknowns_left = 0;
    double charlie_share = 0;
    bool head = false;  // of a language model
    bool tied = false;  // to the embedding
    /// The blocks beside that of a split matrix whose matrix of this type David holds whole.
    std::vector<std::size_t> whole_neighbours;
    std::optional<double> grid_share;  // with a checkpoint
    bool coarse_grid = false;          // DECO-13
};

/// What both kinds of splits have.
struct Exposure {
    std::string_view set;
    std::optional<Attention> attention;  // a language model's
    OnlineCosts costs;  // per token or image, checks and scales included: multiplications
    std::vector<std::string> warnings;
};

struct SplitExposure : Exposure {
    Strategy strategy = Strategy::lsc;
    std::vector<MatrixExposure> matrices;
    std::size_t positions = 0;  // a language model's longest sequence, and its KV cache
    std::size_t kv_cache_bytes = 0;
    std::size_t workspace_bytes = 0;  // for its activations, at most, with workspace_threads
    std::size_t workspace_threads = 0;
};

/// Of the paper's split, which has both halves. `checkpoint`, which it was split from, or empty:
/// tells whether matrices lie on a grid. Throws BadInput as SplitFiles::david() and grid_shares().
SplitExposure exposure_of(const SplitFiles& files, const std::filesystem::path& checkpoint);

/// One group of the hidden split.
struct GroupExposure {
    std::vector<std::string> tensors;
    base::ProductShape shape;
    std::size_t first_column = 0;
    std::int32_t norm = 0;
    std::uint64_t davids_bytes = 0;  // of A
    std::uint64_t hint_bytes = 0;
    double davids_factor = 0;  // multiplications of bytes per weight
    bool pays = false;         // whether hiding adds fewer rows than the group has
};

struct HiddenExposure : Exposure {
    std::vector<GroupExposure> groups;
};

/// Of the hidden split. Nothing of it depends on what hides the model (HIDE-6): it follows from
/// sizes and the set. Charlie's half is enough.
HiddenExposure hidden_exposure_of(const SplitFiles& files);

}  // namespace slip::api

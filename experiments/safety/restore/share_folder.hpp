// What david_share writes beside the tensors of a share.
#pragma once

#include "experiments/training/model.hpp"

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace safety {

struct ShareDescription {
    nlohmann::ordered_json model;  // {"name", "family", "parameters"}
    std::string strategy;
    bool known = true;                     // embeddings, norms, biases and row scales
    std::map<std::string, int64_t> ranks;  // of every offloaded matrix, with ".weight"; 0: whole

    /// Reads FOLDER/share.json. Throws std::runtime_error, naming the file.
    static ShareDescription load(const std::string& folder);
    [[nodiscard]] int64_t largest_rank() const;
    /// Rank of a tensor; 0 for one that is not offloaded.
    [[nodiscard]] int64_t rank_of(const std::string& tensor) const;
};

/// Whether the share holds the tensor as the model has it: it is not offloaded, or the head is tied
/// to a known embedding.
bool is_given(const ShareDescription& share, const training::ModelConfig& config,
              const std::string& tensor);

}  // namespace safety

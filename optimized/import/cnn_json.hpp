// A CnnConfig as JSON, the config.json of a split network.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "optimized/base/cnn_config.hpp"

namespace slip::importing {

/// The model_type of such a file.
inline constexpr const char* cnn_model_type = "cnn";

std::string cnn_to_json(const base::CnnConfig& config);

/// Whether a config.json is that of a convolutional network. Throws BadInput if it is not JSON.
bool describes_cnn(std::string_view text, const std::filesystem::path& origin);

/// Throws BadInput, naming `origin` and the field, for anything that cnn_to_json() does not write.
base::CnnConfig parse_cnn_config(std::string_view text, const std::filesystem::path& origin);

}  // namespace slip::importing

// The safetensors format: an 8-byte little-endian header length, a JSON header, then raw data.
#pragma once

#include <torch/types.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace training {

using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

/// Tensors of a .safetensors file as float32. Throws std::runtime_error, naming the file and the
/// tensor, for element types other than F16 and F32 and for sizes that do not match.
std::map<std::string, torch::Tensor> load_safetensors(const std::string& path);

/// A file of these tensors, in this order, as F16 (torch::kHalf) or F32 (torch::kFloat).
std::string to_safetensors(const NamedTensors& tensors, torch::ScalarType type);

}  // namespace training

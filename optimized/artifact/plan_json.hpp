// Plans inside a larger JSON document, such as the one that describes Charlie's artifact.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "optimized/artifact/plan.hpp"

namespace slip::artifact {

/// Throws BadInput, naming `origin` and the triplet.
Plan plan_from_json(const nlohmann::json& value, const std::filesystem::path& origin);
nlohmann::json plan_as_json(const Plan& plan);

}  // namespace slip::artifact

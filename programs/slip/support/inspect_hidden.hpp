// What 'slip inspect' prints of a hidden split.
#pragma once

#include "optimized/api/exposure.hpp"

namespace slip::tool {

/// What each group is hidden by and costs.
void print_json(const api::HiddenExposure& exposure);
void print_table(const api::HiddenExposure& exposure);

}  // namespace slip::tool

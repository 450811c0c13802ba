// How a product of the hidden split is decoded (HIDE-5).
#pragma once

#include <cstdint>
#include <span>

#include "optimized/base/hidden_widths.hpp"
#include "optimized/masks/registry.hpp"

namespace slip::masks {

/// HIDE-5, in place: every Y = Z + tau B becomes the residue of Z modulo s, in -floor(s/2) ..
/// floor((s-1)/2). Requires |Y| <= (L-1)/2. In constant time.
void decode_products(const base::HiddenWidth& width, std::span<std::int64_t> products,
                     const Backend& backend = active());

}  // namespace slip::masks

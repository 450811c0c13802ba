// A leaf's table of its instances.
#pragma once

#include "optimized/masks/leaf/decoding.hpp"
#include "optimized/masks/leaf/lanes.hpp"
#include "optimized/masks/leaf/noise.hpp"
#include "optimized/masks/leaf/products.hpp"
#include "optimized/masks/leaf/shake.hpp"
#include "optimized/masks/leaf/small_matrix.hpp"
#include "optimized/masks/leaf/tables.hpp"

namespace slip::masks {

template <class L>
constexpr Backend backend_of(const char* name) {
    return {name,
            Places<L>::bytes,
            transform_secret_elements<L>,
            multiply_pass<L>,
            add_noise_to_column<L>,
            small_matrix_doubles<L>,
            transform_small_rows<L>,
            multiply_small_rows<L>,
            decode_all<L>,
            L::width,
            shake128_of_each<L>};
}

}  // namespace slip::masks

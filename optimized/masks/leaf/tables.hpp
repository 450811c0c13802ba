// The tables of all leaves.
#pragma once

#include "optimized/masks/contracts.hpp"

namespace slip::masks {

namespace portable {
extern const Backend backend;
}
namespace avx2 {  // AVX2 and FMA
extern const Backend backend;
}
namespace avx512 {  // F, BW, VL and DQ
extern const Backend backend;
}
namespace neon {  // aarch64
extern const Backend backend;
}

}  // namespace slip::masks

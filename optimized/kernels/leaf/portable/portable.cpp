#include "optimized/kernels/leaf/portable/portable.hpp"

namespace slip::kernels::portable {

const Backend backend = {
    .name = "portable",
    .gemm_p31 = gemm_p31,
    .sample_p31 = sample_p31,
    .mask_p31 = mask_p31,
    .unmask_p31 = unmask_p31,
    .dot_p31 = dot_p31,
    .check_vector_p31 = check_vector_p31,
    .low_rank_inner = low_rank_inner,
    .low_rank_outer = low_rank_outer,
    .quantise = quantise,
    .dequantise = dequantise,
};

}  // namespace slip::kernels::portable

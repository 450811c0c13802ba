#include "optimized/kernels/leaf/portable/portable.hpp"

namespace slip::kernels::portable {

const Backend backend = {
    .name = "portable",
    .p31 =
        {
            .gemm = gemm_p31,
            .sample = sample_p31,
            .mask = mask_p31,
            .unmask = unmask_p31,
            .dot = dot_p31,
            .check_vector = check_vector_p31,
            .low_rank_outer = low_rank_outer,
        },
    .p61 =
        {
            .gemm = gemm_p61,
            .sample = sample_p61,
            .mask = mask_p61,
            .unmask = unmask_p61,
            .dot = dot_p61,
            .check_vector = check_vector_p61,
            .low_rank_outer = low_rank_outer,
        },
    .low_rank_inner = low_rank_inner,
    .quantise = quantise,
    .dequantise = dequantise,
};

}  // namespace slip::kernels::portable

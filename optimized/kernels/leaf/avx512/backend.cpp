#include "optimized/kernels/leaf/avx512/avx512.hpp"
#include "optimized/kernels/leaf/portable/portable.hpp"

namespace slip::kernels::avx512 {

const Backend backend = {
    .name = "avx512",
    .p31 =
        {
            .packed_bytes = packed_bytes_p31,
            .pack = pack_p31,
            .packed_gemm = gemm_p31,
            .packed_check_vector = check_vector_p31,
            .gemm = portable::gemm_p31,
            .sample = portable::sample_p31,
            .mask = portable::mask_p31,
            .unmask = portable::unmask_p31,
            .dot = portable::dot_p31,
            .check_vector = portable::check_vector_p31,
            .low_rank_outer = portable::low_rank_outer,
        },
    .p61 =
        {
            .packed_bytes = packed_bytes_p61,
            .pack = pack_p61,
            .packed_gemm = gemm_p61,
            .packed_check_vector = check_vector_p61,
            .gemm = portable::gemm_p61,
            .sample = portable::sample_p61,
            .mask = portable::mask_p61,
            .unmask = portable::unmask_p61,
            .dot = portable::dot_p61,
            .check_vector = portable::check_vector_p61,
            .low_rank_outer = portable::low_rank_outer,
        },
    .low_rank_inner = portable::low_rank_inner,
    .quantise = portable::quantise,
    .dequantise = portable::dequantise,
};

}  // namespace slip::kernels::avx512

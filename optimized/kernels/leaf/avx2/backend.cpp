#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::avx2 {

const Backend backend = {
    .name = "avx2",
    .aes256_schedule = aes256_schedule,
    .p31 =
        {
            .packed_bytes = packed_bytes,
            .pack = pack,
            .gemm = gemm_p31,
            .check_vector = check_vector_p31,
            .expand = expand_p31,
            .sample = portable::sample_p31,
            .mask = mask_p31,
            .unmask = unmask_p31,
            .dot = dot_p31,
            .low_rank_outer = low_rank_outer_p31,
        },
    .right_bytes = portable::right_bytes,
    .pack_right = portable::pack_right,
    .low_rank_inner = low_rank_inner,
    .left_bytes = left_bytes,
    .pack_left = pack_left,
    .quantise = quantise,
    .dequantise = portable::dequantise,
    .floats =
        {
            .dot = dot,
            .scores = scores,
            .mix = mix,
            .softmax = softmax,
            .rms_norm = rms_norm,
            .layer_norm = layer_norm,
            .rotate = rotate,
            .swiglu = swiglu,
            .gelu = gelu,
            .add = add,
            .arg_max = arg_max,
            .sampling_weights = sampling_weights,
        },
};

}  // namespace slip::kernels::avx2

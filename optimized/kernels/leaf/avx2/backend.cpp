#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::avx2 {

const Backend backend = {
    .name = "avx2",
    .aes256_schedule = aes256_schedule,
    .expand = expand,
    .sample = portable::sample,
    .below = below,
    .mask = mask,
    .unmask = unmask,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .gemm = gemm,
    .gemm_plane = gemm_plane,
    .combinations_bytes = portable::combinations_bytes,
    .pack_combinations = portable::pack_combinations,
    .combine = combine,
    .right_bytes = portable::right_bytes,
    .pack_right = portable::pack_right,
    .low_rank_inner = low_rank_inner,
    .left_bytes = left_bytes,
    .pack_left = pack_left,
    .low_rank_outer = low_rank_outer,
    .quantise = quantise,
    .dequantise = dequantise,
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

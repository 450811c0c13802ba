#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::neon {

const Backend backend = {
    .name = "neon",
    .aes256_schedule = nullptr,
    .expand = nullptr,
    .sample = portable::sample,
    .below = portable::below,
    .mask = portable::mask,
    .unmask = portable::unmask,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .gemm = gemm,
    .gemm_plane = gemm_plane,
    .combinations_bytes = portable::combinations_bytes,
    .pack_combinations = portable::pack_combinations,
    .combine = combine,
    .right_bytes = portable::right_bytes,
    .pack_right = portable::pack_right,
    .low_rank_inner = portable::low_rank_inner,
    .left_bytes = portable::left_bytes,
    .pack_left = portable::pack_left,
    .low_rank_outer = portable::low_rank_outer,
    .quantise = portable::quantise,
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

}  // namespace slip::kernels::neon

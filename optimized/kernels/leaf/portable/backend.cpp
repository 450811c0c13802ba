#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::portable {

const Backend backend = {
    .name = "portable",
    .aes256_schedule = nullptr,  // OpenSSL draws the keystream
    .expand = nullptr,
    .sample = sample,
    .below = below,
    .mask = mask,
    .unmask = unmask,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .gemm = gemm,
    .gemm_plane = gemm_plane,
    .combinations_bytes = combinations_bytes,
    .pack_combinations = pack_combinations,
    .combine = combine,
    .right_bytes = right_bytes,
    .pack_right = pack_right,
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

}  // namespace slip::kernels::portable

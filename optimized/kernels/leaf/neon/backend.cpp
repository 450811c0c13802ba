#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::neon {

const Backend backend = {
    .name = "neon",
    .aes256_schedule = nullptr,
    .p31 =
        {
            .packed_bytes = packed_bytes,
            .pack = pack,
            .gemm = gemm_p31,
            .check_vector = check_vector_p31,
            .expand = nullptr,
            .sample = portable::sample_p31,
            .mask = portable::mask_p31,
            .unmask = portable::unmask_p31,
            .dot = portable::dot_p31,
            .low_rank_outer = portable::low_rank_outer_p31,
        },
    .right_bytes = portable::right_bytes,
    .pack_right = portable::pack_right,
    .low_rank_inner = portable::low_rank_inner,
    .left_bytes = portable::left_bytes,
    .pack_left = portable::pack_left,
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

// The one list of the kernels that leaves define: a backend defines some of them and takes the
// others from the portable one (its backend.cpp), or has none. Types and contracts are those of the
// entries of contracts.hpp. The first word is the file in which every backend that has the kernel
// defines it: the chapter of the specification, and a part of it where a chapter is more than one
// file.
#pragma once

#include <type_traits>

#include "optimized/kernels/contracts.hpp"

/// A function of the type that an entry of a table points to.
// NOLINTNEXTLINE(bugprone-macro-parentheses): a name that is declared, not an expression
#define SLIP_PROTOTYPE(table, entry, name) std::remove_pointer_t<decltype(table::entry)> name;
#define SLIP_KERNEL(file, entry) SLIP_PROTOTYPE(Backend, entry, entry)

/// Those of the chapter `floats`.
#define SLIP_FLOAT_KERNEL(entry) SLIP_PROTOTYPE(FloatKernels, entry, entry)

#define SLIP_LEAF(leaf)                             \
    namespace slip::kernels::leaf {                 \
    extern const Backend backend;                   \
    SLIP_KERNEL(randomness_expand, aes256_schedule) \
    SLIP_KERNEL(randomness_expand, expand)          \
    SLIP_KERNEL(randomness_sample, sample)          \
    SLIP_KERNEL(masking, below)                     \
    SLIP_KERNEL(masking, mask)                      \
    SLIP_KERNEL(masking, unmask)                    \
    SLIP_KERNEL(linear_pack, packed_bytes)          \
    SLIP_KERNEL(linear_pack, pack)                  \
    SLIP_KERNEL(linear_gemm, gemm)                  \
    SLIP_KERNEL(linear_gemm, gemm_plane)            \
    SLIP_KERNEL(integrity_pack, combinations_bytes) \
    SLIP_KERNEL(integrity_pack, pack_combinations)  \
    SLIP_KERNEL(integrity, combine)                 \
    SLIP_KERNEL(low_rank_pack, right_bytes)         \
    SLIP_KERNEL(low_rank_pack, pack_right)          \
    SLIP_KERNEL(low_rank_inner, low_rank_inner)     \
    SLIP_KERNEL(low_rank_pack, left_bytes)          \
    SLIP_KERNEL(low_rank_pack, pack_left)           \
    SLIP_KERNEL(low_rank_outer, low_rank_outer)     \
    SLIP_KERNEL(encoding, quantise)                 \
    SLIP_KERNEL(encoding, dequantise)               \
    SLIP_FLOAT_KERNEL(dot)                          \
    SLIP_FLOAT_KERNEL(scores)                       \
    SLIP_FLOAT_KERNEL(mix)                          \
    SLIP_FLOAT_KERNEL(softmax)                      \
    SLIP_FLOAT_KERNEL(rms_norm)                     \
    SLIP_FLOAT_KERNEL(layer_norm)                   \
    SLIP_FLOAT_KERNEL(rotate)                       \
    SLIP_FLOAT_KERNEL(swiglu)                       \
    SLIP_FLOAT_KERNEL(gelu)                         \
    SLIP_FLOAT_KERNEL(add)                          \
    SLIP_FLOAT_KERNEL(arg_max)                      \
    SLIP_FLOAT_KERNEL(sampling_weights)             \
    }

SLIP_LEAF(portable)
SLIP_LEAF(avx2)    // AVX2 and AES instructions
SLIP_LEAF(avx512)  // F, BW, VL, DQ, VNNI, VBMI, VBMI2 and VAES: Ice Lake and Zen 4 onwards
SLIP_LEAF(neon)    // aarch64 with the dot product instructions, Armv8.2 and later

#undef SLIP_LEAF
#undef SLIP_FLOAT_KERNEL
#undef SLIP_KERNEL
#undef SLIP_PROTOTYPE

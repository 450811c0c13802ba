// One contract per kernel. A backend is a table of functions that satisfy these contracts; the
// registry (registry.hpp) picks one. Dispatch is trivial on purpose: what stands here is all that a
// caller may rely on and all that a backend has to provide.
//
// Common to all: residues are canonical, 0 <= r < p (CONV-1); `packed`, `right` and `left` are
// aligned to 64 bytes, other pointers need only their type's natural alignment; sizes may be 0;
// outputs do not overlap inputs unless a contract says so; matrices, but for packed weights, are
// row-major without gaps; the b columns of X lie one after the other. Kernels allocate nothing,
// throw nothing and keep no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "optimized/base/parameters.hpp"

namespace slip::kernels {

/// PARAM-1: the modulus p = 2^bits - 1 of the profile, its residues and what lifts of them fit.
struct P31 {
    using Residue = std::uint32_t;
    using Product = std::int32_t;
    static constexpr unsigned bits = base::parameters::p31.bits;
    static constexpr Residue p = (Residue{1} << bits) - 1;
};
static_assert(sizeof(P31::Residue) == base::parameters::p31.residue_bytes);

/// What contracts require of sizes, PARAM-3 ensures: m, n < 2^24 of matrices, and n < 2^33 of dot.
static_assert(base::parameters::largest_extent < std::size_t{1} << 24);

/// A product may be cut between every so many rows of W: see ResidueKernels::pack.
constexpr std::size_t rows_apart = 64;

/// An element of a matrix that a backend has packed, by pack, pack_right or pack_left, in a layout
/// of its own. Each is a type of its own, so that no kernel reads what was packed for another one,
/// or was not packed.
enum class PackedWeights : std::int8_t {};
enum class PackedRight : std::uint8_t {};
enum class PackedLeft : std::uint8_t {};

/// For the leaves, which know the layouts. Always inlined, as in mersenne31.hpp.
template <class Packed>
[[gnu::always_inline]] inline std::underlying_type_t<Packed>* raw(Packed* packed) {
    return reinterpret_cast<std::underlying_type_t<Packed>*>(packed);
}
template <class Packed>
[[gnu::always_inline]] inline const std::underlying_type_t<Packed>* raw(const Packed* packed) {
    return reinterpret_cast<const std::underlying_type_t<Packed>*>(packed);
}

/// The kernels that work modulo p.
template <class P>
struct ResidueKernels {
    using Residue = typename P::Residue;
    using Product = typename P::Product;

    /// The size of a packed m x n matrix, in this backend's own layout. m, n < 2^24.
    std::size_t (*packed_bytes)(std::size_t m, std::size_t n);

    /// Lays W out as this backend's products read it. Requires: w m x n; packed has room for
    /// packed_bytes(m, n) bytes. Ensures: of m1 rows and the rest, m1 a multiple of
    /// rows_apart, it lays out the first m1 as pack(w, m1, n) would, and behind them the rest.
    void (*pack)(const std::int8_t* w, std::size_t m, std::size_t n, PackedWeights* packed);

    /// LIN-1, MASK-3: Y = W X mod p.
    /// Requires: packed from pack(w, m, n), with |w| <= 127; x: b columns of n residues; y: b
    /// columns of m; n < 2^24, so that |sum_j w[i][j] lift(x[j])| < 2^24 * 127 * 2^30 < 2^61.
    /// Ensures: y[c * m + i] = (sum_j w[i][j] x[c][j]) mod p, canonical.
    void (*gemm)(const PackedWeights* packed, std::size_t m, std::size_t n, const Residue* x,
                 std::size_t b, Residue* y);

    /// INTEG-2: s = rho^T W mod p for one repetition. Requires: packed as for gemm; rho m
    /// residues; m < 2^24, as n in gemm. Ensures: s[j] = (sum_i rho[i] w[i][j]) mod p.
    void (*check_vector)(const PackedWeights* packed, std::size_t m, std::size_t n,
                         const Residue* rho, Residue* s);

    /// RAND-1, RAND-2: the residues that blocks first_block to first_block + blocks - 1 of the
    /// stream (tag, index) give; null where Backend::aes256_schedule is. Requires: round_keys from
    /// aes256_schedule; first_block + blocks <= 2^32; out has room for all the words of the blocks,
    /// 16 / sizeof(Residue) a block. Ensures: out[0 .. returned) are the accepted words in order.
    /// Time depends on no residue; it may depend on which words were rejected.
    std::size_t (*expand)(const std::uint8_t* round_keys, std::uint32_t tag, std::uint64_t index,
                          std::uint32_t first_block, std::size_t blocks, Residue* out);

    /// RAND-2: the accepted words among `count` little-endian keystream words of a residue's size.
    /// Requires: out has room for `count` residues; out may equal `words`.
    /// Ensures: out[0 .. returned) are the values word AND p that are < p, in order.
    std::size_t (*sample)(const Residue* words, std::size_t count, Residue* out);

    /// MASK-1: masked[j] = (embed(q[j]) + mask[j]) mod p. Requires: |q| <= 32767.
    void (*mask)(const std::int16_t* q, const Residue* mask, std::size_t n, Residue* masked);

    /// MASK-4: out[i] = lift((y[i] - cancellation[i]) mod p), in [-(p-1)/2, (p-1)/2].
    void (*unmask)(const Residue* y, const Residue* cancellation, std::size_t m, Product* out);

    /// INTEG-3: sum_i a[i] b[i] mod p, canonical. Requires: n < 2^33, so that halves of the
    /// products of `bits` bits can be summed in 64 bits.
    Residue (*dot)(const Residue* a, const Residue* b, std::size_t n);

    /// LIN-2: y[i] = 2^16 y_david[i] + sum_c a[i][c] z[c] in two's complement mod 2^64; exact over
    /// Z whenever ENC-5 holds, although partial sums may wrap. Requires: left from pack_left(a, m,
    /// k); |z| <= 2^53; limbs 3 or 4, at least limbs_of(max |z|), which whoever holds B decides
    /// once per matrix, when it is loaded, from what is in it.
    void (*low_rank_outer)(const PackedLeft* left, std::size_t m, std::size_t k, unsigned limbs,
                           const std::int64_t* z, const Product* y_david, std::int64_t* y);
};

/// The exponent of a row of A whose greatest magnitude is `largest`: the least e with largest <=
/// 2047 2^e, or largest_row_exponent + 1 if no row of PARAM-2 is as large. No branch, as A is
/// secret; always inlined, as in mersenne31.hpp.
[[gnu::always_inline]] constexpr unsigned row_exponent(std::uint64_t largest) {
    unsigned exponent = 0;
    for (unsigned e = 0; e <= base::parameters::largest_row_exponent; ++e) {
        exponent +=
            static_cast<unsigned>(largest > std::uint64_t{base::parameters::largest_factor} << e);
    }
    return exponent;
}

/// A factor meets z in limbs of 14 bits, |limb| <= 2^13, whose products with a pass of 128 columns
/// of A sum in 32 bits.
constexpr unsigned factor_limb_bits = 14;
constexpr std::size_t factor_pass = 128;
static_assert(std::uint64_t{base::parameters::largest_factor} * factor_pass
                  << (factor_limb_bits - 1) <
              std::uint64_t{1} << 31);
/// The uppermost limb is what the others leave: at most 2^12 + 1 of 2^40 with two below, and 2^11 +
/// 1 of 2^53 with three. DECO-7 gives |z| < 2^46 for n <= 2^20 (PARAM-3).
constexpr unsigned most_limbs = 4;
static_assert(std::uint64_t{base::parameters::largest_factor} * base::parameters::largest_qa_max *
                  base::parameters::largest_extent <
              std::uint64_t{1} << 46);
constexpr unsigned limbs_of(std::uint64_t largest_z) {
    return largest_z <= std::uint64_t{1} << 40 ? 3 : most_limbs;
}

/// Sums of floats are spread over so many lanes: see FloatKernels.
constexpr std::size_t float_lanes = 8;

/// Charlie's float code (MODEL-5): attention, norms and activations. In binary32, every operation
/// rounded by itself, none contracted into a fused one, so equal inputs give equal bits in every
/// backend; only the bits of a NaN are unspecified. Pointers need no alignment.
///
/// An *ordered sum* of terms t_0 .. t_(n-1) is formed in 8 lanes: lane l is 0 + t_l + t_(l+8) +
/// ..., half l is lane l + lane l + 4, and the sum is half 0 + half 1 + half 2 + half 3, all of
/// them from left to right. exp is exponential.hpp's.
struct FloatKernels {
    /// The ordered sum of a[j] b[j].
    float (*dot)(const float* a, const float* b, std::size_t n);

    /// Q K^T: out[r][p] = dot(q[r], key p, d) * scale for so many rows of queries and positions;
    /// key p begins at keys[p * stride]. What the rows' outputs are does not depend on each other.
    /// Where `next` is not null, about as many elements from there on as the keys take are
    /// prefetched, not read: what the caller reads afterwards.
    void (*scores)(const float* const* q, std::size_t rows, const float* keys, std::size_t stride,
                   std::size_t positions, std::size_t d, float scale, float* const* out,
                   const float* next);

    /// S V, added: out[r][j] = out[r][j] + weights[r][0] value_0[j] + weights[r][1] value_1[j] +
    /// ... from left to right, for j < width; value p begins at values[p * stride]. `next` as in
    /// scores.
    void (*mix)(const float* const* weights, std::size_t rows, const float* values,
                std::size_t stride, std::size_t positions, std::size_t width, float* const* out,
                const float* next);

    /// In place: e_j = exp(x[j] - max x), then x[j] = e_j * (1 / the ordered sum of e). Requires n
    /// > 0. If an element is NaN, all results are.
    void (*softmax)(float* x, std::size_t n);

    /// out[j] = weight[j] * (x[j] * (1 / sqrt(dot(x, x) / n + epsilon))). `out` may be `x`.
    void (*rms_norm)(const float* x, const float* weight, std::size_t n, float epsilon, float* out);

    /// With mean the ordered sum of x over n, c[j] = x[j] - mean and variance = dot(c, c) / n:
    /// out[j] = c[j] * (1 / sqrt(variance + epsilon)) * weight[j] + bias[j]. `out` may be `x`.
    void (*layer_norm)(const float* x, const float* weight, const float* bias, std::size_t n,
                       float epsilon, float* out);

    /// In place, for j < half, with a = head[j] and b = head[j + half]: head[j] = a cosines[j] - b
    /// sines[j] and head[j + half] = b cosines[j] + a sines[j].
    void (*rotate)(float* head, const float* cosines, const float* sines, std::size_t half);

    /// gate[j] = gate[j] / (1 + exp(-gate[j])) * up[j].
    void (*swiglu)(float* gate, const float* up, std::size_t n);

    /// In place, the tanh form: x[j] / (1 + exp(-u)), u = 2 sqrt(2 / pi) * (x[j] + gelu_cubic *
    /// (x[j] * x[j] * x[j])).
    void (*gelu)(float* x, std::size_t n);

    /// sum[j] = sum[j] + x[j].
    void (*add)(const float* x, std::size_t n, float* sum);

    /// The first of the greatest elements. NaNs are passed over, but 0 is returned if x[0] is one.
    /// Requires n > 0.
    std::size_t (*arg_max)(const float* x, std::size_t n);

    /// weights[j] = exp(t), but 0 for t < -87, where t = (x[j] - largest) / temperature. Returns
    /// their ordered sum. `weights` may be `x`.
    float (*sampling_weights)(const float* x, std::size_t n, float largest, float temperature,
                              float* weights);
};

struct Backend {
    const char* name;
    /// RAND-1, RAND-7: the 15 round keys of AES-256. Requires: key 32 bytes; round_keys 240 bytes,
    /// as secret as the key. Null, and `expand` with it, where there are no AES instructions.
    void (*aes256_schedule)(const std::uint8_t* key, std::uint8_t* round_keys);

    ResidueKernels<P31> p31;

    /// The table of profile P.
    template <class P>
    const ResidueKernels<P>& of() const {
        return p31;
    }

    /// The size of B (k x n) as low_rank_inner reads it, in this backend's own layout.
    std::size_t (*right_bytes)(std::size_t k, std::size_t n);
    /// Requires: |b| <= largest_factor; right has room for right_bytes(k, n).
    void (*pack_right)(const std::int16_t* b, std::size_t k, std::size_t n, PackedRight* right);
    /// DECO-7: z = B q. Requires: right from pack_right(b, k, n); |q| <= 32767; n < 2^24, so that
    /// |z| < 2^24 * 2^11 * 2^15 = 2^50. Ensures: z[c] = sum_j b[c][j] q[j].
    void (*low_rank_inner)(const PackedRight* right, std::size_t k, std::size_t n,
                           const std::int16_t* q, std::int64_t* z);

    /// The size of A (m x k) as low_rank_outer reads it, in this backend's own layout.
    std::size_t (*left_bytes)(std::size_t m, std::size_t k);
    /// Requires: every row of a is valid by PARAM-2: with e = row_exponent(max_c |a[i][c]|), e <=
    /// largest_row_exponent and all a[i][c] multiples of 2^e; left has room for left_bytes(m, k).
    void (*pack_left)(const std::int32_t* a, std::size_t m, std::size_t k, PackedLeft* left);

    /// ENC-1: one column. Requires: 127 <= qa_max <= 32767. Ensures: q and the returned scale as
    /// the clause says, or a negative return value, q unspecified, if an element is NaN or
    /// infinite.
    float (*quantise)(const float* x, std::size_t n, std::int32_t qa_max, std::int16_t* q);

    /// ENC-2: out[i] = binary32(binary64(y[i]) * row_scale[i] * column_scale), left to right.
    void (*dequantise)(const std::int64_t* y, const float* row_scale, float column_scale,
                       std::size_t m, float* out);

    FloatKernels floats;
};

}  // namespace slip::kernels

// One contract per kernel. A backend is a table of functions that satisfy these contracts; the
// registry (registry.hpp) picks one. Dispatch is trivial on purpose: what stands here is all that a
// caller may rely on and all that a backend has to provide.
//
// Common to all: a residue is `planes` bytes, 1 <= planes <= 7, that of plane p below primes[p]
// (RING-5, CONV-1); a column of n residues is planes * n bytes, plane after plane, and columns lie
// one after the other, so that byte (c * planes + p) * n + j belongs to plane p of residue j of
// column c; `packed`, `right` and `left` are aligned to 64 bytes, other pointers need only their
// type's natural alignment; sizes may be 0; outputs do not overlap inputs unless a contract says
// so; matrices, but for packed weights, are row-major without gaps; the b columns of X lie one
// after the other. Kernels allocate nothing, throw nothing and keep no state.
#pragma once

#include <cstddef>
#include <cstdint>

#include "optimized/base/parameters.hpp"
#include "optimized/kernels/packed.hpp"

namespace slip::kernels {

/// What contracts require of sizes, PARAM-3 ensures: m, n < 2^24 of matrices.
static_assert(base::parameters::largest_extent < std::size_t{1} << 24);

/// Threads may split W at multiples of this many rows: see Backend::pack.
constexpr std::size_t rows_apart = 64;

/// The exponent of a row of A whose greatest magnitude is `largest`: the least e with largest <=
/// 2047 2^e, or largest_row_exponent + 1 if no row of PARAM-2 is as large. No branch, as A is
/// secret.
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
static_assert(std::uint64_t{base::parameters::largest_factor} *
                  base::parameters::largest_activation_norm * base::parameters::largest_extent <
              std::uint64_t{1} << 46);
constexpr unsigned limbs_of(std::uint64_t largest_z) {
    return largest_z <= std::uint64_t{1} << 40 ? 3 : most_limbs;
}

/// Lanes over which sums of floats are spread: see FloatKernels.
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

    /// Q K^T: out[r][p] = dot(q[r], key p, d) * scale for `rows` queries and `positions` keys;
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
    /// Requires 0 < n <= 2^40.
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

    /// RAND-1, RAND-2: the residues modulo `prime` that blocks first_block to first_block + blocks
    /// - 1 of the stream (field, index) give; null where aes256_schedule is. Requires: round_keys
    /// from aes256_schedule; first_block + blocks <= 2^32; 128 < prime < 256; out has room for 16
    /// bytes per block. Ensures: out[0 .. returned) are the accepted bytes in order. Time depends
    /// on no residue; it may depend on which bytes were rejected.
    std::size_t (*expand)(const std::uint8_t* round_keys, std::uint32_t field, std::uint64_t index,
                          std::uint32_t first_block, std::size_t blocks, std::uint8_t prime,
                          std::uint8_t* out);

    /// RAND-2: the accepted bytes among `count` bytes of a keystream. Requires: 128 < prime < 256;
    /// out has room for `count` bytes; out may equal `bytes`.
    /// Ensures: out[0 .. returned) are the bytes below `prime`, in order.
    std::size_t (*sample)(const std::uint8_t* bytes, std::size_t count, std::uint8_t prime,
                          std::uint8_t* out);

    /// WIRE-8: whether all of n bytes are below `prime`. All are examined.
    bool (*below)(const std::uint8_t* bytes, std::size_t n, std::uint8_t prime);

    /// MASK-1, RING-2: a column. In every plane p and for j < n, masked = (q[j] + mask) mod
    /// primes[p]. Requires: |q| <= 32767.
    void (*mask)(const std::int16_t* q, const std::uint8_t* mask, std::size_t n, std::size_t planes,
                 std::uint8_t* masked);

    /// MASK-4: a column. out[i] = lift((y_i - cancellation_i) mod L), with L = modulus(planes).
    void (*unmask)(const std::uint8_t* y, const std::uint8_t* cancellation, std::size_t m,
                   std::size_t planes, std::int64_t* out);

    /// The size of a packed m x n matrix, in this backend's own layout. m, n < 2^24.
    std::size_t (*packed_bytes)(std::size_t m, std::size_t n);

    /// Lays W out as this backend's products read it. Requires: w m x n, |w| <= 127; packed has
    /// room for packed_bytes(m, n) bytes. Ensures: of m1 rows and the rest, m1 a multiple of
    /// rows_apart, it lays out the first m1 as pack(w, m1, n) would, and behind them the rest.
    void (*pack)(const std::int8_t* w, std::size_t m, std::size_t n, PackedWeights* packed);

    /// LIN-1, MASK-3: Y = W X mod L for b columns. Requires: packed from pack(w, m, n); x: b
    /// columns of n residues; y: room for b columns of m residues; n < 2^24. Ensures: in every
    /// column and plane p, y[i] = (sum_j w[i][j] x[j]) mod primes[p], canonical.
    void (*gemm)(const PackedWeights* packed, std::size_t m, std::size_t n, const std::uint8_t* x,
                 std::size_t b, std::size_t planes, std::uint8_t* y);

    /// HIDE-1: one plane of a product, for weights that differ from plane to plane. Y = W X mod
    /// primes[plane] for b columns. Requires: packed from pack(w, m, n); x: b columns of n bytes,
    /// below primes[plane]; y: room for b columns of m bytes; plane < 7; n < 2^24. Ensures: in
    /// every column, y[i] = (sum_j w[i][j] x[j]) mod primes[plane], canonical.
    void (*gemm_plane)(const PackedWeights* packed, std::size_t m, std::size_t n,
                       const std::uint8_t* x, std::size_t b, std::size_t plane, std::uint8_t* y);

    /// The size of kappa x planes x n packed bytes, in this backend's own layout. n < 2^24.
    std::size_t (*combinations_bytes)(std::size_t n, std::size_t planes);
    /// Lays combinations out as combine reads them. Requires: w: byte (a * planes + p) * n + i is
    /// entry i of combination a in plane p, below primes[p]; packed has room for
    /// combinations_bytes(n, planes).
    void (*pack_combinations)(const std::uint8_t* w, std::size_t n, std::size_t planes,
                              PackedCombinations* packed);
    /// INTEG-3: of b columns v of n residues, out[(c * planes + p) * kappa + a] = (sum_i w[a][p][i]
    /// v[c][p][i]) mod primes[p], canonical. Requires: packed from pack_combinations(w, most,
    /// planes), most >= n: the first n entries of each combination count.
    void (*combine)(const PackedCombinations* packed, std::size_t n, std::size_t planes,
                    const std::uint8_t* v, std::size_t b, std::uint8_t* out);

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

    /// LIN-2: y[i] = 2^16 y_david[i] + sum_c a[i][c] z[c] in two's complement mod 2^64; exact over
    /// Z whenever ENC-5 holds, although partial sums may wrap. Requires: left from pack_left(a, m,
    /// k); |z| <= 2^53; limbs 3 or 4, at least limbs_of(max |z|), which whoever holds B decides
    /// once per matrix, when it is loaded, from what is in it.
    void (*low_rank_outer)(const PackedLeft* left, std::size_t m, std::size_t k, unsigned limbs,
                           const std::int64_t* z, const std::int64_t* y_david, std::int64_t* y);

    /// ENC-1: one column. Requires: 790 <= norm <= 32767, which leaves room for rounding, n <=
    /// 2^20. Ensures: q and the returned scale as the clause says, or a negative return value, q
    /// unspecified, if an element is NaN or infinite.
    float (*quantise)(const float* x, std::size_t n, std::int32_t norm, std::int16_t* q);

    /// ENC-2: out[i] = binary32(binary64(y[i]) * row_scale[i] * column_scale), left to right.
    void (*dequantise)(const std::int64_t* y, const float* row_scale, float column_scale,
                       std::size_t m, float* out);

    FloatKernels floats;
};

}  // namespace slip::kernels

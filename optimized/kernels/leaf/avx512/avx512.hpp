// The backend for processors with AVX-512 (F, BW, VL, DQ, VNNI, IFMA, VBMI) and VAES: Ice Lake and
// Zen 4 onwards. The contracts are those of contracts.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "optimized/kernels/contracts.hpp"

namespace slip::kernels::avx512 {

extern const Backend backend;

std::size_t packed_bytes_p31(std::size_t m, std::size_t n);
std::size_t packed_bytes_p61(std::size_t m, std::size_t n);
void pack_p31(const std::int8_t* w, std::size_t m, std::size_t n, PackedWeights* packed);
void pack_p61(const std::int8_t* w, std::size_t m, std::size_t n, PackedWeights* packed);

void gemm_p31(const PackedWeights* packed, std::size_t m, std::size_t n, const std::uint32_t* x,
              std::size_t b, std::uint32_t* y);
void gemm_p61(const PackedWeights* packed, std::size_t m, std::size_t n, const std::uint64_t* x,
              std::size_t b, std::uint64_t* y);

std::size_t packed4_bytes_p31(std::size_t m, std::size_t n);
std::size_t packed4_bytes_p61(std::size_t m, std::size_t n);
void pack4_p31(const std::int8_t* w, std::size_t m, std::size_t n, PackedHalves* packed);
void pack4_p61(const std::int8_t* w, std::size_t m, std::size_t n, PackedHalves* packed);
void gemm4_p31(const PackedHalves* packed, std::size_t m, std::size_t n, const std::uint32_t* x,
               std::size_t b, std::uint32_t* y);
void gemm4_p61(const PackedHalves* packed, std::size_t m, std::size_t n, const std::uint64_t* x,
               std::size_t b, std::uint64_t* y);

void check_vector_p31(const PackedWeights* packed, std::size_t m, std::size_t n,
                      const std::uint32_t* rho, std::uint32_t* s);
void check_vector_p61(const PackedWeights* packed, std::size_t m, std::size_t n,
                      const std::uint64_t* rho, std::uint64_t* s);

void aes256_schedule(const std::uint8_t* key, std::uint8_t* round_keys);
std::size_t expand_p31(const std::uint8_t* round_keys, std::uint32_t tag, std::uint64_t index,
                       std::uint32_t first_block, std::size_t blocks, std::uint32_t* out);
std::size_t expand_p61(const std::uint8_t* round_keys, std::uint32_t tag, std::uint64_t index,
                       std::uint32_t first_block, std::size_t blocks, std::uint64_t* out);

std::size_t sample_p31(const std::uint32_t* words, std::size_t count, std::uint32_t* out);
std::size_t sample_p61(const std::uint64_t* words, std::size_t count, std::uint64_t* out);
void mask_p31(const std::int16_t* q, const std::uint32_t* mask, std::size_t n,
              std::uint32_t* masked);
void mask_p61(const std::int16_t* q, const std::uint64_t* mask, std::size_t n,
              std::uint64_t* masked);
void unmask_p31(const std::uint32_t* y, const std::uint32_t* cancellation, std::size_t m,
                std::int32_t* out);
void unmask_p61(const std::uint64_t* y, const std::uint64_t* cancellation, std::size_t m,
                std::int64_t* out);

std::uint32_t dot_p31(const std::uint32_t* a, const std::uint32_t* b, std::size_t n);
std::uint64_t dot_p61(const std::uint64_t* a, const std::uint64_t* b, std::size_t n);

std::size_t right_bytes(std::size_t k, std::size_t n);
void pack_right(const std::int16_t* b, std::size_t k, std::size_t n, PackedRight* right);
void low_rank_inner(const PackedRight* right, std::size_t k, std::size_t n, const std::int16_t* q,
                    std::int64_t* z);

std::size_t left_bytes(std::size_t m, std::size_t k);
void pack_left(const std::int32_t* a, std::size_t m, std::size_t k, PackedLeft* left);
void low_rank_outer_p31(const PackedLeft* left, std::size_t m, std::size_t k, unsigned limbs,
                        const std::int64_t* z, const std::int32_t* y_david, std::int64_t* y);
void low_rank_outer_p61(const PackedLeft* left, std::size_t m, std::size_t k, unsigned limbs,
                        const std::int64_t* z, const std::int64_t* y_david, std::int64_t* y);

float quantise(const float* x, std::size_t n, std::int32_t qa_max, std::int16_t* q);
void dequantise(const std::int64_t* y, const float* row_scale, float column_scale, std::size_t m,
                float* out);

}  // namespace slip::kernels::avx512

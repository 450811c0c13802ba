// The backend for processors with AVX2 and AES instructions. The contracts are those of
// contracts.hpp. Kernels that are not here are the portable ones: they are bound by memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "optimized/kernels/contracts.hpp"

namespace slip::kernels::avx2 {

extern const Backend backend;

std::size_t packed_bytes(std::size_t m, std::size_t n);
void pack(const std::int8_t* w, std::size_t m, std::size_t n, std::int8_t* packed);

void gemm_p31(const std::int8_t* packed, std::size_t m, std::size_t n, const std::uint32_t* x,
              std::size_t b, std::uint32_t* y);
void gemm_p61(const std::int8_t* packed, std::size_t m, std::size_t n, const std::uint64_t* x,
              std::size_t b, std::uint64_t* y);

void check_vector_p31(const std::int8_t* packed, std::size_t m, std::size_t n,
                      const std::uint32_t* rho, std::uint32_t* s);
void check_vector_p61(const std::int8_t* packed, std::size_t m, std::size_t n,
                      const std::uint64_t* rho, std::uint64_t* s);

void aes256_schedule(const std::uint8_t* key, std::uint8_t* round_keys);
std::size_t expand_p31(const std::uint8_t* round_keys, std::uint32_t tag, std::uint64_t index,
                       std::uint32_t first_block, std::size_t blocks, std::uint32_t* out);
std::size_t expand_p61(const std::uint8_t* round_keys, std::uint32_t tag, std::uint64_t index,
                       std::uint32_t first_block, std::size_t blocks, std::uint64_t* out);

std::uint32_t dot_p31(const std::uint32_t* a, const std::uint32_t* b, std::size_t n);

void low_rank_inner(const std::int16_t* bmat, std::size_t k, std::size_t n, const std::int16_t* q,
                    std::int64_t* z);

}  // namespace slip::kernels::avx2

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
void pack_p31(const std::int8_t* w, std::size_t m, std::size_t n, std::int8_t* packed);
void pack_p61(const std::int8_t* w, std::size_t m, std::size_t n, std::int8_t* packed);

void gemm_p31(const std::int8_t* packed, std::size_t m, std::size_t n, const std::uint32_t* x,
              std::size_t b, std::uint32_t* y);
void gemm_p61(const std::int8_t* packed, std::size_t m, std::size_t n, const std::uint64_t* x,
              std::size_t b, std::uint64_t* y);

void check_vector_p31(const std::int8_t* packed, std::size_t m, std::size_t n,
                      const std::uint32_t* rho, std::uint32_t* s);
void check_vector_p61(const std::int8_t* packed, std::size_t m, std::size_t n,
                      const std::uint64_t* rho, std::uint64_t* s);

}  // namespace slip::kernels::avx512

// The backend for aarch64 with the dot product instructions (Armv8.2 and later). The contracts are
// those of contracts.hpp. Kernels that are not here are the portable ones.
#pragma once

#include <cstddef>
#include <cstdint>

#include "optimized/kernels/contracts.hpp"

namespace slip::kernels::neon {

extern const Backend backend;

std::size_t packed_bytes(std::size_t m, std::size_t n);
void pack(const std::int8_t* w, std::size_t m, std::size_t n, PackedWeights* packed);

void gemm_p31(const PackedWeights* packed, std::size_t m, std::size_t n, const std::uint32_t* x,
              std::size_t b, std::uint32_t* y);
void gemm_p61(const PackedWeights* packed, std::size_t m, std::size_t n, const std::uint64_t* x,
              std::size_t b, std::uint64_t* y);

void check_vector_p31(const PackedWeights* packed, std::size_t m, std::size_t n,
                      const std::uint32_t* rho, std::uint32_t* s);
void check_vector_p61(const PackedWeights* packed, std::size_t m, std::size_t n,
                      const std::uint64_t* rho, std::uint64_t* s);

}  // namespace slip::kernels::neon

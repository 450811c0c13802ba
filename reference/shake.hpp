// SHAKE-128 (FIPS 202): bytes without end from a public string.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "reference/bytes.hpp"

namespace slip::reference {

/// The state of Keccak, 25 words of 64 bits: word (x, y) has the number x + 5 y.
using KeccakState = std::array<std::uint64_t, 25>;

/// FIPS 202, 3.3: Keccak-f[1600], 24 rounds of theta, rho, pi, chi and iota.
KeccakState keccak_f(KeccakState state);

/// FIPS 202, 6.2: the bytes of SHAKE128(message), in order.
class ShakeSource : public ByteSource {
public:
    explicit ShakeSource(const Bytes& message);

    Bytes take(std::size_t count) override;

private:
    KeccakState state_{};
    std::size_t used_ = 0;  ///< bytes of the present block already given out
};

}  // namespace slip::reference

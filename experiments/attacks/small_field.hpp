// INSECURE. The integrity check over Z_L for a small L of any kind, with one repetition, where what
// the product's moduli make too rare to be seen can be counted.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace slip::attacks {

class SmallCheck {
public:
    /// Draws rho for M rows.
    SmallCheck(std::uint64_t L, std::size_t M, std::mt19937_64& random) : L_(L), rho_(M) {
        std::uniform_int_distribution<std::uint64_t> residue(0, L - 1);
        for (std::uint64_t& entry : rho_) entry = residue(random);
    }

    /// rho^T (y~ - W_D x~): a reply that is wrong by `error` is accepted if this is 0.
    std::uint64_t difference(const std::vector<std::uint64_t>& error) const {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < rho_.size(); ++i) sum = (sum + rho_[i] * error[i]) % L_;
        return sum;
    }

private:
    std::uint64_t L_;
    std::vector<std::uint64_t> rho_;
};

}  // namespace slip::attacks

// INSECURE. The integrity check over Z_L for a small L of any kind, with few combinations, where
// what the product's primes and its eight combinations make too rare to be seen can be counted.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace slip::attacks {

class SmallCheck {
public:
    /// Draws the combinations w of M rows.
    SmallCheck(std::uint64_t L, std::size_t M, std::mt19937_64& random,
               std::size_t combinations = 1)
        : L_(L), M_(M), w_(M * combinations) {
        std::uniform_int_distribution<std::uint64_t> residue(0, L - 1);
        for (std::uint64_t& entry : w_) entry = residue(random);
    }

    /// w (y~ - W_D x~) = 0 for every w: whether a reply that is wrong by `error` is accepted.
    bool accepts(const std::vector<std::uint64_t>& error) const {
        for (std::size_t first = 0; first < w_.size(); first += M_) {
            std::uint64_t sum = 0;
            for (std::size_t i = 0; i < M_; ++i) sum = (sum + w_[first + i] * error[i]) % L_;
            if (sum != 0) return false;
        }
        return true;
    }

private:
    std::uint64_t L_;
    std::size_t M_;
    std::vector<std::uint64_t> w_;
};

}  // namespace slip::attacks

// The product's integrity check of one group, for one forged reply after the other.
#pragma once

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "experiments/attacks/victim.hpp"
#include "optimized/protocol/integrity.hpp"

namespace slip::attacks {

/// The check of o_proj in block 0 under the secret of the victim's split, with an honest reply to a
/// random message.
class ProductCheck {
public:
    ProductCheck(const Victim& victim, std::uint64_t seed)
        : group_(victim.find("o_proj", 0).group),
          rows_(victim.weights()[group_].rows()),
          check_(victim.charlie().check_secret(), kernels::shapes_of(victim.weights()), planes),
          message_(planes * victim.weights()[group_].cols()),
          reply_(planes * rows_) {
        std::mt19937_64 random(seed);
        write_column(uniform_residues(message_.size() / planes, random), message_);
        victim.weights()[group_].apply(message_, reply_, planes);
    }

    /// `error` mod L is added to the honest reply.
    bool accepts(const std::vector<std::uint64_t>& error) const {
        std::vector<std::uint8_t> forged = reply_;
        for (std::size_t p = 0; p < planes; ++p) {
            const std::uint64_t prime = base::parameters::primes[p];
            for (std::size_t i = 0; i < rows_; ++i) {
                std::uint8_t& byte = forged[p * rows_ + i];
                byte = static_cast<std::uint8_t>((byte + error[i] % prime) % prime);
            }
        }
        return check_.accepts(group_, message_, forged);
    }
    std::size_t rows() const { return rows_; }

private:
    base::GroupId group_;
    std::size_t rows_;
    protocol::IntegrityCheck check_;
    std::vector<std::uint8_t> message_, reply_;
};

inline Outcome rejected_share(std::uint64_t rejected, std::uint64_t tried, double threshold,
                              std::string note = {}) {
    return {static_cast<double>(rejected) / static_cast<double>(tried), threshold, tried,
            std::move(note)};
}

}  // namespace slip::attacks

// The product's integrity check of one group, for one forged reply after the other.
#pragma once

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "experiments/attacks/hidden_matrix.hpp"
#include "experiments/attacks/victim.hpp"
#include "optimized/protocol/integrity.hpp"

namespace slip::attacks {

/// A check, with an honest reply to a random message.
class ProductCheck {
public:
    /// The check of o_proj in block 0, under the secret of the victim's split.
    ProductCheck(const Victim& victim, std::uint64_t seed)
        : ProductCheck(victim.weights(), victim.find("o_proj", 0).group,
                       victim.charlie().check_secret(), victim.planes(), seed) {}
    /// The check of a hidden matrix.
    ProductCheck(const HiddenMatrix& hidden, std::uint64_t seed)
        : ProductCheck({hidden.davids_weights()}, 0, hidden.check_secret(), hidden_set().planes,
                       seed) {}

    /// `error` mod L is added to the honest reply.
    bool accepts(const std::vector<std::uint64_t>& error) const {
        std::vector<std::uint8_t> forged = reply_;
        for (std::size_t p = 0; p < check_.planes(); ++p) {
            const std::uint64_t prime = base::parameters::primes[p];
            for (std::size_t i = 0; i < rows(); ++i) {
                std::uint8_t& byte = forged[p * rows() + i];
                byte = static_cast<std::uint8_t>((byte + error[i] % prime) % prime);
            }
        }
        return check_.accepts(group_, message_, forged);
    }
    /// Rows of the reply: M, or M + ell.
    std::size_t rows() const { return reply_.size() / check_.planes(); }
    std::size_t planes_of_set() const { return check_.planes(); }
    std::uint64_t modulus_of_set() const { return base::parameters::modulus(check_.planes()); }

private:
    ProductCheck(const kernels::OffloadedWeights& weights, base::GroupId group,
                 const base::CheckSecret& secret, std::size_t h, std::uint64_t seed)
        : group_(group),
          check_(secret, kernels::shapes_of(weights), h),
          message_(h * weights[group].shape().inputs()),
          reply_(h * weights[group].shape().outputs()) {
        std::mt19937_64 random(seed);
        const std::size_t n = message_.size() / h;
        for (std::size_t i = 0; i < message_.size(); ++i) {
            message_[i] = static_cast<std::uint8_t>(random() % base::parameters::primes[i / n]);
        }
        weights[group].apply(message_, reply_, h);
    }

    base::GroupId group_;
    protocol::IntegrityCheck check_;
    std::vector<std::uint8_t> message_, reply_;
};

/// o_proj in block 0, hidden.
inline HiddenMatrix hidden_o_proj(const Setting& setting) {
    std::mt19937_64 random(std::random_device{}());
    return {weights_of(setting, "model.layers.0.self_attn.o_proj").cast<float>(), random};
}

inline Outcome rejected_share(std::uint64_t rejected, std::uint64_t tried, double threshold,
                              std::string note = {}) {
    return {static_cast<double>(rejected) / static_cast<double>(tried), threshold, tried,
            std::move(note)};
}

}  // namespace slip::attacks

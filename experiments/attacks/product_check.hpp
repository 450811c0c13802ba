// The product's integrity check of one group, for one forged reply after the other.
#pragma once

#include <random>
#include <vector>

#include "experiments/attacks/victim.hpp"
#include "optimized/protocol/integrity.hpp"

namespace slip::attacks {

/// The check of o_proj in block 0, with an honest reply to a random message.
class ProductCheck {
public:
    ProductCheck(const Victim& victim, protocol::KeyStream&& keys, std::mt19937_64& random)
        : group_(victim.find("o_proj", 0).group),
          weights_(victim.weights()[group_]),
          keys_(std::move(keys)),
          check_(weights_, group_, keys_),
          message_(weights_.cols()),
          reply_(weights_.rows()) {
        for (std::uint32_t& entry : message_) entry = static_cast<std::uint32_t>(random() % P31::p);
        weights_.apply<P31>(message_, reply_);
    }

    bool accepts(const std::vector<std::uint64_t>& error) const {
        std::vector<std::uint32_t> forged = reply_;
        for (std::size_t i = 0; i < error.size(); ++i) {
            forged[i] = static_cast<std::uint32_t>((forged[i] + error[i]) % P31::p);
        }
        return check_.accepts(message_, forged);
    }
    std::size_t rows() const { return weights_.rows(); }

private:
    base::GroupId group_;
    const kernels::GroupWeights& weights_;
    protocol::KeyStream keys_;
    protocol::IntegrityCheck<P31> check_;
    std::vector<std::uint32_t> message_, reply_;
};

inline Outcome rejected_share(std::uint64_t rejected, std::uint64_t tried, double threshold,
                              std::string note = {}) {
    return {static_cast<double>(rejected) / static_cast<double>(tried), threshold, tried,
            std::move(note)};
}

}  // namespace slip::attacks

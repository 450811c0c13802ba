// Charlie's A and B as the kernels stream them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "optimized/artifact/artifact.hpp"
#include "optimized/base/huge_buffer.hpp"

namespace slip::engines {

/// Copies of the factors of every member, one after the other in the order of use, because a
/// decode step reads all of them once. Wiped by the destructor, and in no core dump: they are the
/// model owner's secret.
class LowRankFactors {
public:
    explicit LowRankFactors(const std::vector<artifact::CharlieGroup>& groups);
    LowRankFactors(const LowRankFactors&) = delete;
    LowRankFactors& operator=(const LowRankFactors&) = delete;
    ~LowRankFactors();

    /// DECO-7: z = B q for member `member` of `group`.
    void inner(base::GroupId group, std::size_t member, const std::int16_t* q,
               std::int64_t* z) const;
    /// LIN-2: y = 2^t y_D + A z.
    void outer(base::GroupId group, std::size_t member, const std::int64_t* z,
               const std::int64_t* y_david, std::int64_t* y) const;

private:
    struct Member {
        std::size_t m = 0, n = 0, k = 0;
        unsigned limbs = 0;        // of z
        std::size_t a = 0, b = 0;  // where they begin
    };

    std::vector<std::vector<Member>> members_;  // of each group
    base::HugeBuffer buffer_{0};
};

}  // namespace slip::engines

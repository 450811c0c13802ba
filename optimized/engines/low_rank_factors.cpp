#include "optimized/engines/low_rank_factors.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "optimized/base/secret_buffer.hpp"

namespace slip {
namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t largest_n = std::size_t{1} << 20;  // PARAM-3

/// Where the next `bytes` begin; `end` moves behind them.
std::size_t reserve(std::size_t bytes, std::size_t& end) {
    const std::size_t begin = end;
    end += (bytes + alignment - 1) / alignment * alignment;
    return begin;
}

std::uint64_t largest_magnitude(MatrixView<const std::int32_t> a) {
    std::int64_t largest = 0;
    for (const std::int32_t v : a.elements())
        largest = std::max(largest, std::abs(std::int64_t{v}));
    return static_cast<std::uint64_t>(largest);
}

}  // namespace

LowRankFactors::LowRankFactors(const std::vector<CharlieGroup>& groups) {
    const kernels::Backend& backend = kernels::active();  // the same for the whole process
    std::size_t end = 0;
    for (const CharlieGroup& group : groups) {
        auto& members = members_.emplace_back();
        for (const CharlieMember& member : group.members) {
            Member& own =
                members.emplace_back(Member{member.shape.m, group.n, member.rank, false, 0, 0});
            // |z| <= 2^20 * 32767 * 32767 < 2^50, as the narrow kernel requires.
            own.narrow =
                own.n <= largest_n && kernels::is_narrow(own.k, largest_magnitude(member.a));
            own.b = reserve(member.b.elements().size_bytes(), end);
            own.a = reserve(
                own.narrow ? backend.factor_bytes(own.m, own.k) : member.a.elements().size_bytes(),
                end);
        }
    }
    buffer_ = HugeBuffer(end);
    for (std::size_t g = 0; g < groups.size(); ++g) {
        for (std::size_t i = 0; i < members_[g].size(); ++i) {
            const Member& own = members_[g][i];
            const CharlieMember& member = groups[g].members[i];
            if (own.k == 0) continue;
            std::memcpy(buffer_.data() + own.b, member.b.data(), member.b.elements().size_bytes());
            if (own.narrow) {
                backend.pack_factor(member.a.data(), own.m, own.k,
                                    reinterpret_cast<std::int16_t*>(buffer_.data() + own.a));
            } else {
                std::memcpy(buffer_.data() + own.a, member.a.data(),
                            member.a.elements().size_bytes());
            }
        }
    }
}

LowRankFactors::~LowRankFactors() { wipe(buffer_.data(), buffer_.size()); }

void LowRankFactors::inner(std::size_t group, std::size_t member, const std::int16_t* q,
                           std::int64_t* z) const {
    const Member& own = members_[group][member];
    kernels::active().low_rank_inner(at<std::int16_t>(own.b), own.k, own.n, q, z);
}

template <class P>
void LowRankFactors::outer(std::size_t group, std::size_t member, const std::int64_t* z,
                           const typename P::Product* y_david, std::int64_t* y) const {
    const Member& own = members_[group][member];
    const auto& kernels = kernels::active().of<P>();
    if (own.narrow) {
        kernels.low_rank_outer_narrow(at<std::int16_t>(own.a), own.m, own.k, z, y_david, y);
    } else {
        kernels.low_rank_outer(at<std::int32_t>(own.a), own.m, own.k, z, y_david, y);
    }
}

template void LowRankFactors::outer<kernels::P31>(std::size_t, std::size_t, const std::int64_t*,
                                                  const std::int32_t*, std::int64_t*) const;
template void LowRankFactors::outer<kernels::P61>(std::size_t, std::size_t, const std::int64_t*,
                                                  const std::int64_t*, std::int64_t*) const;

}  // namespace slip

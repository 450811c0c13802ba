#include "optimized/engines/low_rank_factors.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "optimized/base/secret_buffer.hpp"

namespace slip {
namespace {

constexpr std::size_t alignment = 64;

/// Where the next `bytes` begin; `end` moves behind them.
std::size_t reserve(std::size_t bytes, std::size_t& end) {
    const std::size_t begin = end;
    end += (bytes + alignment - 1) / alignment * alignment;
    return begin;
}

struct Magnitudes {
    std::uint64_t largest = 0;   // absolute value of an element
    std::uint64_t row_norm = 0;  // sum of the absolute values of a row
};

template <class T>
Magnitudes magnitudes(MatrixView<const T> matrix) {
    Magnitudes found;
    for (std::size_t i = 0; i < matrix.rows(); ++i) {
        std::uint64_t norm = 0;
        for (const T v : matrix.row(i)) {
            const auto magnitude = static_cast<std::uint64_t>(std::abs(std::int64_t{v}));
            found.largest = std::max(found.largest, magnitude);
            norm += magnitude;
        }
        found.row_norm = std::max(found.row_norm, norm);
    }
    return found;
}

}  // namespace

LowRankFactors::LowRankFactors(const std::vector<CharlieGroup>& groups) {
    const kernels::Backend& backend = kernels::active();  // the same for the whole process
    std::size_t end = 0;
    for (const CharlieGroup& group : groups) {
        auto& members = members_.emplace_back();
        for (const CharlieMember& member : group.members) {
            Member& own = members.emplace_back();
            own.m = member.shape.m, own.n = group.n, own.k = member.rank;
            const Magnitudes a = magnitudes<std::int32_t>(member.a);
            own.narrow = kernels::is_narrow(own.k, a.largest, a.row_norm);
            const Magnitudes b = magnitudes<std::int16_t>(member.b);
            own.limbs = kernels::limbs_of(b.row_norm * static_cast<std::uint64_t>(group.qa_max));
            own.b = reserve(backend.right_bytes(own.k, own.n), end);
            own.a = reserve(
                own.narrow ? backend.left_bytes(own.m, own.k) : member.a.elements().size_bytes(),
                end);
        }
    }
    buffer_ = HugeBuffer(end);
    for (std::size_t g = 0; g < groups.size(); ++g) {
        for (std::size_t i = 0; i < members_[g].size(); ++i) {
            const Member& own = members_[g][i];
            const CharlieMember& member = groups[g].members[i];
            if (own.k == 0) continue;
            backend.pack_right(member.b.data(), own.k, own.n,
                               reinterpret_cast<std::int16_t*>(buffer_.data() + own.b));
            if (own.narrow) {
                backend.pack_left(member.a.data(), own.m, own.k,
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
        kernels.low_rank_outer_narrow(at<std::int16_t>(own.a), own.m, own.k, own.limbs, z, y_david,
                                      y);
    } else {
        kernels.low_rank_outer(at<std::int32_t>(own.a), own.m, own.k, z, y_david, y);
    }
}

template void LowRankFactors::outer<kernels::P31>(std::size_t, std::size_t, const std::int64_t*,
                                                  const std::int32_t*, std::int64_t*) const;
template void LowRankFactors::outer<kernels::P61>(std::size_t, std::size_t, const std::int64_t*,
                                                  const std::int64_t*, std::int64_t*) const;

}  // namespace slip

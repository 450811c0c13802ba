#include "optimized/engines/low_rank_factors.hpp"

#include <algorithm>
#include <cstdlib>

#include "optimized/base/pages.hpp"
#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/registry.hpp"

namespace slip::engines {
namespace {

using base::GroupId;

constexpr std::size_t alignment = 64;

/// Where the next `bytes` begin; `end` moves behind them.
std::size_t reserve(std::size_t bytes, std::size_t& end) {
    const std::size_t begin = end;
    end += (bytes + alignment - 1) / alignment * alignment;
    return begin;
}

/// The greatest sum of the absolute values of a row.
std::uint64_t row_norm(base::MatrixView<const std::int16_t> matrix) {
    std::uint64_t largest = 0;
    for (std::size_t i = 0; i < matrix.rows(); ++i) {
        std::uint64_t norm = 0;
        for (const std::int16_t v : matrix.row(i)) norm += static_cast<unsigned>(std::abs(v));
        largest = std::max(largest, norm);
    }
    return largest;
}

/// The kernel finds the exponents again: it takes A with them multiplied in.
void pack_left(const artifact::LeftFactor& a, kernels::PackedLeft* left) {
    const std::size_t m = a.significands.rows();
    const std::size_t k = a.significands.cols();
    base::SecretBuffer<std::int32_t> entries(m * k);
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t c = 0; c < k; ++c) entries[i * k + c] = a(i, c);
    }
    kernels::active().pack_left(entries.data(), m, k, left);
}

}  // namespace

LowRankFactors::LowRankFactors(const std::vector<artifact::CharlieGroup>& groups) {
    const kernels::Backend& backend = kernels::active();  // the same for the whole process
    std::size_t end = 0;
    for (const artifact::CharlieGroup& group : groups) {
        auto& members = members_.emplace_back();
        for (const artifact::CharlieMember& member : group.members) {
            Member& own = members.emplace_back();
            own.m = member.shape.m, own.n = group.n, own.k = member.rank;
            own.limbs = kernels::limbs_of(row_norm(member.b) *
                                          static_cast<std::uint64_t>(group.activation_norm));
            own.b = reserve(backend.right_bytes(own.k, own.n), end);
            own.a = reserve(backend.left_bytes(own.m, own.k), end);
        }
    }
    buffer_ = base::HugeBuffer(end, base::HugeBuffer::InDumps::no);
    base::provide_for_writing(buffer_.data(), buffer_.size());
    auto* const rights = buffer_.as<kernels::PackedRight>();
    auto* const lefts = buffer_.as<kernels::PackedLeft>();
    for (GroupId g = 0; g < groups.size(); ++g) {
        for (std::size_t i = 0; i < members_[g].size(); ++i) {
            const Member& own = members_[g][i];
            const artifact::CharlieMember& member = groups[g].members[i];
            backend.pack_right(member.b.data(), own.k, own.n, rights + own.b);
            pack_left(member.a, lefts + own.a);
        }
    }
}

LowRankFactors::~LowRankFactors() { base::wipe(buffer_.data(), buffer_.size()); }

void LowRankFactors::inner(GroupId group, std::size_t member, const std::int16_t* q,
                           std::int64_t* z) const {
    const Member& own = members_[group][member];
    kernels::active().low_rank_inner(buffer_.as<kernels::PackedRight>() + own.b, own.k, own.n, q,
                                     z);
}

void LowRankFactors::outer(GroupId group, std::size_t member, const std::int64_t* z,
                           const std::int64_t* y_david, std::int64_t* y) const {
    const Member& own = members_[group][member];
    kernels::active().low_rank_outer(buffer_.as<kernels::PackedLeft>() + own.a, own.m, own.k,
                                     own.limbs, z, y_david, y);
}

}  // namespace slip::engines

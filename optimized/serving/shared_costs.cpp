#include "optimized/serving/shared_costs.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "optimized/base/error.hpp"

namespace slip::serving {

using base::GroupId;
using base::MatrixView;

void SharedCosts::begin(api::Runtime& runtime, std::vector<Participant> participants) {
    runtime_ = &runtime;
    participants_ = std::move(participants);
    columns_.assign(participants_.size(), {});
    message_ = {};
}

/// Whose the columns of a product are: in the order of the batch, as many per token as the group
/// has (ATTN-1).
void SharedCosts::place_columns(GroupId group, std::size_t columns) {
    const auto own = [&](const Participant& participant) {
        return group == head_ ? participant.wanted : participant.rows;
    };
    std::size_t tokens = 0;
    for (const Participant& participant : participants_) tokens += own(participant);
    const std::size_t per_token = columns / std::max<std::size_t>(tokens, 1);
    base::require(participants_.size() == 1 || per_token * tokens == columns,
                  "SharedCosts: a product that is not of this step");
    std::size_t first = 0;
    for (std::size_t i = 0; i < participants_.size(); ++i) {
        const std::size_t count =
            participants_.size() == 1 ? columns : own(participants_[i]) * per_token;
        columns_[i] = {first, first + count};
        first += count;
    }
}

void SharedCosts::apply(GroupId group, MatrixView<const float> input,
                        std::span<const MatrixView<float>> outputs) {
    place_columns(group, input.rows());
    const std::size_t largest = runtime_->columns_per_message(group);
    for (std::size_t first = 0; first < input.rows();) {
        const std::size_t count = std::min(largest, input.rows() - first);
        message_ = {first, first + count};
        std::vector<MatrixView<float>> rows;
        rows.reserve(outputs.size());
        for (const auto& output : outputs) rows.push_back(output.rows_from(first, count));
        const RunStatistics before = runtime_->statistics();
        runtime_->engine().apply(group, input.rows_from(first, count), rows);
        share(before, runtime_->statistics());
        first += count;
    }
}

/// The participant's columns in the message, counted from its first.
SharedCosts::Columns SharedCosts::own_in_message(std::size_t participant) const {
    const Columns own = columns_[participant];
    const std::size_t first = std::clamp(own.first, message_.first, message_.end);
    const std::size_t end = std::clamp(own.end, message_.first, message_.end);
    return {first - message_.first, end - message_.first};
}

bool SharedCosts::in_last_message(std::size_t participant) const {
    return own_in_message(participant).count() > 0;
}

void SharedCosts::share(const RunStatistics& before, const RunStatistics& after) const {
    for (std::size_t i = 0; i < participants_.size(); ++i) {
        const Columns own = own_in_message(i);
        if (own.count() == 0) continue;
        // Rounded at the borders of the columns, so that the shares add up.
        const auto part = [&](std::uint64_t RunStatistics::*cost) {
            const std::uint64_t whole = after.*cost - before.*cost;
            return whole * own.end / message_.count() - whole * own.first / message_.count();
        };
        participants_[i].receipt->OnlineCosts::add(
            {.rounds = after.rounds - before.rounds,
             .checks = after.checks - before.checks,
             .bytes_up = part(&RunStatistics::bytes_up),
             .bytes_down = part(&RunStatistics::bytes_down),
             .charlie_multiplications = part(&RunStatistics::charlie_multiplications),
             .david_multiplications = part(&RunStatistics::david_multiplications)});
    }
}

}  // namespace slip::serving

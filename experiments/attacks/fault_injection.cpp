// Without the check David adds errors of his choice to his replies, and reads matrices through the
// model from the logits. Two stages: errors in the last block's last reply give the head, column by
// column; errors in the reply before it give the columns of down_proj, seen through that head.
#include <functional>
#include <optional>

#include "experiments/attacks/distance.hpp"
#include "experiments/attacks/linear_algebra.hpp"
#include "experiments/attacks/runs.hpp"
#include "experiments/attacks/weakened_engine.hpp"

namespace slip::attacks {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// What is added to David's replies: `amount` to entry `row` of the reply of `group`.
struct Fault {
    base::GroupId group;
    std::size_t row;
    std::int64_t amount;
};

/// The logits of one fixed prompt with these faults; nothing once David is caught.
using Oracle = std::function<std::optional<VectorXd>(const std::vector<Fault>&)>;

constexpr std::int64_t amount = std::int64_t{1} << 24;

/// Logits are W D x / rms(x). With x + e and x - e the three roots differ, and
/// r+ l+ + r- l- = 2 r0 l0 gives their ratios. Returns W D e / r0.
VectorXd direction(const VectorXd& plus, const VectorXd& minus, const VectorXd& none) {
    MatrixXd both(plus.size(), 2);
    both << plus, minus;
    const VectorXd roots = least_squares(both, 2 * none);
    return (roots(0) * plus - roots(1) * minus) / 2;
}

class ColumnReader {
public:
    ColumnReader(const Victim& victim, Oracle oracle)
        : oracle_(std::move(oracle)),
          last_(victim.config().num_hidden_layers - 1),
          gate_(victim.find("gate_proj", last_)),
          up_(victim.find("up_proj", last_)),
          down_(victim.find("down_proj", last_)),
          width_(victim.config().hidden_size) {}

    /// The columns of down_proj in steps of its rows, each up to a factor. Nothing if caught.
    std::optional<MatrixXd> columns_of_down(std::size_t count) {
        const auto none = ask({});
        if (!none) return std::nullopt;
        MatrixXd head(none->size(), static_cast<Index>(width_));
        for (std::size_t j = 0; j < width_; ++j) {
            const auto column = read({}, {down_.group, down_.first_row + j, amount}, *none);
            if (!column) return std::nullopt;
            head.col(static_cast<Index>(j)) = *column;
        }
        MatrixXd seen(head.rows(), static_cast<Index>(count));
        for (std::size_t j = 0; j < count; ++j) {
            // A gate that is wide open passes what is added to the other factor.
            const Fault open{gate_.group, gate_.first_row + j, amount};
            const auto base = ask({open});
            if (!base) return std::nullopt;
            const auto column = read(open, {up_.group, up_.first_row + j, amount}, *base);
            if (!column) return std::nullopt;
            seen.col(static_cast<Index>(j)) = *column;
        }
        return least_squares(head, seen);
    }

    std::uint64_t queries() const { return queries_; }

private:
    std::optional<VectorXd> ask(const std::vector<Fault>& faults) {
        ++queries_;
        return oracle_(faults);
    }

    std::optional<VectorXd> read(const std::optional<Fault>& constant, Fault changed,
                                 const VectorXd& none) {
        std::vector<Fault> faults;
        if (constant) faults.push_back(*constant);
        faults.push_back(changed);
        const auto plus = ask(faults);
        if (!plus) return std::nullopt;
        faults.back().amount = -changed.amount;
        const auto minus = ask(faults);
        if (!minus) return std::nullopt;
        return direction(*plus, *minus, none);
    }

    Oracle oracle_;
    std::size_t last_;
    Victim::Place gate_, up_, down_;
    std::size_t width_;
    std::uint64_t queries_ = 0;
};

Tamper tamper_with(const std::vector<Fault>& faults) {
    return [faults](base::GroupId group, std::span<std::int64_t> error) {
        for (const Fault& fault : faults) {
            if (fault.group == group) error[fault.row] += fault.amount;
        }
    };
}

VectorXd as_vector(const std::vector<float>& logits) {
    return Eigen::Map<const Eigen::VectorXf>(logits.data(), static_cast<Index>(logits.size()))
        .cast<double>();
}

/// The mean sine of the angle between a column that was read and the right one.
Outcome compare(const Victim& victim, const Setting& setting, const Oracle& oracle) {
    ColumnReader reader(victim, oracle);
    const auto place = victim.find("down_proj", victim.config().num_hidden_layers - 1);
    const std::size_t count = setting.full ? victim.config().intermediate_size : 16;
    const auto found = reader.columns_of_down(count);
    if (!found) return {1, 0.05, reader.queries(), "caught at the first wrong reply"};
    const auto& scales = victim.charlie().groups()[place.group].members[place.member].row_scale;
    MatrixXd right = victim.davids_part(place) + victim.charlies_part(place);
    for (Index i = 0; i < right.rows(); ++i) {
        right.row(i) /= static_cast<double>(scales[static_cast<std::size_t>(i)]);
    }
    double error = 0;
    for (Index j = 0; j < found->cols(); ++j) {
        error += distance_up_to_factor(found->col(j), right.col(j), right.col(j));
    }
    return {error / static_cast<double>(found->cols()), 0.05, reader.queries()};
}

const std::vector<TokenId> prompt = {1};  // BOS

}  // namespace

Outcome fault_injection_twin(const Setting& setting) {
    const Victim& victim = victim_of(setting);
    return compare(victim, setting, [&](const std::vector<Fault>& faults) {
        WeakenedEngine unchecked(victim, {.tamper = tamper_with(faults)});
        return std::optional(as_vector(victim.logits(unchecked, prompt)));
    });
}

namespace {

/// `victim` answers; what is compared with is the checkpoint's matrix.
Outcome faults_in_sessions(const Victim& victim, const Setting& setting) {
    return compare(victim_of(setting), setting, [&](const std::vector<Fault>& faults) {
        std::optional<VectorXd> logits;
        try {
            ProductSession session(victim, faults.empty() ? Tamper{} : tamper_with(faults));
            logits = as_vector(session.logits(prompt));
        } catch (const IntegrityError&) {
        }
        return logits;
    });
}

}  // namespace

Outcome fault_injection_product(const Setting& setting) {
    return faults_in_sessions(victim_of(setting), setting);
}
Outcome fault_injection_hidden(const Setting& setting) {
    return faults_in_sessions(hidden_victim_of(setting), setting);
}

}  // namespace slip::attacks

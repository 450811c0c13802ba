// How near an attacker came: what the tables call `error`.
#pragma once

#include <Eigen/Core>
#include <cstdio>
#include <string>
#include <vector>

#include "experiments/attacks/victim.hpp"

namespace slip::attacks {

/// min over c of |c found - right| / |unit|, in the Frobenius norm: the distance of an attacker who
/// may be wrong by one common factor. |right| / |unit| if he found nothing.
inline double distance_up_to_factor(const Eigen::MatrixXd& found, const Eigen::MatrixXd& right,
                                    const Eigen::MatrixXd& unit) {
    const double norm = found.squaredNorm();
    const double factor = norm > 0 ? found.cwiseProduct(right).sum() / norm : 0;
    return (factor * found - right).norm() / unit.norm();
}

/// The columns of all messages to `group`, n x N, as David reads them: the centred lift of each
/// residue times the scale of its column.
inline Eigen::MatrixXd columns_seen(const View& view, base::GroupId group) {
    std::vector<Eigen::VectorXd> columns;
    for (const Message& message : view) {
        if (message.group != group) continue;
        const std::size_t n = message.residues.size() / message.columns;
        for (std::size_t c = 0; c < message.columns; ++c) {
            Eigen::VectorXd column(static_cast<Eigen::Index>(n));
            for (std::size_t j = 0; j < n; ++j) {
                column(static_cast<Eigen::Index>(j)) =
                    static_cast<double>(message.scales[c]) *
                    static_cast<double>(lift(message.residues[c * n + j], message.planes));
            }
            columns.push_back(column);
        }
    }
    if (columns.empty()) return {};
    Eigen::MatrixXd all(columns.front().size(), static_cast<Eigen::Index>(columns.size()));
    for (std::size_t c = 0; c < columns.size(); ++c) {
        all.col(static_cast<Eigen::Index>(c)) = columns[c];
    }
    return all;
}

/// The share of entries in which two matrices of one shape differ.
inline double share_that_differs(const Eigen::MatrixXd& found, const Eigen::MatrixXd& right) {
    return static_cast<double>((found.array() != right.array()).count()) /
           static_cast<double>(right.size());
}

/// Three significant digits.
inline std::string figure(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", value);
    return text;
}

}  // namespace slip::attacks

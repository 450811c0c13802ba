// What follows from answers: the width of the model, the column space of its head, final states.
#pragma once

#include <Eigen/Core>
#include <random>
#include <vector>

#include "experiments/safety/outputs/answers.hpp"

namespace slip::outputs {

/// The space of columns that are known up to a constant each: constants are left out.
struct Space {
    Eigen::MatrixXd basis;         ///< orthonormal, of the width that the attacker is told
    Eigen::Index found_width = 0;  ///< the place of the greatest gap among the singular values
    double gap = 0;                ///< there: a singular value over the next
    double gap_at_width = 0;       ///< the same at the true width
};

/// The space of whole columns; the gap is looked for in the first nine tenths of the singular
/// values. `width`: where the true one is.
Space space_of(const Eigen::MatrixXd& logits, Eigen::Index width, std::mt19937_64& random);

/// Whole columns from most of their entries: tokens that most states know give the states'
/// coordinates, and these the other tokens. Nothing if too few are known. `width` as above.
struct Completed {
    Eigen::MatrixXd logits;  ///< of the tokens below
    Eigen::MatrixXd common;  ///< of the tokens that all the states below know
    std::vector<Eigen::Index>
        rows;  ///< tokens that at least half of these states know, and `width`
    std::vector<Eigen::Index> columns;  ///< the states
};
Completed completed(const std::vector<Entry>& entries, Eigen::Index rows, Eigen::Index columns,
                    Eigen::Index width);

/// The columns with 0 where nothing is known and elsewhere what exceeds the least known entry: the
/// bounds that `top-K` gives for the rest, taken as values.
Eigen::MatrixXd clipped(const std::vector<Entry>& entries, Eigen::Index rows, Eigen::Index columns);

/// The product of two factors of this width that comes nearest to the entries and to zero, by
/// alternating least squares; the left one.
Eigen::MatrixXd left_factor(const std::vector<Entry>& entries, Eigen::Index rows,
                            Eigen::Index columns, const Eigen::MatrixXd& start);

/// How near the head is to a space, by its principal angles.
struct Nearness {
    double mean_squared_cosine = 0;
    Eigen::Index directions = 0;  ///< with a squared cosine of at least 0.9
};
Nearness nearness(const Eigen::MatrixXd& head, const Eigen::MatrixXd& basis);

/// The share of final states, in the coordinates that Charlie's part of the head does not reach,
/// that whole columns and David's rows of the same tokens give: their squared cosine with what is
/// found, in [0, 1]. `rank` is that of Charlie's part.
double share_of_states(const Eigen::MatrixXd& logits, const Space& space,
                       const Eigen::MatrixXd& davids, Eigen::Index rank,
                       const Eigen::MatrixXd& hidden);

/// The same from some entries of each column by the shortest vectors that explain them, of an
/// attacker who is told the row scales.
double share_of_states(const std::vector<Entry>& entries, const Head& head,
                       const Eigen::MatrixXd& hidden);

}  // namespace slip::outputs

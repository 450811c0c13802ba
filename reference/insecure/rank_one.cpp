// INSECURE, for demonstration only.
#include "reference/insecure/rank_one.hpp"

#include "reference/error.hpp"
#include "reference/factorizations.hpp"

namespace slip::reference::insecure {

Eigen::MatrixXd recover_rank_one(const Eigen::MatrixXd& R, double largest,
                                 const Loss& loss) {  // E-10
    require(R.rows() == R.cols() && R.rows() >= 1, "the matrix is square");
    const Svd parts = svd(R);
    const Eigen::VectorXd u = parts.U.rightCols(1);
    const Eigen::VectorXd v = parts.V.rightCols(1);
    const auto weight = [&](double x) { return Eigen::MatrixXd(R + x * u * v.transpose()); };

    double centre = 0;
    double radius = largest;
    constexpr int half = 100;
    for (int pass = 0; pass < 8; ++pass) {  // the interval shrinks by a factor of 50 each time
        const double step = radius / half;
        double best = centre;
        for (int i = -half; i <= half; ++i) {
            const double x = centre + i * step;
            if (loss(weight(x)) < loss(weight(best))) best = x;
        }
        centre = best;
        radius = 2 * step;
    }
    return weight(centre);
}

}  // namespace slip::reference::insecure

#include <Eigen/Core>
#include <memory>

#include "experiments/bench/peers/peer.hpp"

namespace slip::bench {

Peer eigen_float(const Problem& problem) {
    using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    struct State {
        Matrix w, x, y;
    };
    const auto m = static_cast<Eigen::Index>(problem.m), n = static_cast<Eigen::Index>(problem.n);
    const auto b = static_cast<Eigen::Index>(problem.b);
    const auto state = std::make_shared<State>(State{Matrix(m, n), Matrix(b, n), Matrix(b, m)});
    std::copy(problem.w.begin(), problem.w.end(), state->w.data());
    std::copy(problem.x.begin(), problem.x.end(), state->x.data());
    const std::string version = std::to_string(EIGEN_WORLD_VERSION) + '.' +
                                std::to_string(EIGEN_MAJOR_VERSION) + '.' +
                                std::to_string(EIGEN_MINOR_VERSION);
    return {"eigen", "unprotected float, Eigen " + version,
            [state] { state->y.noalias() = state->x * state->w.transpose(); }, not_exact};
}

}  // namespace slip::bench

#include <cblas.h>

#include <memory>
#include <sstream>

#include "experiments/bench/peers/peer.hpp"

namespace slip::bench {
namespace {

/// Y = X W^T, one token per row.
void product(int m, int n, int b, const double* x, const double* w, double* y) {
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, b, m, n, 1, x, n, w, n, 0, y, m);
}
void product(int m, int n, int b, const float* x, const float* w, float* y) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, b, m, n, 1, x, n, w, n, 0, y, m);
}

/// OpenBLAS 0.3.21 SkylakeX.
std::string version() {
    std::istringstream configuration(openblas_get_config());
    std::string name, number;
    configuration >> name >> number;
    return name + ' ' + number + ' ' + openblas_get_corename();
}

template <class Number>
struct State {
    explicit State(const Problem& problem)
        : m(static_cast<int>(problem.m)),
          n(static_cast<int>(problem.n)),
          b(static_cast<int>(problem.b)),
          w(problem.w.begin(), problem.w.end()),
          x(problem.x.begin(), problem.x.end()),
          y(problem.b * problem.m) {}
    void multiply() { product(m, n, b, x.data(), w.data(), y.data()); }

    int m, n, b;
    std::vector<Number> w, x, y;
    std::vector<std::uint32_t> residues;
};

}  // namespace

Peer openblas_dgemm(const Problem& problem) {
    const auto state = std::make_shared<State<double>>(problem);
    const auto multiply = [state] {
        state->multiply();
        state->residues.clear();
        for (const double sum : state->y) {
            state->residues.push_back(embed(static_cast<std::int64_t>(sum)));
        }
    };
    return {"dgemm", "exact dgemm, " + version(), multiply, [state] { return state->residues; }};
}

Peer openblas_sgemm(const Problem& problem) {
    const auto state = std::make_shared<State<float>>(problem);
    return {"sgemm", "unprotected sgemm, " + version(), [state] { state->multiply(); }, not_exact};
}

}  // namespace slip::bench

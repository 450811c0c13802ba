#include <NTL/mat_lzz_p.h>
#include <NTL/version.h>

#include <memory>

#include "experiments/bench/peers/peer.hpp"

namespace slip::bench {

Peer ntl(const Problem& problem) {
    struct State {
        NTL::mat_zz_p w, x, y;
    };
    NTL::zz_p::init(modulus);
    const auto state = std::make_shared<State>();
    const auto m = static_cast<long>(problem.m), n = static_cast<long>(problem.n);
    const auto b = static_cast<long>(problem.b);
    state->w.SetDims(m, n);
    state->x.SetDims(n, b);
    for (long i = 0; i < m; ++i) {
        for (long j = 0; j < n; ++j) {
            state->w[i][j] = problem.w[static_cast<std::size_t>(i * n + j)];
        }
    }
    for (long c = 0; c < b; ++c) {
        for (long j = 0; j < n; ++j) {
            state->x[j][c] = static_cast<long>(problem.x[static_cast<std::size_t>(c * n + j)]);
        }
    }
    const auto result = [=] {
        std::vector<std::uint32_t> y;
        for (long c = 0; c < b; ++c) {
            for (long i = 0; i < m; ++i) {
                y.push_back(static_cast<std::uint32_t>(NTL::rep(state->y[i][c])));
            }
        }
        return y;
    };
    return {"ntl", "NTL " NTL_VERSION " mat_zz_p", [=] { NTL::mul(state->y, state->w, state->x); },
            result};
}

}  // namespace slip::bench

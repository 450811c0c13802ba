#include <flint/nmod_mat.h>

#include <memory>

#include "experiments/bench/peers/peer.hpp"

namespace slip::bench {

Peer flint(const Problem& problem) {
    struct State {
        nmod_mat_t w, x, y;
    };
    const std::shared_ptr<State> state(new State, [](State* s) {
        for (auto* matrix : {s->w, s->x, s->y}) nmod_mat_clear(matrix);
        delete s;
    });
    const auto m = static_cast<slong>(problem.m), n = static_cast<slong>(problem.n);
    const auto b = static_cast<slong>(problem.b);
    nmod_mat_init(state->w, m, n, modulus);
    nmod_mat_init(state->x, n, b, modulus);
    nmod_mat_init(state->y, m, b, modulus);
    for (slong i = 0; i < m; ++i) {
        for (slong j = 0; j < n; ++j) {
            nmod_mat_entry(state->w, i, j) = embed(problem.w[static_cast<std::size_t>(i * n + j)]);
        }
    }
    for (slong c = 0; c < b; ++c) {
        for (slong j = 0; j < n; ++j) {
            nmod_mat_entry(state->x, j, c) = problem.x[static_cast<std::size_t>(c * n + j)];
        }
    }
    const auto result = [state, m, b] {
        std::vector<std::uint32_t> y;
        for (slong c = 0; c < b; ++c) {
            for (slong i = 0; i < m; ++i) {
                y.push_back(static_cast<std::uint32_t>(nmod_mat_entry(state->y, i, c)));
            }
        }
        return y;
    };
    return {"flint", std::string("FLINT ") + flint_version + " nmod_mat",
            [state] { nmod_mat_mul(state->y, state->w, state->x); }, result};
}

}  // namespace slip::bench

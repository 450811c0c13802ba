#include <fflas-ffpack/fflas-ffpack-config.h>
#include <fflas-ffpack/fflas/fflas.h>
#include <givaro/modular-balanced.h>

#include <memory>

#include "experiments/bench/peers/peer.hpp"

namespace slip::bench {

/// Of its rings that hold 32 bits, ModularBalanced<int64_t>, Modular<int64_t>, Modular<uint64_t>
/// and Modular<Integer> (residue number systems of binary64), the first is the fastest by far.
Peer fflas(const Problem& problem) {
    using Field = Givaro::ModularBalanced<std::int64_t>;
    struct State {
        Field field{modulus};
        std::vector<std::int64_t> w, x, y;  // m x n, n x b, m x b
    };
    const auto state = std::make_shared<State>();
    const std::size_t m = problem.m, n = problem.n, b = problem.b;
    state->x.resize(n * b);
    state->y.resize(m * b);
    state->w.assign(problem.w.begin(), problem.w.end());  // |w| <= 127 is balanced
    for (std::size_t c = 0; c < b; ++c) {
        for (std::size_t j = 0; j < n; ++j) {
            state->field.init(state->x[j * b + c], std::int64_t{problem.x[c * n + j]});
        }
    }
    const auto multiply = [=] {
        const Field& field = state->field;
        FFLAS::fgemm(field, FFLAS::FflasNoTrans, FFLAS::FflasNoTrans, m, b, n, field.one,
                     state->w.data(), n, state->x.data(), b, field.zero, state->y.data(), b);
    };
    const auto result = [=] {
        std::vector<std::uint32_t> y;
        for (std::size_t c = 0; c < b; ++c) {
            for (std::size_t i = 0; i < m; ++i) y.push_back(embed(state->y[i * b + c]));
        }
        return y;
    };
    return {"fflas", "FFLAS-FFPACK " __FFLASFFPACK_VERSION " ModularBalanced<int64_t>", multiply,
            result};
}

}  // namespace slip::bench

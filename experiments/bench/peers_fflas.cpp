// Apart from the other peers, because its headers declare BLAS in their own way.
#ifdef SLIP_PEER_FFLAS
#include <fflas-ffpack/fflas/fflas.h>
#include <givaro/modular.h>

#include <memory>

#include "experiments/bench/peers.hpp"

namespace slip::bench {
namespace {

constexpr std::int64_t p = (std::int64_t{1} << 31) - 1;

struct State {
    Givaro::Modular<std::int64_t> field{p};
    std::vector<std::int64_t> w, x, y;
};

}  // namespace

Peer make_fflas(const std::vector<std::int8_t>& w, std::size_t m, std::size_t n,
                const std::vector<std::uint32_t>& x, std::size_t b) {
    const auto state = std::make_shared<State>();
    for (const std::int8_t v : w) state->w.push_back(v < 0 ? v + p : v);
    state->x.assign(x.begin(), x.end());
    state->y.resize(b * m);
    const auto multiply = [=] {
        FFLAS::fgemm(state->field, FFLAS::FflasNoTrans, FFLAS::FflasTrans, b, m, n,
                     state->field.one, state->x.data(), n, state->w.data(), n, state->field.zero,
                     state->y.data(), m);
    };
    return {"fflas", multiply,
            [=] { return std::vector<std::uint32_t>(state->y.begin(), state->y.end()); }};
}

}  // namespace slip::bench
#endif

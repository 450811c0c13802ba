#include "experiments/bench/peers.hpp"

#include <array>
#include <memory>

#ifdef SLIP_PEER_OPENBLAS
#include <cblas.h>
extern "C" void openblas_set_num_threads(int);
#endif
#ifdef SLIP_PEER_FLINT
#include <flint/nmod_mat.h>
#endif
#ifdef SLIP_PEER_NTL
#include <NTL/mat_lzz_p.h>
#endif
namespace slip::bench {
namespace {

constexpr std::uint32_t p = (std::uint32_t{1} << 31) - 1;

[[maybe_unused]] std::uint32_t embed(std::int64_t v) {
    const std::int64_t remainder = v % std::int64_t{p};
    return static_cast<std::uint32_t>(remainder < 0 ? remainder + p : remainder);
}

struct Problem {
    const std::vector<std::int8_t>& w;
    std::size_t m, n;
    const std::vector<std::uint32_t>& x;
    std::size_t b;
};

#ifdef SLIP_PEER_OPENBLAS
/// Exact in binary64: x = low + 2^16 high, and 127 * 2^16 * n < 2^53. Two products and a reduction.
Peer exact_dgemm(const Problem& problem) {
    struct State {
        std::vector<double> w, low, high, y_low, y_high;
        std::vector<std::uint32_t> y;
    };
    const auto state = std::make_shared<State>();
    state->w.assign(problem.w.begin(), problem.w.end());
    for (const std::uint32_t r : problem.x) {
        state->low.push_back(r & 0xffff);
        state->high.push_back(r >> 16);
    }
    const std::size_t m = problem.m, n = problem.n, b = problem.b;
    for (auto* y : {&state->y_low, &state->y_high}) y->resize(b * m);
    state->y.resize(b * m);
    const auto product = [=](const std::vector<double>& x, std::vector<double>& y) {
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<int>(b),
                    static_cast<int>(m), static_cast<int>(n), 1, x.data(), static_cast<int>(n),
                    state->w.data(), static_cast<int>(n), 0, y.data(), static_cast<int>(m));
    };
    const auto multiply = [=] {
        product(state->low, state->y_low);
        product(state->high, state->y_high);
        for (std::size_t i = 0; i < state->y.size(); ++i) {
            const auto low = static_cast<std::int64_t>(state->y_low[i]);
            const auto high = static_cast<std::int64_t>(state->y_high[i]);
            state->y[i] = embed(low + high * 65536);
        }
    };
    return {"dgemm", multiply, [=] { return state->y; }};
}

/// What a model in the open does: one product in binary32.
Peer unprotected_sgemm(const Problem& problem) {
    struct State {
        std::vector<float> w, x, y;
    };
    const auto state = std::make_shared<State>();
    state->w.assign(problem.w.begin(), problem.w.end());
    for (const std::uint32_t r : problem.x) state->x.push_back(static_cast<float>(r) / p);
    const std::size_t m = problem.m, n = problem.n, b = problem.b;
    state->y.resize(b * m);
    const auto multiply = [=] {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<int>(b),
                    static_cast<int>(m), static_cast<int>(n), 1, state->x.data(),
                    static_cast<int>(n), state->w.data(), static_cast<int>(n), 0, state->y.data(),
                    static_cast<int>(m));
    };
    return {"sgemm", multiply, [] { return std::vector<std::uint32_t>(); }};
}
#endif

#ifdef SLIP_PEER_FLINT
Peer flint(const Problem& problem) {
    struct State {
        nmod_mat_t w, x, y;
    };
    const std::shared_ptr<State> state(new State, [](State* s) {
        for (auto* matrix : {s->w, s->x, s->y}) nmod_mat_clear(matrix);
        delete s;
    });
    const auto [m, n, b] = std::array{static_cast<slong>(problem.m), static_cast<slong>(problem.n),
                                      static_cast<slong>(problem.b)};
    nmod_mat_init(state->w, m, n, p);
    nmod_mat_init(state->x, n, b, p);
    nmod_mat_init(state->y, m, b, p);
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
    const auto result = [state, m = m, b = b] {
        std::vector<std::uint32_t> y;
        for (slong c = 0; c < b; ++c) {
            for (slong i = 0; i < m; ++i) {
                y.push_back(static_cast<std::uint32_t>(nmod_mat_entry(state->y, i, c)));
            }
        }
        return y;
    };
    return {"flint", [state] { nmod_mat_mul(state->y, state->w, state->x); }, result};
}
#endif

#ifdef SLIP_PEER_NTL
Peer ntl(const Problem& problem) {
    struct State {
        NTL::mat_zz_p w, x, y;
    };
    NTL::zz_p::init(p);
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
    return {"ntl", [=] { NTL::mul(state->y, state->w, state->x); }, result};
}
#endif

}  // namespace

std::vector<Peer> make_peers(const std::vector<std::int8_t>& w, std::size_t m, std::size_t n,
                             const std::vector<std::uint32_t>& x, std::size_t b) {
    [[maybe_unused]] const Problem problem{w, m, n, x, b};
    std::vector<Peer> peers;
#ifdef SLIP_PEER_NTL
    peers.push_back(ntl(problem));
#endif
#ifdef SLIP_PEER_FLINT
    peers.push_back(flint(problem));
#endif
#ifdef SLIP_PEER_OPENBLAS
    openblas_set_num_threads(1);
    peers.push_back(exact_dgemm(problem));
    peers.push_back(unprotected_sgemm(problem));
#endif
    return peers;
}

}  // namespace slip::bench

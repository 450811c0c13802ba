#include <NTL/lzz_pX.h>
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

/// Sums in the transforms' domain, of one inverse each; whole products have 511 coefficients.
RingPeer ntl_ring(const RingProblem& problem) {
    constexpr long log_points = 9;
    struct State {
        std::vector<NTL::zz_pX> rows;
        std::vector<NTL::fftRep> secret;
        std::vector<NTL::zz_pX> sums;
    };
    NTL::zz_p::init(static_cast<long>(modulus_of_rings));
    const auto state = std::make_shared<State>();
    const auto polynomial = [](const auto* coefficients) {
        NTL::zz_pX p;
        for (std::size_t j = 0; j < degree_of_rings; ++j) {
            NTL::SetCoeff(p, static_cast<long>(j), static_cast<long>(coefficients[j]));
        }
        return p;
    };
    const std::size_t d = problem.elements;
    for (std::size_t at = 0; at < problem.rows.size(); at += degree_of_rings) {
        state->rows.push_back(polynomial(problem.rows.data() + at));
    }
    for (std::size_t l = 0; l < d; ++l) {
        NTL::fftRep transform;
        NTL::TofftRep(transform, polynomial(problem.secret.data() + l * degree_of_rings),
                      log_points);
        state->secret.push_back(transform);
    }
    state->sums.resize(state->rows.size() / d);
    const auto multiply = [=] {
        NTL::fftRep row, product, sum;
        for (std::size_t i = 0; i < state->sums.size(); ++i) {
            for (std::size_t l = 0; l < d; ++l) {
                NTL::TofftRep(row, state->rows[i * d + l], log_points);
                NTL::mul(l == 0 ? sum : product, row, state->secret[l]);
                if (l > 0) NTL::add(sum, sum, product);
            }
            NTL::FromfftRep(state->sums[i], sum, 0, 2 * degree_of_rings - 2);
        }
    };
    const auto result = [=] {
        std::vector<std::uint64_t> sums;
        for (const NTL::zz_pX& sum : state->sums) {
            for (std::size_t j = 0; j < degree_of_rings; ++j) {
                const auto at = static_cast<long>(j), half = static_cast<long>(degree_of_rings);
                sums.push_back(static_cast<std::uint64_t>(
                    NTL::rep(NTL::coeff(sum, at) - NTL::coeff(sum, at + half))));
            }
        }
        return sums;
    };
    return {"ntl", "NTL " NTL_VERSION " zz_pX, transforms of rows and sums", multiply, result};
}

}  // namespace slip::bench

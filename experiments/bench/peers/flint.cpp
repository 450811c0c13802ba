#include <flint/nmod_mat.h>
#include <flint/nmod_poly.h>

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

RingPeer flint_ring(const RingProblem& problem) {
    struct State {
        std::vector<nmod_poly_struct> rows, secret, sums;
        nmod_poly_t product;
    };
    const std::shared_ptr<State> state(new State, [](State* s) {
        for (auto* all : {&s->rows, &s->secret, &s->sums}) {
            for (nmod_poly_struct& polynomial : *all) nmod_poly_clear(&polynomial);
        }
        nmod_poly_clear(s->product);
        delete s;
    });
    const auto append = [](std::vector<nmod_poly_struct>& all, const auto* coefficients) {
        nmod_poly_init(&all.emplace_back(), modulus_of_rings);
        for (std::size_t j = 0; coefficients != nullptr && j < degree_of_rings; ++j) {
            const auto value = static_cast<std::int64_t>(coefficients[j]);
            nmod_poly_set_coeff_ui(&all.back(), static_cast<slong>(j),
                                   value < 0 ? modulus_of_rings - static_cast<ulong>(-value)
                                             : static_cast<ulong>(value));
        }
    };
    const std::size_t d = problem.elements;
    nmod_poly_init(state->product, modulus_of_rings);
    for (std::size_t at = 0; at < problem.rows.size(); at += degree_of_rings) {
        append(state->rows, problem.rows.data() + at);
        if (at / degree_of_rings % d == 0) {
            append(state->sums, static_cast<const std::int8_t*>(nullptr));
        }
    }
    for (std::size_t l = 0; l < d; ++l) {
        append(state->secret, problem.secret.data() + l * degree_of_rings);
    }
    const auto multiply = [=] {
        for (std::size_t i = 0; i < state->sums.size(); ++i) {
            nmod_poly_zero(&state->sums[i]);
            for (std::size_t l = 0; l < d; ++l) {
                nmod_poly_mul(state->product, &state->rows[i * d + l], &state->secret[l]);
                nmod_poly_add(&state->sums[i], &state->sums[i], state->product);
            }
        }
    };
    const auto result = [=] {
        std::vector<std::uint64_t> sums;
        for (const nmod_poly_struct& sum : state->sums) {
            for (std::size_t j = 0; j < degree_of_rings; ++j) {
                const auto at = static_cast<slong>(j), half = static_cast<slong>(degree_of_rings);
                sums.push_back(nmod_sub(nmod_poly_get_coeff_ui(&sum, at),
                                        nmod_poly_get_coeff_ui(&sum, at + half), sum.mod));
            }
        }
        return sums;
    };
    return {"flint", std::string("FLINT ") + flint_version + " nmod_poly", multiply, result};
}

}  // namespace slip::bench

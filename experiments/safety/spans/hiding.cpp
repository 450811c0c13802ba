#include "experiments/safety/spans/hiding.hpp"

#include <array>
#include <cmath>
#include <numbers>
#include <stdexcept>

namespace safety {

using torch::Tensor;

namespace {

struct NamedHiding {
    Hiding hiding;
    const char* name;
};

constexpr std::array hidings = {NamedHiding{Hiding::random_core, "random-core"},
                                NamedHiding{Hiding::tilted, "tilted"},
                                NamedHiding{Hiding::mixture, "mixture"}};

/// `count` different numbers from `first` to `end` - 1.
Tensor some_of(int64_t first, int64_t end, int64_t count) {
    return torch::randperm(end - first, torch::kLong).slice(0, 0, count) + first;
}

/// The first k columns, each turned towards another one of the rest.
Tensor turned(const Tensor& directions, int64_t k) {
    const double angle = tilt * std::numbers::pi / 180.0;
    const Tensor others = directions.index_select(1, some_of(k, directions.size(1), k));
    return std::cos(angle) * directions.slice(1, 0, k) + std::sin(angle) * others;
}

Tensor random_orthogonal(int64_t k) {
    return std::get<0>(torch::linalg_qr(torch::randn({k, k}, torch::kDouble)));
}

}  // namespace

Hiding hiding_named(const std::string& name) {
    for (const NamedHiding& named : hidings) {
        if (name == named.name) return named.hiding;
    }
    throw std::invalid_argument("expected random-core, tilted or mixture, got '" + name + "'");
}

const char* name_of(Hiding hiding) {
    for (const NamedHiding& named : hidings) {
        if (hiding == named.hiding) return named.name;
    }
    throw std::invalid_argument("no such hiding");
}

Spans spans_to_hide(const Tensor& matrix, int64_t k, Hiding hiding) {
    const int64_t r = std::min(matrix.size(0), matrix.size(1));
    if (2 * k > r) {
        throw std::invalid_argument("rank " + std::to_string(k) + " of a matrix of rank " +
                                    std::to_string(r) + ": expected at most half");
    }
    const auto [u, s, vt] = torch::linalg_svd(matrix.to(torch::kDouble), /*full_matrices=*/false);
    const Tensor v = vt.t();
    if (hiding == Hiding::tilted) return {turned(u, k), turned(v, k)};
    const int64_t strongest = hiding == Hiding::mixture ? (k + 1) / 2 : k;
    const Tensor chosen =
        torch::cat({torch::arange(strongest), some_of(strongest, r, k - strongest)});
    return {u.index_select(1, chosen), v.index_select(1, chosen)};
}

Tensor with_random_core(const Tensor& matrix, const Spans& spans) {
    const Tensor w = matrix.to(torch::kDouble);
    const int64_t k = spans.left.size(1);
    const Tensor values = torch::linalg_svdvals(w);
    const Tensor drawn = values.index_select(0, torch::randint(k, values.size(0), {k}));
    const Tensor core = (random_orthogonal(k) * drawn).mm(random_orthogonal(k));
    const Tensor own = spans.left.t().mm(w).mm(spans.right);
    const Tensor part = spans.left.mm(own - core).mm(spans.right.t());
    return (w - part).to(torch::kFloat);
}

Tensor rounded_to_8_bits(const Tensor& matrix) {
    const Tensor step = matrix.abs().amax(1, /*keepdim=*/true).clamp_min(1e-30) / 127.0;
    return (matrix / step).round() * step;
}

}  // namespace safety

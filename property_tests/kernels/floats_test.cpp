// The float kernels on every backend: bit for bit what their contracts say, operation by operation,
// and the exponential against the library's.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "optimized/base/parameters.hpp"
#include "optimized/kernels/exponential.hpp"
#include "optimized/kernels/registry.hpp"
#include "property_tests/generators/values.hpp"

namespace slip::testing {
namespace {

using kernels::Backend;
using Floats = std::vector<float>;
constexpr float untouched = 12345.0F;
constexpr float infinity = std::numeric_limits<float>::infinity();

/// Runs `body` for every backend that this machine has.
template <class Body>
void for_each_backend(const Body& body) {
    for (const Backend* backend : kernels::available()) {
        SCOPED_TRACE(backend->name);
        body(*backend);
    }
}

float exponential(float x) { return kernels::exponential<1>(x); }

/// The contract's sum of terms.
float ordered_sum(const Floats& terms) {
    std::array<float, 8> lanes{};
    for (std::size_t j = 0; j < terms.size(); ++j) lanes[j % 8] += terms[j];
    float sum = lanes[0] + lanes[4];
    for (std::size_t l = 1; l < 4; ++l) sum += lanes[l] + lanes[l + 4];
    return sum;
}

float ordered_dot(const float* a, const float* b, std::size_t n) {
    Floats terms(n);
    for (std::size_t j = 0; j < n; ++j) terms[j] = a[j] * b[j];
    return ordered_sum(terms);
}

/// The same bits, or two NaNs.
bool same(float a, float b) {
    return (std::isnan(a) && std::isnan(b)) ||
           std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

bool same(const Floats& a, const Floats& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](float x, float y) { return same(x, y); });
}

/// `count` numbers of 24 bits and several magnitudes, drawn within a property: products and sums of
/// them are rounded, and another order of them is another number.
Floats drawn(std::size_t count, const char* name, int largest_exponent = 2) {
    constexpr std::int32_t one = 1 << 24;
    const auto fractions = *any_list<std::int32_t>(count, -one, one).as(name);
    const auto below = *any_list<std::int32_t>(count, 0, 6).as("exponents below the largest");
    Floats values(count);
    for (std::size_t j = 0; j < count; ++j) {
        values[j] = std::ldexp(static_cast<float>(fractions[j]), largest_exponent - below[j] - 24);
    }
    return values;
}

/// For a kernel to prefetch: no memory at all, or an address whose memory nobody may read.
const float* any_next() {
    const auto nobodys = reinterpret_cast<const float*>(std::uintptr_t{100});
    return *rc::gen::element<const float*>(nullptr, nobodys).as("what is read next");
}

/// Rows of a matrix, as the kernels of attention take them.
template <class Float>
std::vector<Float*> rows_of(Float* first, std::size_t rows, std::size_t stride) {
    std::vector<Float*> pointers;
    for (std::size_t r = 0; r < rows; ++r) pointers.push_back(first + r * stride);
    return pointers;
}

RC_GTEST_PROP(Floats, MODEL_5_a_dot_product_adds_in_eight_lanes, ()) {
    const auto n = *any_size(0, 150).as("n");
    const Floats a = drawn(n, "a times 2^24");
    const Floats b = drawn(n, "b times 2^24");
    const float expected = ordered_dot(a.data(), b.data(), n);
    for_each_backend([&](const Backend& backend) {
        RC_ASSERT(same(backend.floats.dot(a.data(), b.data(), n), expected));
    });
}

RC_GTEST_PROP(Floats, MODEL_5_scores_are_scaled_dot_products, ()) {
    const auto rows = *any_size(1, 11).as("rows");
    const auto positions = *any_size(0, 13).as("positions");
    const auto d = *any_size(0, 70).as("d");
    const auto stride = d + *any_size(0, 9).as("elements between keys");
    const Floats q = drawn(rows * d, "queries");
    const Floats keys = drawn(positions * stride, "keys");
    const float scale = drawn(1, "scale").front();
    const float* const next = any_next();
    Floats expected(rows * (positions + 1), untouched);
    for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t p = 0; p < positions; ++p) {
            const float product = ordered_dot(q.data() + r * d, keys.data() + p * stride, d);
            expected[r * (positions + 1) + p] = product * scale;
        }
    }
    for_each_backend([&](const Backend& backend) {
        Floats out(expected.size(), untouched);
        const auto queries = rows_of(q.data(), rows, d);
        const auto outputs = rows_of(out.data(), rows, positions + 1);
        backend.floats.scores(queries.data(), rows, keys.data(), stride, positions, d, scale,
                              outputs.data(), next);
        RC_ASSERT(same(out, expected));
    });
}

RC_GTEST_PROP(Floats, MODEL_5_a_mixture_adds_position_after_position, ()) {
    const auto rows = *any_size(1, 11).as("rows");
    const auto positions = *any_size(0, 13).as("positions");
    const auto width = *any_size(0, 150).as("width");
    const auto stride = width + *any_size(0, 9).as("elements between values");
    const Floats weights = drawn(rows * positions, "weights");
    const Floats values = drawn(positions * stride, "values");
    const Floats before = drawn(rows * (width + 1), "outputs before");
    const float* const next = any_next();
    Floats expected = before;
    for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t p = 0; p < positions; ++p) {
            for (std::size_t j = 0; j < width; ++j) {
                const float term = weights[r * positions + p] * values[p * stride + j];
                expected[r * (width + 1) + j] += term;
            }
        }
    }
    for_each_backend([&](const Backend& backend) {
        Floats out = before;
        const auto from = rows_of(weights.data(), rows, positions);
        const auto outputs = rows_of(out.data(), rows, width + 1);
        backend.floats.mix(from.data(), rows, values.data(), stride, positions, width,
                           outputs.data(), next);
        RC_ASSERT(same(out, expected));
    });
}

RC_GTEST_PROP(Floats, MODEL_5_softmax, ()) {
    const auto n = *any_size(1, 150).as("n");
    const Floats x = drawn(n, "x", *rc::gen::inRange(0, 9).as("largest exponent"));
    Floats expected(n);
    const float largest = *std::max_element(x.begin(), x.end());
    for (std::size_t j = 0; j < n; ++j) expected[j] = exponential(x[j] - largest);
    const float inverse = 1.0F / ordered_sum(expected);
    for (float& value : expected) value *= inverse;
    for_each_backend([&](const Backend& backend) {
        Floats out = x;
        backend.floats.softmax(out.data(), n);
        RC_ASSERT(same(out, expected));
    });
}

RC_GTEST_PROP(Floats, MODEL_5_norms, ()) {
    const auto n = *any_size(1, 150).as("n");
    const Floats x = drawn(n, "x");
    const Floats weight = drawn(n, "weights");
    const Floats bias = drawn(n, "biases");
    constexpr float epsilon = 1e-5F;
    const auto count = static_cast<float>(n);
    const auto inverse_root = [&](const Floats& of) {
        return 1.0F / std::sqrt(ordered_dot(of.data(), of.data(), n) / count + epsilon);
    };
    Floats by_root(n), centred(n), by_deviation(n);
    const float mean = ordered_sum(x) / count;
    for (std::size_t j = 0; j < n; ++j) {
        by_root[j] = weight[j] * (x[j] * inverse_root(x));
        centred[j] = x[j] - mean;
    }
    for (std::size_t j = 0; j < n; ++j) {
        const float scaled = centred[j] * inverse_root(centred) * weight[j];
        by_deviation[j] = scaled + bias[j];
    }
    for_each_backend([&](const Backend& backend) {
        Floats out(n), in_place = x;
        backend.floats.rms_norm(x.data(), weight.data(), n, epsilon, out.data());
        backend.floats.rms_norm(in_place.data(), weight.data(), n, epsilon, in_place.data());
        RC_ASSERT(same(out, by_root) && same(in_place, by_root));
        in_place = x;
        backend.floats.layer_norm(x.data(), weight.data(), bias.data(), n, epsilon, out.data());
        backend.floats.layer_norm(in_place.data(), weight.data(), bias.data(), n, epsilon,
                                  in_place.data());
        RC_ASSERT(same(out, by_deviation) && same(in_place, by_deviation));
    });
}

RC_GTEST_PROP(Floats, MODEL_5_rotation_activations_and_sums, ()) {
    const auto n = *any_size(0, 80).as("n");
    const Floats x = drawn(2 * n, "x", *rc::gen::inRange(-2, 9).as("largest exponent"));
    const Floats y = drawn(2 * n, "y");
    Floats turned(2 * n), gated(2 * n), bent(2 * n), sums(2 * n);
    for (std::size_t j = 0; j < 2 * n; ++j) {
        const float cosine = y[j % n], sine = y[j % n + n];
        const float own = x[j] * cosine, other = (j < n ? x[j + n] : x[j - n]) * sine;
        turned[j] = j < n ? own - other : own + other;
        gated[j] = x[j] / (1.0F + exponential(-x[j])) * y[j];
        const float cube = x[j] * x[j] * x[j];
        const float cubic = base::parameters::gelu_cubic * cube;
        const float doubled = 1.59576912F * (x[j] + cubic);
        bent[j] = x[j] / (1.0F + exponential(-doubled));
        sums[j] = x[j] + y[j];
    }
    for_each_backend([&](const Backend& backend) {
        Floats out = x;
        backend.floats.rotate(out.data(), y.data(), y.data() + n, n);
        RC_ASSERT(same(out, turned));
        out = x;
        backend.floats.swiglu(out.data(), y.data(), 2 * n);
        RC_ASSERT(same(out, gated));
        out = x;
        backend.floats.gelu(out.data(), 2 * n);
        RC_ASSERT(same(out, bent));
        out = x;
        backend.floats.add(y.data(), 2 * n, out.data());
        RC_ASSERT(same(out, sums));
    });
}

RC_GTEST_PROP(Floats, MODEL_5_the_first_of_the_greatest_elements, ()) {
    const auto n = *any_size(1, 700).as("n");
    const float nan = std::numeric_limits<float>::quiet_NaN();
    // Few values, so that the greatest stands in several places.
    const auto x = *rc::gen::container<Floats>(
                        n, rc::gen::element(-infinity, -1.5F, -0.0F, 0.0F, 2.0F, 2.5F, nan))
                        .as("x");
    const auto expected =
        static_cast<std::size_t>(std::max_element(x.begin(), x.end()) - x.begin());
    for_each_backend([&](const Backend& backend) {
        RC_ASSERT(backend.floats.arg_max(x.data(), n) == expected);
    });
}

RC_GTEST_PROP(Floats, MODEL_5_the_greatest_element_anywhere, ()) {
    const auto n = *any_size(1, 1500).as("n");
    const auto at = *rc::gen::inRange<std::size_t>(0, n).as("where");
    Floats x(n, -3.0F);
    x[at] = -2.0F;
    for_each_backend(
        [&](const Backend& backend) { RC_ASSERT(backend.floats.arg_max(x.data(), n) == at); });
}

RC_GTEST_PROP(Floats, MODEL_5_sampling_weights, ()) {
    const auto n = *any_size(1, 150).as("n");
    const Floats x = drawn(n, "x", *rc::gen::inRange(0, 9).as("largest exponent"));
    const float temperature = *rc::gen::element(0.01F, 0.3F, 1.0F, 7.0F).as("temperature");
    const float largest = *std::max_element(x.begin(), x.end());
    Floats expected(n);
    for (std::size_t j = 0; j < n; ++j) {
        const float t = (x[j] - largest) / temperature;
        expected[j] = t < -87.0F ? 0.0F : exponential(t);
    }
    for_each_backend([&](const Backend& backend) {
        Floats out(n), in_place = x;
        const auto weigh = [&](const Floats& from, Floats& to) {
            return backend.floats.sampling_weights(from.data(), n, largest, temperature, to.data());
        };
        RC_ASSERT(same(weigh(x, out), ordered_sum(expected)) && same(out, expected));
        RC_ASSERT(same(weigh(in_place, in_place), ordered_sum(expected)));
        RC_ASSERT(same(in_place, expected));
    });
}

TEST(Floats, MODEL_5_exponential_is_accurate_and_saturates) {
    double largest_error = 0;
    for (float x = -87.0F; x <= 87.0F; x += 0.0009765625F) {
        const double exact = std::exp(double{x});
        largest_error = std::max(largest_error, std::abs(double{exponential(x)} / exact - 1));
    }
    EXPECT_LT(largest_error, std::ldexp(1.0, -22));
    EXPECT_EQ(exponential(0), 1.0F);
    EXPECT_EQ(exponential(-1000), exponential(-87));
    EXPECT_EQ(exponential(1000), exponential(87));
    EXPECT_EQ(exponential(-infinity), exponential(-87));
    EXPECT_TRUE(std::isnan(exponential(NAN)));
}

TEST(Floats, MODEL_5_softmax_of_extremes_is_finite) {
    for_each_backend([](const Backend& backend) {
        for (const std::size_t n : {3U, 19U, 40U}) {
            Floats scores(n, -3e38F);
            scores[n / 2] = 3e38F;
            scores[n - 1] = 0.0F;
            backend.floats.softmax(scores.data(), n);
            EXPECT_FLOAT_EQ(scores[n / 2], 1.0F);
            EXPECT_NEAR(scores[0], 0.0F, 1e-30);
            EXPECT_NEAR(scores[n - 1], 0.0F, 1e-30);
        }
        Floats one{-5.0F};
        backend.floats.softmax(one.data(), 1);
        EXPECT_EQ(one[0], 1.0F);
    });
}

TEST(Floats, MODEL_5_a_score_that_is_not_finite_is_seen) {
    for_each_backend([](const Backend& backend) {
        for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), infinity}) {
            for (std::size_t n = 1; n < 40; ++n) {
                for (std::size_t at = 0; at < n; ++at) {
                    Floats scores(n, 0.5F);
                    scores[at] = wrong;
                    backend.floats.softmax(scores.data(), n);
                    if (std::isnan(wrong)) {
                        for (const float value : scores) EXPECT_TRUE(std::isnan(value));
                    } else {
                        EXPECT_TRUE(std::isnan(scores[at]));
                    }
                }
            }
        }
    });
}

}  // namespace
}  // namespace slip::testing

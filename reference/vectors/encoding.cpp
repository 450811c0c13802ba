#include "reference/encoding.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "reference/integer_model.hpp"
#include "reference/vectors/document.hpp"

namespace slip::reference::vectors {

namespace {

void add_rounding(Document& document) {
    document.begin_group("round", {"owner"});
    const auto add = [&](const char* comment, const std::vector<double>& values) {
        std::vector<Json> input;
        Vector rounded;
        for (double value : values) {
            input.push_back(bits(value));
            rounded.push_back(round_half_even(value));
        }
        document.add({.clause = "CONV-3",
                      .requirement = "a number half way MUST be rounded to the even integer",
                      .comment = comment,
                      .flags = {"ROUNDING"},
                      .input = {{"values", list(input)}},
                      .output = {{"integers", json(rounded)}}});
    };
    add("half way, positive", {0.5, 1.5, 2.5, 3.5, 1048576.5});
    add("half way, negative", {-0.5, -1.5, -2.5, -3.5, -1048577.5});
    add("beside half way", {0.49999999999999994, 0.5000000000000001, 1.4999999999999998});
}

/// A sum of squares in another order than that of ENC-1: in `count` lanes, added up one by one.
double sum_of_squares_in(std::size_t count, const std::vector<float>& x) {
    std::vector<double> lanes(count);
    for (std::size_t j = 0; j < x.size(); ++j) {
        lanes[j % count] += static_cast<double>(x[j]) * static_cast<double>(x[j]);
    }
    return std::accumulate(lanes.begin(), lanes.end(), 0.0);
}

using ScaleOf = std::function<double(const std::vector<float>& x, double target)>;

/// A token of 17 entries to which `other` gives another scale than ENC-1, as a binary32 number: the
/// last three entries bring the scale half way between two of them, as near as binary64 goes.
std::vector<float> unlike(const ScaleOf& other, Numbers& numbers) {
    const double target = 32767 - (std::sqrt(17.0) + 1) / 2;
    for (;;) {
        std::vector<float> x = numbers.activations(14);
        const double sum = ordered_sum_of_squares(x);
        const auto below = static_cast<float>(std::sqrt(1.01 * sum) / target);
        const float above = std::nextafter(below, 1.0F);
        const double half_way =
            (static_cast<double>(below) + static_cast<double>(above)) / 2 * target;
        for (double rest = half_way * half_way - sum; x.size() < 17;) {
            const auto next = static_cast<float>(std::sqrt(std::max(rest, 0.0)));
            x.push_back(std::nextafter(next, 0.0F));
            rest -= static_cast<double>(x.back()) * static_cast<double>(x.back());
        }
        if (static_cast<float>(other(x, target)) != quantise(x, 32767).scale) return x;
    }
}

/// A token of which some q_j is another integer if the inverse is rounded to binary32.
std::vector<float> unlike_short_inverse(Numbers& numbers) {
    const double target = 32767 - (std::sqrt(24.0) + 1) / 2;
    for (;;) {
        std::vector<float> x = numbers.activations(24);
        const auto inverse = static_cast<float>(target / std::sqrt(ordered_sum_of_squares(x)));
        Vector q;
        for (const float x_j : x) {
            q.push_back(round_half_even(static_cast<double>(x_j) * static_cast<double>(inverse)));
        }
        if (q != quantise(x, 32767).q) return x;
    }
}

void add_quantisation(Document& document) {
    document.begin_group("quantise", {"charlie"});
    const auto add = [&](const char* comment, const std::vector<float>& x, std::int32_t norm,
                         const char* flag) {
        const QuantisedToken token = quantise(x, norm);
        document.add({.clause = "ENC-1",
                      .requirement = "q MUST be round(x_j * inverse) in binary64, scaled by the "
                                     "ordered sum of squares",
                      .comment = comment,
                      .flags = {flag},
                      .input = {{"x", bits(x)}, {"activation_norm", json(Integer(norm))}},
                      .output = {{"q", json(token.q)}, {"scale", bits(token.scale)}}});
    };
    const float tiny = std::ldexp(1.0F, -100);
    add("the zero token", {0.0F, -0.0F, 0.0F}, 2000, "ZERO");
    add("just below the threshold of the zero token",
        {std::nextafter(tiny, 0.0F), -std::nextafter(tiny, 0.0F)}, 2000, "ZERO");
    add("at the threshold", {tiny, -tiny, tiny / 2}, 2000, "ZERO");
    add("subnormal numbers", {std::numeric_limits<float>::denorm_min(), 0.0F}, 1024, "ZERO");
    add("the greatest numbers", {std::numeric_limits<float>::max(), -1.0F, 1e30F}, 32767, "EDGE");
    add("nothing but the greatest number",
        std::vector<float>(17, std::numeric_limits<float>::max()), 1024, "EDGE");
    add("one entry", {-3.25F}, 12345, "SIGN");
    add("one great entry among small ones",
        {0.01F, 1000.0F, -0.02F, 0.03F, -0.04F, 0.05F, 0.06F, -0.07F, 0.08F}, 32767, "ROUNDING");
    // n = 4 gives target = norm - 3/2; the norm of (2, 2, 2, 2) is 4, of (2, 0, 0, 0) 2.
    add("half way between two integers", {2.0F, 2.0F, -2.0F, -2.0F}, 2048, "ROUNDING");
    add("half way, the even integer below", {2.0F, 0.0F, 0.0F, 0.0F}, 2050, "ROUNDING");
    add("half way, the even integer above", {-2.0F, 0.0F, 0.0F, 0.0F}, 2049, "ROUNDING");
    for (const std::int32_t norm : {1024, 4661, 10922, 32767}) {
        for (const std::size_t n : {7U, 8U, 24U, 100U}) {
            add("ordinary values", document.numbers().activations(n), norm, "ROUNDING");
        }
    }
    const auto summed_in = [](std::size_t lanes) -> ScaleOf {
        return [lanes](const std::vector<float>& x, double target) {
            return std::sqrt(sum_of_squares_in(lanes, x)) / target;
        };
    };
    add("another scale if the squares are added from left to right",
        unlike(summed_in(1), document.numbers()), 32767, "ORDER");
    add("another scale if the squares are added in four lanes",
        unlike(summed_in(4), document.numbers()), 32767, "ORDER");
    add("another scale if it is one over the inverse",
        unlike([](const std::vector<float>& x,
                  double target) { return 1 / (target / std::sqrt(ordered_sum_of_squares(x))); },
               document.numbers()),
        32767, "ROUNDING");
    add("another integer if the inverse is rounded to binary32",
        unlike_short_inverse(document.numbers()), 32767, "ROUNDING");
    const std::vector<std::pair<const char*, float>> refused{
        {"a NaN", std::numeric_limits<float>::quiet_NaN()},
        {"an infinity", std::numeric_limits<float>::infinity()},
        {"a negative infinity", -std::numeric_limits<float>::infinity()}};
    for (const auto& [comment, value] : refused) {
        document.add(
            {.clause = "ENC-1",
             .requirement = "an activation that is not finite MUST be refused",
             .comment = comment,
             .flags = {"NOT_FINITE"},
             .input = {{"x", bits({1.0F, value, 2.0F})}, {"activation_norm", json(Integer(2000))}},
             .failure = Failure{"quantise", "ENC-1"}});
    }
}

void add_dequantisation(Document& document) {
    Numbers& numbers = document.numbers();
    document.begin_group("dequantise", {"charlie"});
    const auto add = [&](const char* comment, const Vector& y, const std::vector<float>& rows,
                         float scale, const char* flag) {
        document.add(
            {.clause = "ENC-2",
             .requirement = "y MUST be float32(double(y_int) * row scale * token scale), "
                            "left to right in binary64",
             .comment = comment,
             .flags = {flag},
             .input = {{"y_int", json(y)}, {"row_scale", bits(rows)}, {"token_scale", bits(scale)}},
             .output = {{"y", bits(dequantise(y, rows, scale))}}});
    };
    const Integer top = std::numeric_limits<std::int64_t>::max();
    add("zero and the least integers", {0, 1, -1}, {0.5F, 0.25F, 3.0F}, 0.1F, "SIGN");
    add("the edges of 64 bits", {top, -top, -top - 1}, {1e-9F, 1e-9F, 1e-9F}, 1e-3F, "EDGE");
    add("integers half way between two binary64 numbers",
        {(Integer(1) << 53) + 1, (Integer(1) << 54) + 2, (Integer(1) << 54) + 6},
        {1.0F, 1.0F, 1.0F}, 1.0F, "ROUNDING");
    add("a result beyond binary32 is infinite", {top, -top}, {1e30F, 1e30F}, 1e30F, "EDGE");
    for (int i = 0; i < 3; ++i) {
        std::vector<float> rows;
        for (float x : numbers.activations(12)) rows.push_back(std::fabs(x) * 1e-7F + 1e-9F);
        add("ordinary values", numbers.vector(12, -(Integer(1) << 50), Integer(1) << 50), rows,
            std::fabs(numbers.activation()) * 1e-3F + 1e-6F, "ROUNDING");
    }
}

/// The least integer whose square is no less.
Integer root_of(const Integer& square) {
    const Integer root = sqrt(square);
    return root * root == square ? root : Integer(root + 1);
}

void add_bounds(Document& document, const ParameterSet& set) {
    const Integer half = (set.ring().modulus() - 1) / 2;
    document.begin_group("activation_bound", {"owner"}, set);
    const auto add = [&](const char* comment, const Integer& square) {
        const Integer norm = root_of(square);
        Integer bound = largest_activation_norm;
        if (norm > 0 && half / norm < bound) bound = half / norm;
        Case entry{.clause = "ENC-3",
                   .requirement =
                       "B_w MUST be the greatest 2-norm of a row, rounded up, and B_q "
                       "min(32767, floor(((L-1)/2) / B_w)), not below 1024",
                   .comment = comment,
                   .flags = {"BOUND"},
                   .input = {{"row_squares", json(Vector{square, square / 2})}},
                   .output = {{"row_norm", json(norm)}, {"activation_norm", json(bound)}}};
        if (bound < smallest_activation_norm) {
            entry.output.clear();
            entry.failure = Failure{"activation bound", "ENC-3"};
        }
        document.add(entry);
    };
    add("zero rows", 0);
    add("an ordinary row", 1400 * 1400 + 17);
    add("a square", 1400 * 1400);
    add("one above a square", 1400 * 1400 + 1);
    add("one below a square", 1400 * 1400 - 1);
    add("the greatest row of an int8 matrix with 2^20 columns", Integer(127 * 127) << 20);
    const Integer last = half / 32767, least = half / smallest_activation_norm;
    add("the last norm with B_q 32767", last * last);
    add("the first norm with B_q below 32767", last * last + 1);
    add("the last norm that is accepted", least * least);
    add("the first norm that is refused", least * least + 1);
}

void add_modulus_bounds(Document& document, const ParameterSet& set) {
    const Integer half = (set.ring().modulus() - 1) / 2;
    document.begin_group("modulus_bound", {"owner"}, set);
    const auto add = [&](const char* comment, const Integer& square, const Integer& norm) {
        Case entry{
            .clause = "ENC-4",
            .requirement = "a group MUST be accepted only if B_w B_q <= (L-1)/2",
            .comment = comment,
            .flags = {"BOUND"},
            .input = {{"row_squares", json(Vector{1, square})}, {"activation_norm", json(norm)}}};
        if (root_of(square) * norm > half) entry.failure = Failure{"static bound", "ENC-4"};
        document.add(entry);
    };
    add("an ordinary group", 1400 * 1400, 20000);
    for (const Integer& norm : {Integer(1024), Integer(3000), Integer(32767)}) {
        const Integer greatest = half / norm;
        add("the greatest norm that fits", greatest * greatest, norm);
        add("a square that is greater by one", greatest * greatest + 1, norm);
        add("a norm that fits L but not (L-1)/2", 4 * greatest * greatest, norm);
    }
    if (set.lattice) return;  // the next square does not fit 64 bits
    // (L - 1) / 2 = 1684281158 = 2 * 842140579: no other product reaches it exactly.
    add("a product of (L-1)/2", (half / 2) * (half / 2), 2);
    add("a product above (L-1)/2", (half / 2) * (half / 2) + 1, 2);
}

void add_product_bounds(Document& document) {
    document.begin_group("product_bound", {"owner"});
    const auto add = [&](const char* comment, const Matrix& A, const Matrix& B, const Matrix& W_D,
                         std::int32_t norm) {
        const Matrix W_int = (Integer(1) << fraction_bits) * W_D + A * B;
        Case entry{.clause = "ENC-5",
                   .requirement = "a group MUST be accepted only if B_q ||W_int[i]||_1 <= 2^63 - 1",
                   .comment = comment,
                   .flags = {"BOUND"},
                   .input = {{"A", json(A)},
                             {"B", json(B)},
                             {"W_D", json(W_D)},
                             {"activation_norm", json(Integer(norm))}}};
        if (!fits_64_bits({W_int}, norm)) entry.failure = Failure{"static bound", "ENC-5"};
        document.add(entry);
    };
    const Integer A_max = largest_left_factor, B_max = largest_right_factor;
    add("an ordinary row", {{1000}}, {{-300, 200}}, {{5, -7}}, 1000);
    // 64 entries of 2^31 2^11 are 2^48, and B_q = 2^15 makes 2^63. The 65th entry is the greatest
    // that fits: 2^20 (2047 b + b') + 2^16 w with b, b' and w in their ranges.
    const Integer last = ((Integer(1) << 63) - 1) / 32767 - 64 * A_max * B_max;
    const Integer units = last >> fraction_bits;
    Matrix A{{A_max, 1 << 20}}, B = all_entries(2, 65, B_max), W_D(1, 65);
    for (std::size_t j = 0; j < 64; ++j) B(1, j) = 0;
    B(0, 64) = units / 16 / B_max;
    B(1, 64) = units / 16 % B_max;
    W_D(0, 64) = units % 16;
    add("the greatest row that fits", A, B, W_D, 32767);
    ++W_D(0, 64);
    add("the same with a weight that is greater by one", A, B, W_D, 32767);
    A = {{A_max, A_max}};
    B = all_entries(2, 65, B_max);
    add("above 2^64, so that 64 bits wrap into the range", A, B, Matrix(1, 65), 32767);
    for (std::size_t j = 0; j < 65; ++j) B(1, j) = -B_max;
    add("terms that cancel", A, B, Matrix(1, 65), 32767);
    add("rows of exponents 0 and 20: the second does not fit", {{2047}, {A_max}},
        all_entries(1, 65, -B_max), Matrix(2, 65), 32767);
}

/// Values for which row scale times token scale, formed first, rounds to another binary32 number.
void add_order_of_dequantisation(Document& document) {
    const Integer y_int(std::int64_t{1804588334629512192});
    const auto row = std::bit_cast<float>(std::uint32_t{0x3058117f});
    const auto token = std::bit_cast<float>(std::uint32_t{0x308c0b46});
    const auto y = y_int.convert_to<double>();
    const double scales = static_cast<double>(row) * static_cast<double>(token);
    require(dequantise(y_int, row, token) != static_cast<float>(y * scales),
            "the order of the products shows in the result");
    document.begin_group("dequantise", {"charlie"});
    document.add(
        {.clause = "ENC-2",
         .requirement = "y_int MUST be multiplied by the row scale first, and the product "
                        "by the token scale",
         .comment = "the product of the two scales first gives another binary32 number",
         .flags = {"ORDER"},
         .input = {{"y_int", json(Vector{y_int})},
                   {"row_scale", bits(std::vector<float>{row})},
                   {"token_scale", bits(token)}},
         .output = {{"y", bits(dequantise(Vector{y_int}, std::vector<float>{row}, token))}}});
}

/// ENC-5. A row whose bound is 2^63, and the next smaller one. Every entry but the last is
/// 2^20 (2047 * 2047 + 2047); the last makes the sum 2^49 + 2^16 w, and B_q is 2^14.
void add_products_of_2_63(Document& document) {
    document.begin_group("product_bound", {"owner"});
    const auto add = [&](const char* comment, const Integer& w) {
        const Matrix A{{largest_left_factor, Integer(1) << 20}};
        Matrix B = all_entries(2, 129, largest_right_factor), W_D(1, 129);
        B(0, 128) = B(1, 128) = 128;
        W_D(0, 128) = w;
        const Matrix W_int = (Integer(1) << fraction_bits) * W_D + A * B;
        const Integer bound = (1 << 14) * largest_row_norm(W_int);
        require(bound == (Integer(1) << 63) + (w << 30), "the row has the bound it was made for");
        Case entry{.clause = "ENC-5",
                   .requirement = "a group MUST be accepted only if B_q ||W_int[i]||_1 <= 2^63 - 1",
                   .comment = comment,
                   .flags = {"BOUND"},
                   .input = {{"A", json(A)},
                             {"B", json(B)},
                             {"W_D", json(W_D)},
                             {"activation_norm", json(Integer(1 << 14))}}};
        if (!fits_64_bits({W_int}, 1 << 14)) entry.failure = Failure{"static bound", "ENC-5"};
        document.add(entry);
    };
    add("exactly 2^63", 0);
    add("2^63 - 2^30", -1);
}

/// ENC-1. Tokens of which the division by norm / target makes another integer.
void add_divisions(Document& document) {
    constexpr std::int32_t B_q = 2000;
    constexpr double target = B_q - (2 + 1) / 2.0;  // n = 4
    document.begin_group("quantise", {"charlie"});
    for (const std::uint32_t entry :
         {0x40fe8709U, 0x40952b96U, 0x40cfc8c0U, 0x409645a1U, 0x401e49efU, 0x400b3557U}) {
        const std::vector<float> x{std::bit_cast<float>(entry), 0.0F, 0.0F, 0.0F};
        const QuantisedToken token = quantise(x, B_q);
        const double scale = std::sqrt(ordered_sum_of_squares(x)) / target;
        require(round_half_even(static_cast<double>(x.front()) / scale) != token.q.front(),
                "the division shows in the result");
        document.add({.clause = "ENC-1",
                      .requirement = "x_j MUST be multiplied by the inverse",
                      .comment = "the division by norm / target gives another integer",
                      .flags = {"ROUNDING"},
                      .input = {{"x", bits(x)}, {"activation_norm", json(Integer(B_q))}},
                      .output = {{"q", json(token.q)}, {"scale", bits(token.scale)}}});
    }
}

}  // namespace

void encoding_edges(Document& document) {
    add_divisions(document);
    add_order_of_dequantisation(document);
    add_products_of_2_63(document);
}

void encoding(Document& document) {
    add_rounding(document);
    add_quantisation(document);
    add_dequantisation(document);
    add_bounds(document, paper());
    add_modulus_bounds(document, paper());
    add_product_bounds(document);
    add_bounds(document, paper_lattice());  // of its convolutions
    add_modulus_bounds(document, paper_lattice());
    lattice_encoding(document, paper_lattice());
}

}  // namespace slip::reference::vectors

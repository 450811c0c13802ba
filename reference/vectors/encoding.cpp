#include "reference/encoding.hpp"

#include <bit>
#include <cmath>
#include <limits>

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

/// A token with four entries whose integer would differ if they were divided by the scale, instead
/// of being multiplied by the inverse.
std::vector<float> unlike_division(Numbers& numbers, std::int32_t qa_max) {
    std::vector<float> x{7.3F};
    while (x.size() < 5) {
        const float candidate =
            static_cast<float>(static_cast<std::int32_t>(numbers.between(-(1 << 23), 1 << 23))) /
            (1 << 21);
        const QuantisedToken token = quantise(std::vector<float>{x[0], candidate}, qa_max);
        if (round_half_even(candidate / token.scale) != token.q[1]) x.push_back(candidate);
    }
    return x;
}

void add_quantisation(Document& document) {
    document.begin_group("quantise", {"charlie"});
    const auto add = [&](const char* comment, const std::vector<float>& x, std::int32_t qa_max,
                         const char* flag) {
        const QuantisedToken token = quantise(x, qa_max);
        document.add({.clause = "ENC-1",
                      .requirement = "q MUST be round(x_j * inverse) in binary32, with scale and "
                                     "inverse from one division each",
                      .comment = comment,
                      .flags = {flag},
                      .input = {{"x", bits(x)}, {"qa_max", json(Integer(qa_max))}},
                      .output = {{"q", json(token.q)}, {"scale", bits(token.scale)}}});
    };
    const float tiny = std::ldexp(1.0F, -100);
    add("the zero token", {0.0F, -0.0F, 0.0F}, 1000, "ZERO");
    add("just below the threshold of the zero token",
        {std::nextafter(tiny, 0.0F), -std::nextafter(tiny, 0.0F)}, 1000, "ZERO");
    add("at the threshold", {tiny, -tiny, tiny / 2}, 1000, "ZERO");
    add("subnormal numbers", {std::numeric_limits<float>::denorm_min(), 0.0F}, 127, "ZERO");
    add("the greatest numbers", {std::numeric_limits<float>::max(), -1.0F, 1e30F}, 32767, "EDGE");
    add("half way between two integers",
        {127.0F, 0.5F, 1.5F, 2.5F, -0.5F, -1.5F, -2.5F, 126.5F, -125.5F}, 127, "ROUNDING");
    add("one entry", {-3.25F}, 12345, "SIGN");
    for (const std::int32_t qa_max : {127, 128, 4661, 10922, 32767}) {
        add("ordinary values", document.numbers().activations(24), qa_max, "ROUNDING");
    }
    add("entries where a division by the scale gives another integer",
        unlike_division(document.numbers(), 32767), 32767, "ROUNDING");
    const std::vector<std::pair<const char*, float>> refused{
        {"a NaN", std::numeric_limits<float>::quiet_NaN()},
        {"an infinity", std::numeric_limits<float>::infinity()},
        {"a negative infinity", -std::numeric_limits<float>::infinity()}};
    for (const auto& [comment, value] : refused) {
        document.add({.clause = "ENC-1",
                      .requirement = "an activation that is not finite MUST be refused",
                      .comment = comment,
                      .flags = {"NOT_FINITE"},
                      .input = {{"x", bits({1.0F, value, 2.0F})}, {"qa_max", json(Integer(1000))}},
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

/// One row of the given L1 norm.
Matrix row_of_norm(Integer norm) {
    const std::size_t n = static_cast<std::size_t>((norm + 126) / 127);
    Matrix row(1, n == 0 ? 1 : n);
    for (std::size_t j = 0; j < n; ++j) {
        row(0, j) = norm < 127 ? norm : Integer(127);
        norm -= row(0, j);
    }
    return row;
}

void add_bounds(Document& document, const Profile& profile) {
    const Integer half = (profile.modulus - 1) / 2;
    document.begin_group("activation_bound", {"owner"}, profile);
    const auto add = [&](const char* comment, const Integer& norm) {
        const std::int32_t qa_max = largest_activation({row_of_norm(norm)}, profile.modulus);
        Case entry{.clause = "ENC-3",
                   .requirement =
                       "qa_max MUST be min(32767, floor(((L-1)/2) / greatest row norm)), "
                       "and a group below 127 MUST be refused",
                   .comment = comment,
                   .flags = {"BOUND"},
                   .input = {{"row_norms", json(Vector{norm, norm / 2})}},
                   .output = {{"qa_max", json(Integer(qa_max))}}};
        if (qa_max < smallest_useful_activation) {
            entry.output.clear();
            entry.failure = Failure{"activation bound", "ENC-3"};
        }
        document.add(entry);
    };
    add("zero rows", 0);
    add("an ordinary row", 104000);
    add("the greatest row of an int8 matrix with 4096 columns", 127 * 4096);
    add("the last norm with qa_max 32767", half / 32767);
    add("the first norm with qa_max below 32767", half / 32767 + 1);
    add("the last norm that is accepted", half / 127);
    add("the first norm that is refused", half / 127 + 1);
}

void add_modulus_bounds(Document& document, const Profile& profile) {
    const Integer half = (profile.modulus - 1) / 2;
    document.begin_group("modulus_bound", {"owner"}, profile);
    const auto add = [&](const char* comment, const Integer& norm, const Integer& qa_max) {
        Case entry{
            .clause = "ENC-4",
            .requirement = "a group MUST be accepted only if L >= 2 qa_max max||W_D[i]||_1 + 1",
            .comment = comment,
            .flags = {"BOUND"},
            .input = {{"row_norms", json(Vector{1, norm})}, {"qa_max", json(qa_max)}}};
        if (profile.modulus < 2 * qa_max * norm + 1) {
            entry.failure = Failure{"static bound", "ENC-4"};
        }
        document.add(entry);
    };
    add("an ordinary group", 100000, 1000);
    for (const Integer& qa_max : {Integer(127), Integer(3000), Integer(32767)}) {
        add("the greatest norm that fits", half / qa_max, qa_max);
        add("a norm that is greater by one", half / qa_max + 1, qa_max);
        add("a norm that fits L but not (L-1)/2", profile.modulus / qa_max, qa_max);
    }
}

void add_product_bounds(Document& document) {
    document.begin_group("product_bound", {"owner"});
    const auto add = [&](const char* comment, const Matrix& A, const Matrix& B, const Matrix& W_D,
                         std::int32_t qa_max) {
        const Matrix W_int = (Integer(1) << fraction_bits) * W_D + A * B;
        Case entry{
            .clause = "ENC-5",
            .requirement = "a group MUST be accepted only if qa_max ||W_int[i]||_1 <= 2^63 - 1",
            .comment = comment,
            .flags = {"BOUND"},
            .input = {{"A", json(A)},
                      {"B", json(B)},
                      {"W_D", json(W_D)},
                      {"qa_max", json(Integer(qa_max))}}};
        if (!fits_64_bits({W_int}, qa_max)) entry.failure = Failure{"static bound", "ENC-5"};
        document.add(entry);
    };
    const Integer A_max = largest_left_factor, B_max = largest_right_factor;
    add("an ordinary row", {{1000}}, {{-300, 200}}, {{5, -7}}, 1000);
    // 64 entries of 2^31 2^11 are 2^48, and qa_max 2^15 makes 2^63. The 65th entry is the greatest
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
/// 2^20 (2047 * 2047 + 2047); the last makes the sum 2^49 + 2^16 w, and qa_max is 2^14.
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
        Case entry{
            .clause = "ENC-5",
            .requirement = "a group MUST be accepted only if qa_max ||W_int[i]||_1 <= 2^63 - 1",
            .comment = comment,
            .flags = {"BOUND"},
            .input = {{"A", json(A)},
                      {"B", json(B)},
                      {"W_D", json(W_D)},
                      {"qa_max", json(Integer(1 << 14))}}};
        if (!fits_64_bits({W_int}, 1 << 14)) entry.failure = Failure{"static bound", "ENC-5"};
        document.add(entry);
    };
    add("exactly 2^63", 0);
    add("2^63 - 2^30", -1);
}

}  // namespace

void encoding_edges(Document& document) {
    add_order_of_dequantisation(document);
    add_products_of_2_63(document);
}

void encoding(Document& document) {
    add_rounding(document);
    add_quantisation(document);
    add_dequantisation(document);
    add_bounds(document, p31());
    add_modulus_bounds(document, p31());
    add_product_bounds(document);
}

}  // namespace slip::reference::vectors

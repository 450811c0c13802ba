// INSECURE, for demonstration only.
#include "reference/insecure/naive.hpp"

#include <algorithm>
#include <utility>

#include "reference/error.hpp"

namespace slip::reference::insecure {

namespace {

using Row = std::vector<Rational>;

/// The row [a^T | (b - W_D a)^T] of the system a^T W_C^T = (b - W_D a)^T.
Row equation(const Observation& seen, const Matrix& W_D) {
    const Vector davids_part = W_D * seen.a;
    require(seen.b.size() == davids_part.size(), "an observed output has a row for each of W_D");
    Row row(seen.a.begin(), seen.a.end());
    for (std::size_t i = 0; i < seen.b.size(); ++i) {
        row.emplace_back(Integer(seen.b[i] - davids_part[i]));
    }
    return row;
}

/// row -= factor pivot.
void eliminate(Row& row, const Rational& factor, const Row& pivot) {
    for (std::size_t j = 0; j < row.size(); ++j) row[j] -= factor * pivot[j];
}

/// Gauss-Jordan: makes the first n columns the identity, on the first n rows. False if they have
/// rank below n.
bool reduce(std::vector<Row>& rows, std::size_t n) {
    for (std::size_t c = 0; c < n; ++c) {
        const auto first = rows.begin() + static_cast<std::ptrdiff_t>(std::min(c, rows.size()));
        const auto pivot = std::find_if(first, rows.end(), [c](const Row& r) { return r[c] != 0; });
        if (pivot == rows.end()) return false;
        std::swap(rows[c], *pivot);
        const Rational leading = rows[c][c];
        for (Rational& entry : rows[c]) entry /= leading;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const Rational factor = rows[i][c];
            if (i != c) eliminate(rows[i], factor, rows[c]);
        }
    }
    return true;
}

}  // namespace

Observation naive_inference(const Matrix& W_C, const Matrix& W_D, const Vector& a) {
    const Vector from_david = W_D * a;
    Vector b = W_C * a;
    require(b.size() == from_david.size(), "W_C and W_D have one shape");
    for (std::size_t i = 0; i < b.size(); ++i) b[i] += from_david[i];
    return {a, b};
}

std::optional<Matrix> recover_charlies_weights(const std::vector<Observation>& observations,
                                               const Matrix& W_D) {
    const std::size_t n = W_D.cols();
    std::vector<Row> rows;
    for (const Observation& seen : observations) rows.push_back(equation(seen, W_D));
    if (!reduce(rows, n)) return std::nullopt;
    Matrix W_C(W_D.rows(), n);
    for (std::size_t i = 0; i < W_C.rows(); ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            const Rational& entry = rows[j][n + i];
            if (denominator(entry) != 1) return std::nullopt;
            W_C(i, j) = numerator(entry);
        }
    }
    return W_C;
}

}  // namespace slip::reference::insecure

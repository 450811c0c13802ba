// INSECURE, for demonstration only.
#include "reference/insecure/few_noise_vectors.hpp"

#include <utility>
#include <vector>

#include "reference/error.hpp"

namespace slip::reference::insecure {

namespace {

/// X in reduced row echelon form over a field, and the columns of its pivots.
struct Echelon {
    Matrix X;
    std::vector<std::size_t> pivots;
};

/// Row `target` of X -= factor times row `source`.
void subtract_row(const Ring& field, Matrix& X, std::size_t target, std::size_t source,
                  const Integer& factor) {
    for (std::size_t j = 0; j < X.cols(); ++j) {
        X(target, j) = field.subtract(X(target, j), field.multiply(factor, X(source, j)));
    }
}

/// Gauss-Jordan elimination over the field of p elements.
Echelon reduce(const Matrix& input, const Integer& p) {
    const Ring field(p);
    Echelon result{field.embed(input), {}};
    Matrix& X = result.X;
    for (std::size_t c = 0; c < X.cols() && result.pivots.size() < X.rows(); ++c) {
        const std::size_t row = result.pivots.size();
        std::size_t pivot = row;
        while (pivot < X.rows() && X(pivot, c) == 0) ++pivot;
        if (pivot == X.rows()) continue;
        const Integer inverse = powm(X(pivot, c), Integer(p - 2), p);
        for (std::size_t j = 0; j < X.cols(); ++j) {
            std::swap(X(row, j), X(pivot, j));
            X(row, j) = field.multiply(X(row, j), inverse);
        }
        for (std::size_t i = 0; i < X.rows(); ++i) {
            if (i != row && X(i, c) != 0) subtract_row(field, X, i, row, Integer(X(i, c)));
        }
        result.pivots.push_back(c);
    }
    return result;
}

}  // namespace

FewNoiseVectors::FewNoiseVectors(Ring ring, const Key& key, std::size_t n, std::size_t L_v)
    : ring_(std::move(ring)), key_(key), next_index_(L_v) {
    std::vector<Vector> vectors;
    for (std::uint64_t v = 0; v < L_v; ++v) {
        vectors.push_back(uniform_residues(ring_, key, Purpose::mask, v, n));
    }
    noise_ = Matrix::from_columns(n, vectors);
}

Vector FewNoiseVectors::mask(const Vector& q) {
    const Vector g = uniform_residues(ring_, key_, Purpose::mask, next_index_++, noise_.cols());
    return ring_.add(ring_.embed(q), ring_.multiply(noise_, g));
}

Matrix differences(const Ring& ring, const std::vector<Vector>& messages) {
    require(messages.size() >= 2, "a difference needs two messages");
    std::vector<Vector> columns;
    for (std::size_t i = 1; i < messages.size(); ++i) {
        columns.push_back(ring.subtract(messages[i], messages.front()));
    }
    return Matrix::from_columns(messages.front().size(), columns);
}

std::size_t rank_over_field(const Matrix& X, const Integer& p) {
    return reduce(X, p).pivots.size();
}

Matrix annihilator(const Matrix& X, const Integer& p) {  // E-12
    // h X = 0 says that h is orthogonal to the rows of the echelon form of X^T: a free entry of h
    // is 1, and the entry of each pivot is minus the entry of that row in the free column.
    const Echelon basis = reduce(X.transpose(), p);
    std::vector<Vector> rows;
    std::size_t next_pivot = 0;
    for (std::size_t free = 0; free < X.rows(); ++free) {
        if (next_pivot < basis.pivots.size() && basis.pivots[next_pivot] == free) {
            ++next_pivot;
            continue;
        }
        Vector h(X.rows(), Integer(0));
        h[free] = 1;
        for (std::size_t i = 0; i < basis.pivots.size(); ++i) {
            h[basis.pivots[i]] = Ring(p).embed(-basis.X(i, free));
        }
        rows.push_back(h);
    }
    return Matrix::from_columns(X.rows(), rows).transpose();
}

}  // namespace slip::reference::insecure

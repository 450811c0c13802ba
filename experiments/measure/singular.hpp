// Singular values and vectors of small matrices, by the eigenvectors of W^T W or W W^T in binary64:
// relative to the largest, singular values below 1e-7 are rounding.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace slip::measure {

/// The singular value decomposition of an m x n matrix, row-major.
class Decomposition {
public:
    Decomposition(const std::vector<float>& w, std::size_t m, std::size_t n);
    ~Decomposition();
    /// All min(m, n) of them, falling.
    std::vector<double> singular_values() const;
    /// W without its k largest singular components: m x n. k <= min(m, n).
    std::vector<float> without(std::size_t k) const;

private:
    struct Eigenvectors;
    std::unique_ptr<Eigenvectors> eigenvectors_;
};

}  // namespace slip::measure

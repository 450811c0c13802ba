#include "reference/hiding.hpp"

#include <utility>

#include "reference/encoding.hpp"
#include "reference/error.hpp"
#include "reference/sha256.hpp"

namespace slip::reference {

namespace {

/// An upper bound of sqrt(square), a multiple of 1/64.
Rational root_above(const Integer& square) {
    const Integer root = sqrt(Integer(64 * 64 * square - 1)) + 1;
    return Rational(root, 64);
}

void append_little_endian(Bytes& bytes, std::uint64_t value, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        bytes.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
    }
}

/// The entries of W', row by row, as int16 in two's complement, least significant byte first.
Bytes bytes_of(const Matrix& W) {
    Bytes bytes;
    for (std::size_t i = 0; i < W.rows(); ++i) {
        for (std::size_t j = 0; j < W.cols(); ++j) {
            require(abs(W(i, j)) <= 32767, "an entry of W' fits int16");
            const auto entry = W(i, j).convert_to<std::int16_t>();
            append_little_endian(bytes, static_cast<std::uint16_t>(entry), 2);
        }
    }
    return bytes;
}

}  // namespace

bool decodes(const HiddenWidth& width, const Integer& Delta, const Ring& ring) {  // HIDE-2
    const auto& [n, R_square, B, s, tau, u, v] = width;
    const Integer& L = ring.modulus();
    const Rational R = root_above(R_square), tail(75, 8);
    const Rational Z = B * B + s * tail * R, beside = (R + tail) * B + Delta;
    bool right = ring.embed(tau * tau - s) == 0 && gcd(tau, L) == 1 && 2 * B * B < s &&
                 abs(Integer(u[0] * v[1] - u[1] * v[0])) == L;
    for (std::size_t j = 0; j < 2; ++j) {
        right = right && ring.embed(v[j] - u[j] * tau) == 0 &&
                Rational(abs(u[j])) * Z + Rational(abs(v[j])) * beside <= (L - 1) / 2;
    }
    return right;
}

std::vector<std::size_t> part_bounds(std::size_t n) {  // HIDE-7
    require(n > 0, "a matrix has at least one column");
    const std::size_t widest = hidden_widths().back().n, parts = (n + widest - 1) / widest;
    std::vector<std::size_t> bounds;
    for (std::size_t p = 0; p <= parts; ++p) bounds.push_back(p * n / parts);
    return bounds;
}

HiddenModel encode_rows(const std::vector<std::vector<float>>& W) {  // HIDE-8
    require(!W.empty(), "a matrix has at least one row");
    const std::size_t n = W.front().size();
    const auto B = hidden_width(n).B.convert_to<std::int32_t>();
    std::vector<Vector> rows;
    HiddenModel model;
    for (const std::vector<float>& row : W) {
        QuantisedToken quantised = quantise(row, B);
        rows.push_back(std::move(quantised.q));
        model.row_scale.push_back(quantised.scale);
    }
    model.W = Matrix::from_columns(n, rows).transpose();
    return model;
}

Key hiding_key(const ParameterSet& set, const Key& secret, const Key& seed, std::uint32_t group,
               const Matrix& W) {  // HIDE-3
    Bytes input{'S', 'L', 'I', 'P', '-', '2', ' ', 'h', 'i', 'd', 'e', set.code};
    append_little_endian(input, group, 4);
    append_little_endian(input, W.rows(), 4);
    append_little_endian(input, W.cols(), 4);
    const auto digest = sha256(bytes_of(W));
    input.insert(input.end(), digest.begin(), digest.end());
    input.insert(input.end(), seed.begin(), seed.end());
    input.insert(input.end(), secret.begin(), secret.end());
    return sha256(input);
}

RingMatrix weight_secret(const ParameterSet& set, const Key& key, std::size_t M) {  // HIDE-3
    const std::size_t N = set.lattice->N, d = set.lattice->d;
    RingMatrix V;
    for (std::size_t b = 0; b * N < M; ++b) {
        Keystream stream(key, Purpose::weight_secret, b);
        V.emplace_back();
        for (std::size_t l = 0; l < d; ++l) {
            V.back().push_back(set.ring().embed(small_integers(stream, set.lattice->eta, N)));
        }
    }
    return V;
}

Matrix weight_error(const ParameterSet& set, const Key& key, std::size_t M,
                    std::size_t n) {  // HIDE-3
    Matrix E(M, n);
    for (std::size_t i = 0; i < M; ++i) {
        Keystream stream(key, Purpose::weight_error, i);
        const Vector row = small_integers(stream, set.lattice->eta, n);
        for (std::size_t j = 0; j < n; ++j) E(i, j) = row[j];
    }
    return E;
}

Matrix public_rows(const ParameterSet& set, const Key& seed, std::size_t n) {  // HIDE-3
    const std::size_t ell = set.lattice->N * set.lattice->d;
    std::vector<Vector> rows;
    for (std::uint32_t l = 0; l < ell; ++l) {
        rows.push_back(public_residues(set.planes, set.code, PublicPurpose::weights,
                                       static_cast<std::uint32_t>(n), l, seed, n));
    }
    return Matrix::from_columns(n, rows).transpose();
}

Vector times_secret(const NegacyclicRing& R, const RingMatrix& V, const Vector& y,
                    std::size_t M) {  // HIDE-4
    const std::size_t N = R.degree();
    require(!V.empty() && y.size() == N * V.front().size(), "y has d N entries");
    std::vector<RingElement> elements;
    for (std::size_t l = 0; l < y.size(); l += N) {
        const auto first = y.begin() + static_cast<std::ptrdiff_t>(l);
        elements.emplace_back(first, first + static_cast<std::ptrdiff_t>(N));
    }
    Vector product;
    for (const RingElement& block : multiply(R, V, elements)) {
        product.insert(product.end(), block.begin(), block.end());
    }
    product.resize(M);
    return product;
}

Matrix HiddenMatrix::noisy() const { return W + set.lattice->tau * E; }

Vector WeightSecret::remove(const NegacyclicRing& R, const Vector& reply) const {  // HIDE-4
    require(reply.size() > M, "a reply has M + ell entries");
    const auto middle = reply.begin() + static_cast<std::ptrdiff_t>(M);
    const Vector y_A(reply.begin(), middle), y_U(middle, reply.end());
    return R.coefficients().subtract(y_A, times_secret(R, V, y_U, M));
}

Matrix HiddenMatrix::davids_weights() const {  // HIDE-1
    const NegacyclicRing R(set.ring(), set.lattice->N);
    const Matrix sum = noisy();
    std::vector<Vector> columns;
    for (std::size_t j = 0; j < W.cols(); ++j) {
        const Vector u = U.column(j);
        Vector column =
            set.ring().add(times_secret(R, secret.V, u, secret.M), set.ring().embed(sum.column(j)));
        column.insert(column.end(), u.begin(), u.end());
        columns.push_back(std::move(column));
    }
    return Matrix::from_columns(W.rows() + U.rows(), columns);
}

HiddenMatrix hide(const ParameterSet& set, const Key& secret, const Key& seed, std::uint32_t group,
                  const Matrix& W) {  // HIDE-1
    const ParameterSet at = at_width(set, W.cols());
    const Integer B = at.lattice->B_w;
    require(largest_row_square(W) <= B * B, "no row of W' is longer than B");
    const Key key = hiding_key(at, secret, seed, group, W);
    return {at,
            W,
            {weight_secret(at, key, W.rows()), W.rows()},
            weight_error(at, key, W.rows(), W.cols()),
            public_rows(at, seed, W.cols())};
}

}  // namespace slip::reference

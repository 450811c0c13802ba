#include "reference/lattice.hpp"

#include <utility>

#include "reference/error.hpp"

namespace slip::reference {

namespace {

const LatticeParameters& lattice_of(const ParameterSet& set) {
    require(set.lattice.has_value(), "the set has lattice masks");
    return *set.lattice;
}

}  // namespace

bool noise_vanishes(const LatticeParameters& lattice, const Ring& ring) {  // MASK-8
    const auto& [N, d, eta, tau, B_w, B_q, Delta] = lattice;
    require(eta <= 2, "the standard deviation of the noise is at most 1");
    const Rational tail(66, 5);
    const Rational largest = tau * (tail * B_w + Delta) + B_w * B_q;
    return largest <= Rational((ring.modulus() - 1) / 2) && 2 * B_w * B_q < tau;
}

NegacyclicRing::NegacyclicRing(Ring coefficients, std::size_t N)
    : Z_L_(std::move(coefficients)), N_(N) {
    require(N_ > 0, "X^N + 1 has a degree of at least 1");
}

RingElement NegacyclicRing::multiply(const RingElement& a, const RingElement& b) const {  // MASK-7
    require(a.size() == N_ && b.size() == N_, "an element of R has N coefficients");
    Z_L_.require_elements(a);
    Z_L_.require_elements(b);
    RingElement product;
    for (std::size_t i = 0; i < N_; ++i) {
        Integer sum = 0;
        for (std::size_t j = 0; j <= i; ++j) sum += a[j] * b[i - j];
        for (std::size_t j = i + 1; j < N_; ++j) sum -= a[j] * b[N_ + i - j];
        product.push_back(Z_L_.embed(sum));
    }
    return product;
}

RingMatrix public_matrix(const ParameterSet& set, const Key& seed, std::size_t n) {  // MASK-7
    const std::size_t N = lattice_of(set).N, d = lattice_of(set).d;
    RingMatrix T;
    for (std::uint32_t j = 0; j < n; ++j) {
        const Vector row = public_residues(set.planes, set.code, PublicPurpose::masks,
                                           static_cast<std::uint32_t>(n), j, seed, d * N);
        T.emplace_back();
        for (auto first = row.begin(); first != row.end();
             first += static_cast<std::ptrdiff_t>(N)) {
            T.back().emplace_back(first, first + static_cast<std::ptrdiff_t>(N));
        }
    }
    return T;
}

RingMatrix multiply(const NegacyclicRing& R, const Matrix& W_D, const RingMatrix& T) {  // MASK-7
    require(W_D.cols() == T.size() && !T.empty(), "W_D has as many columns as T has rows");
    const std::size_t d = T.front().size();
    RingMatrix H(W_D.rows(), std::vector<RingElement>(d, R.zero()));
    for (std::size_t i = 0; i < W_D.rows(); ++i) {
        for (std::size_t l = 0; l < d; ++l) {
            for (std::size_t a = 0; a < R.degree(); ++a) {
                Integer sum = 0;
                for (std::size_t j = 0; j < W_D.cols(); ++j) sum += W_D(i, j) * T[j][l][a];
                H[i][l][a] = R.coefficients().embed(sum);
            }
        }
    }
    return H;
}

std::vector<RingElement> multiply(const NegacyclicRing& R, const RingMatrix& X,
                                  const std::vector<RingElement>& S) {  // MASK-7
    std::vector<RingElement> products;
    for (const std::vector<RingElement>& row : X) {
        require(row.size() == S.size(), "X has as many columns as S has elements");
        RingElement sum = R.zero();
        for (std::size_t l = 0; l < S.size(); ++l) sum = R.add(sum, R.multiply(row[l], S[l]));
        products.push_back(sum);
    }
    return products;
}

Vector coefficient(const std::vector<RingElement>& elements, std::size_t i) {
    Vector coefficients;
    for (const RingElement& element : elements) coefficients.push_back(element.at(i));
    return coefficients;
}

std::vector<RingElement> block_secret(const ParameterSet& set, const Key& key,
                                      std::uint64_t block) {  // MASK-7
    const LatticeParameters& lattice = lattice_of(set);
    Keystream stream(key, Purpose::block_secret, block);
    std::vector<RingElement> S;
    for (std::size_t l = 0; l < lattice.d; ++l) {
        S.push_back(set.ring().embed(small_integers(stream, lattice.eta, lattice.N)));
    }
    return S;
}

std::deque<OneTimeMask> lattice_block(const ParameterSet& set, const RingMatrix& T,
                                      const RingMatrix& H, const Key& key,
                                      std::uint64_t block) {  // MASK-7
    const auto& [N, d, eta, tau, B_w, B_q, Delta] = lattice_of(set);
    const NegacyclicRing R(set.ring(), N);
    const std::vector<RingElement> S = block_secret(set, key, block);
    const std::vector<RingElement> TS = multiply(R, T, S), HS = multiply(R, H, S);
    std::deque<OneTimeMask> masks;
    for (std::size_t i = 0; i < N; ++i) {
        const std::uint64_t index = N * block + i;
        Keystream stream(key, Purpose::noise, index);
        Vector noise = small_integers(stream, eta, T.size());
        for (Integer& e : noise) e = set.ring().embed(tau * e);
        Vector r = set.ring().add(coefficient(TS, i), noise);
        const Noise vanishing = set.width ? Noise(*set.width) : Noise(tau);
        masks.emplace_back(index, std::move(r), coefficient(HS, i), vanishing);
    }
    return masks;
}

LatticeMasks::LatticeMasks(ParameterSet set, const Key& key, const Key& seed)
    : set_(std::move(set)), key_(key), seed_(seed) {}

OneTimeMask LatticeMasks::draw(std::uint32_t group, const Matrix& W_D) {  // MASK-9
    std::deque<OneTimeMask>& masks = begun_[group];
    if (masks.empty()) {
        const ParameterSet set = set_.hides_weights ? at_width(set_, W_D.cols()) : set_;
        const RingMatrix T = public_matrix(set, seed_, W_D.cols());
        const RingMatrix H = multiply(NegacyclicRing(set.ring(), lattice_of(set).N), W_D, T);
        masks = lattice_block(set, T, H, key_, next_block_++);
    }
    OneTimeMask mask = std::move(masks.front());
    masks.pop_front();
    return mask;
}

}  // namespace slip::reference

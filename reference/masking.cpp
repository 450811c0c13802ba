#include "reference/masking.hpp"

#include <utility>

#include "reference/error.hpp"

namespace slip::reference {

Vector mask(const Ring& ring, const Vector& q, const Vector& r) {  // MASK-1, MASK-2
    return ring.add(ring.embed(q), r);
}

Vector cancellation(const Ring& ring, const Matrix& W_D, const Vector& r) {  // MASK-3
    return ring.multiply(W_D, r);
}

Vector unmask(const Ring& ring, const Vector& y_masked, const Vector& c) {  // MASK-4
    return ring.lift(ring.subtract(y_masked, c));
}

Vector unmask(const Ring& ring, const Integer& tau, const Vector& y_masked,
              const Vector& c) {  // MASK-8
    const Ring modulo_tau(tau);
    return modulo_tau.lift(modulo_tau.embed(unmask(ring, y_masked, c)));
}

Vector unmask(const Ring& ring, const HiddenWidth& width, const Vector& y_masked,
              const Vector& c) {  // HIDE-5
    const auto& [u_1, u_2] = width.u;
    const auto& [v_1, v_2] = width.v;
    const Integer determinant = u_1 * v_2 - u_2 * v_1;  // L or -L
    const Ring modulo_s(width.s);
    Vector y;
    for (const Integer& Y : ring.subtract(y_masked, c)) {
        const Integer l_1 = ring.lift(ring.embed(u_1 * Y)), l_2 = ring.lift(ring.embed(u_2 * Y));
        const Integer Z = (v_2 * l_1 - v_1 * l_2) / determinant;  // a multiple: mod L it is 0
        y.push_back(modulo_s.lift(modulo_s.embed(Z)));
    }
    return y;
}

OneTimeMask::OneTimeMask(std::uint64_t index, Vector r, Vector c, Noise noise)
    : index_(index), r_(std::move(r)), c_(std::move(c)), noise_(std::move(noise)) {}

OneTimeMask::OneTimeMask(OneTimeMask&& other) noexcept
    : index_(other.index_),
      r_(std::exchange(other.r_, {})),
      c_(std::exchange(other.c_, {})),
      noise_(std::move(other.noise_)),
      state_(std::exchange(other.state_, State::spent)) {}

OneTimeMask& OneTimeMask::operator=(OneTimeMask&& other) noexcept {
    index_ = other.index_;
    r_ = std::exchange(other.r_, {});
    c_ = std::exchange(other.c_, {});
    noise_ = std::move(other.noise_);
    state_ = std::exchange(other.state_, State::spent);
    return *this;
}

Vector OneTimeMask::mask(const Ring& ring, const Vector& q) {  // MASK-5
    require(state_ == State::fresh, "a mask is used once");
    state_ = State::spent;
    const Vector r = std::exchange(r_, {});
    Vector x_masked = reference::mask(ring, q, r);
    state_ = State::masked;
    return x_masked;
}

Vector OneTimeMask::unmask(const Ring& ring, const Vector& y_masked) {  // MASK-5
    require(state_ == State::masked, "a mask is removed once, after it was applied");
    state_ = State::spent;
    const Vector c = std::exchange(c_, {});
    if (const auto* tau = std::get_if<Integer>(&noise_)) {
        return reference::unmask(ring, *tau, y_masked, c);
    }
    if (const auto* width = std::get_if<HiddenWidth>(&noise_)) {
        return reference::unmask(ring, *width, y_masked, c);
    }
    return reference::unmask(ring, y_masked, c);
}

MaskSequence::MaskSequence(Planes planes, const Key& key) : planes_(std::move(planes)), key_(key) {}

OneTimeMask MaskSequence::draw(const Matrix& W_D) {  // MASK-5
    const std::uint64_t index = next_index_++;
    Vector r = uniform_residues(planes_, key_, Purpose::mask, index, W_D.cols());
    Vector c = cancellation(planes_.ring(), W_D, r);
    return OneTimeMask(index, std::move(r), std::move(c));
}

}  // namespace slip::reference

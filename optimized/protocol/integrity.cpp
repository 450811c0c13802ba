#include "optimized/protocol/integrity.hpp"

#include <array>

#include "optimized/base/error.hpp"
#include "optimized/kernels/registry.hpp"
#include "optimized/protocol/profile.hpp"

namespace slip {

template <class P>
IntegrityCheck<P>::IntegrityCheck(const GroupWeights& weights, std::uint32_t group, KeyStream& keys)
    : n_(weights.cols()),
      rows_(weights.rows()),
      convolution_(weights.convolution()),
      rho_(kappa<P> * rows_),
      s_(kappa<P> * n_) {
    // INTEG-1: the stream gives row by row the residues of all repetitions. Kept here is one
    // repetition after the other, because that is how the dot products read it.
    SecretBuffer<Residue> stream(rho_.size());
    keys.draw(StreamTag::integrity, group, stream.span());
    for (std::size_t i = 0; i < rows_; ++i) {
        for (std::size_t k = 0; k < kappa<P>; ++k) rho_[k * rows_ + i] = stream[i * kappa<P> + k];
    }
    for (std::size_t k = 0; k < kappa<P>; ++k) {  // INTEG-2: s^T = rho^T W_D
        weights.check_vector<P>(rho_.span().subspan(k * rows_, rows_),
                                s_.span().subspan(k * n_, n_));
    }
}

template <class P>
bool IntegrityCheck<P>::accepts(std::span<const Residue> masked,
                                std::span<const Residue> reply) const {
    const std::size_t inputs = convolution_ ? convolution_->inputs() : n_;
    const std::size_t outputs = convolution_ ? convolution_->outputs() : rows_;
    require(inputs > 0 && masked.size() % inputs == 0, "IntegrityCheck: whole columns are sent");
    require(reply.size() == masked.size() / inputs * outputs,
            "IntegrityCheck: as many columns come back");
    const auto dot = kernels::active().of<P>().dot;
    Residue difference = 0;  // stays zero iff INTEG-3 holds everywhere
    // CNN-4: of a convolution, every output position is a column of the check.
    for_each_multiplied(convolution_, masked, [&](auto columns, std::size_t first) {
        for (std::size_t c = 0; c < columns.size() / n_; ++c) {
            const Residue* const x = columns.data() + c * n_;
            const Residue* const y = reply.data() + (first + c) * rows_;
            std::array<Residue, kappa<P>>
                expected;  // one side at a time: x and y stay in the cache
            for (std::size_t k = 0; k < kappa<P>; ++k) expected[k] = dot(s_.data() + k * n_, x, n_);
            for (std::size_t k = 0; k < kappa<P>; ++k) {
                difference |= expected[k] ^ dot(rho_.data() + k * rows_, y, rows_);
            }
        }
    });
    return difference == 0;
}

template class IntegrityCheck<P31>;
template class IntegrityCheck<P61>;

}  // namespace slip

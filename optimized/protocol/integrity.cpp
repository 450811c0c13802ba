#include "optimized/protocol/integrity.hpp"

#include <array>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/kernels/registry.hpp"
#include "optimized/protocol/profile.hpp"

namespace slip::protocol {

template <class P>
IntegrityCheck<P>::IntegrityCheck(const kernels::GroupWeights& weights, base::GroupId group,
                                  KeyStream& keys)
    : group_(group),
      shape_(weights.shape()),
      rho_(kappa<P> * shape_.rows),
      s_(kappa<P> * shape_.n) {
    const std::size_t rows = shape_.rows;
    const std::size_t n = shape_.n;
    // INTEG-1: the stream gives row by row the residues of all repetitions.
    base::SecretBuffer<Residue> stream(rho_.size());
    keys.draw<P>(StreamTag::integrity, group, stream.span());
    for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t k = 0; k < kappa<P>; ++k) rho_[k * rows + i] = stream[i * kappa<P> + k];
    }
    for (std::size_t k = 0; k < kappa<P>; ++k) {  // INTEG-2: s^T = rho^T W_D
        weights.check_vector<P>(rho_.span().subspan(k * rows, rows), s_.span().subspan(k * n, n));
    }
}

template <class P>
std::optional<Checked<P>> IntegrityCheck<P>::check(Answered<P>&& answered) const {
    Answered<P> own = std::move(answered);
    base::require(own.group() == group_, "IntegrityCheck: a reply of another group");
    base::require(!own.inputs().empty(), "IntegrityCheck: there is no reply");
    if (!accepts(own.inputs(), own.outputs())) return std::nullopt;
    return Checked<P>(std::move(own));
}

template <class P>
bool IntegrityCheck<P>::accepts(std::span<const Residue> masked,
                                std::span<const Residue> reply) const {
    const std::size_t inputs = shape_.inputs();
    const std::size_t outputs = shape_.outputs();
    const std::size_t rows = shape_.rows;
    const std::size_t n = shape_.n;
    base::require(inputs > 0 && masked.size() % inputs == 0,
                  "IntegrityCheck: whole columns are sent");
    base::require(reply.size() == masked.size() / inputs * outputs,
                  "IntegrityCheck: as many columns come back");
    const auto dot = kernels::active().of<P>().dot;
    Residue difference = 0;  // stays zero iff INTEG-3 holds everywhere
    // CNN-4: of a convolution, every output position is a column of the check.
    base::for_each_multiplied(shape_, masked, [&](auto columns, std::size_t first) {
        for (std::size_t c = 0; c < columns.size() / n; ++c) {
            const Residue* const x = columns.data() + c * n;
            const Residue* const y = reply.data() + (first + c) * rows;
            std::array<Residue, kappa<P>>
                expected;  // one side at a time: x and y stay in the cache
            for (std::size_t k = 0; k < kappa<P>; ++k) expected[k] = dot(s_.data() + k * n, x, n);
            for (std::size_t k = 0; k < kappa<P>; ++k) {
                difference |= expected[k] ^ dot(rho_.data() + k * rows, y, rows);
            }
        }
    });
    return difference == 0;
}

template class IntegrityCheck<P31>;

}  // namespace slip::protocol

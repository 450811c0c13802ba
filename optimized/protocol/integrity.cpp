#include "optimized/protocol/integrity.hpp"

#include <array>
#include <atomic>
#include <utility>

#include "optimized/kernels/registry.hpp"
#include "optimized/protocol/profile.hpp"

namespace slip::protocol {

std::uint64_t unique_number() {
    static std::atomic<std::uint64_t> last = 0;
    return ++last;
}

bool Life::Verdict::release(std::uint64_t difference, std::string_view answered_by) {  // OFF-10
    const std::lock_guard lock(life_.mutex_);
    if (life_.over_) return false;
    if (difference == 0) {
        --life_.pending_;
        return true;
    }
    life_.over_ = true;
    life_.rejected_ = answered_by;
    return false;
}

std::optional<std::string> Life::rejected() const {
    const std::lock_guard lock(mutex_);
    return rejected_;
}

template <class P>
IntegrityCheck<P>::IntegrityCheck(const base::ProductShape& shape, base::GroupId group,
                                  CheckVectors<P>&& vectors, Life& life)
    : life_(&life), group_(group), shape_(shape), vectors_(std::move(vectors)) {
    base::require(
        vectors_.rho.size() == kappa<P> * shape_.rows && vectors_.s.size() == kappa<P> * shape_.n,
        "IntegrityCheck: the check vectors are another group's");
}

template <class P>
auto IntegrityCheck<P>::compare(std::span<const Residue> masked,
                                std::span<const Residue> reply) const -> Residue {
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
            for (std::size_t k = 0; k < kappa<P>; ++k)
                expected[k] = dot(vectors_.s.data() + k * n, x, n);
            for (std::size_t k = 0; k < kappa<P>; ++k) {
                difference |= expected[k] ^ dot(vectors_.rho.data() + k * rows, y, rows);
            }
        }
    });
    return difference;
}

template class IntegrityCheck<P31>;
template class IntegrityCheck<P61>;

}  // namespace slip::protocol

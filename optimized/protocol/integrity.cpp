#include "optimized/protocol/integrity.hpp"

#include <unistd.h>

#include <algorithm>
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

Life::Life() : owner_(::getpid()) {}

void Life::end() noexcept {
    const std::lock_guard lock(mutex_);
    if (state_ == State::lasts) state_ = State::ended;
}

bool Life::Verdict::release(std::uint64_t difference, const Answerer& answered_by) {  // OFF-10
    {
        const std::lock_guard lock(life_.mutex_);
        if (life_.over()) return false;
        if (difference == 0) {
            --life_.pending_;
            return true;
        }
        life_.state_ = State::rejected;
    }
    life_.destroy_and_count(answered_by);
    return false;
}

/// OFF-11: rho, s and the stocks, then the pair, then the count. No answer is accepted any more,
/// and threads that are about to report the reject wait in rejected_by().
void Life::destroy_and_count(const Answerer& answered_by) noexcept {
    {
        const std::unique_lock lock(secrets_);
        std::for_each(at_reject_.rbegin(), at_reject_.rend(),
                      [](const AtReject* holder) { holder->destroy_(); });
    }
    if (answered_by.limiter != nullptr) {
        answered_by.limiter->record_reject(std::string(answered_by.peer));  // INTEG-7
    }
    const std::lock_guard lock(mutex_);
    rejected_by_ = answered_by.name;
    destroyed_.notify_all();
}

std::optional<std::string> Life::rejected_by() const {
    std::unique_lock lock(mutex_);
    destroyed_.wait(lock, [&] { return !rejected() || rejected_by_.has_value(); });
    return rejected_by_;
}

Life::AtReject::AtReject(Life& life, std::function<void()> destroy)
    : life_(life), destroy_(std::move(destroy)) {
    const std::unique_lock lock(life_.secrets_);
    life_.at_reject_.push_back(this);
}

/// In a forked child a lock may stay held, and there are no verdicts.
Life::AtReject::~AtReject() {
    if (::getpid() != life_.owner_) return;
    const std::unique_lock lock(life_.secrets_);
    std::erase(life_.at_reject_, this);
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

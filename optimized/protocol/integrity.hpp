// The mandatory integrity check: spec/integrity.md. What it accepted is a type of its own, and only
// that can be unmasked (INTEG-5).
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/group_weights.hpp"
#include "optimized/protocol/check_vectors.hpp"

namespace slip::protocol {

/// From 1; no two calls in a process give the same.
std::uint64_t unique_number();

/// The time for which one draw of (rho, s) is in use, for all groups: from INTEG-1 to the first
/// reject, or to the end of what it serves. What was checked in one life cannot be unmasked in
/// another, nor after its end. Safe to share by threads, among them those that check cancellations.
class Life {
public:
    Life() = default;
    Life(const Life&) = delete;
    Life& operator=(const Life&) = delete;

    std::uint64_t number() const { return number_; }
    bool over() const noexcept { return over_; }
    /// Ends it without a reject.
    void end() noexcept {
        const std::lock_guard lock(mutex_);
        over_ = true;
    }

    /// One verdict, from before the answer is looked at until it is known that it was accepted.
    class Verdict {
    public:
        explicit Verdict(Life& life) : life_(life) { ++life_.pending_; }
        Verdict(const Verdict&) = delete;
        Verdict& operator=(const Verdict&) = delete;
        /// OFF-10. Once: accepted iff both sides of INTEG-3 differ by zero and no verdict before
        /// was a reject. The lock is taken before the comparison, so verdicts have an order, and
        /// one is released only after all before it were accepted: of several wrong answers that
        /// are under way at a time, those behind the first get no chance of their own. A reject
        /// ends the life.
        bool release(std::uint64_t difference, std::string_view answered_by);

    private:
        Life& life_;
    };

    /// Verdicts that were begun and not accepted: not released yet, rejected, or given up. What
    /// outlives the life is used again only if there are none.
    std::uint64_t pending() const noexcept { return pending_; }
    /// Whose answer was rejected; nothing if the life goes on, or ended without a reject.
    std::optional<std::string> rejected() const;

private:
    const std::uint64_t number_ = unique_number();
    mutable std::mutex mutex_;
    std::atomic<bool> over_ = false;
    std::atomic<std::uint64_t> pending_ = 0;
    std::optional<std::string> rejected_;
};

template <class P>
class IntegrityCheck;

/// An answer that passed INTEG-3, all of it. Only IntegrityCheck<P> makes one, and only
/// Answer::Opener opens it. It owns its bytes and is spent once.
template <class P, class Answer>
class Checked {
public:
    Checked(Checked&& other) noexcept
        : answer_(std::move(other.answer_)), life_(std::exchange(other.life_, 0)) {}
    Checked& operator=(Checked&& other) noexcept {
        answer_ = std::move(other.answer_);
        life_ = std::exchange(other.life_, 0);
        return *this;
    }

private:
    friend class IntegrityCheck<P>;
    friend typename Answer::Opener;

    Checked(Answer&& answer, const Life& life) : answer_(std::move(answer)), life_(life.number()) {}

    /// Throws InternalError if it was spent or moved from before, if it is of another life, or if
    /// its life is over.
    Answer spend(const Life& life) && {
        base::require(std::exchange(life_, 0) == life.number() && !life.over(),
                      "a checked answer is spent once, in the life in which it was checked");
        return std::move(answer_);
    }

    Answer answer_;
    std::uint64_t life_;
};

/// rho and s^T = rho^T W_D of one group for one life (INTEG-1, INTEG-2).
template <class P>
class IntegrityCheck {
public:
    using Residue = typename P::Residue;
    /// Who answers where nobody else is named.
    static constexpr std::string_view david = "David";

    /// `life` outlives the object.
    IntegrityCheck(const kernels::GroupWeights& weights, base::GroupId group, KeyStream& keys,
                   Life& life)
        : IntegrityCheck(weights.shape(), group, make_check_vectors<P>(weights, group, keys),
                         life) {}
    IntegrityCheck(const base::ProductShape& shape, base::GroupId group, CheckVectors<P>&& vectors,
                   Life& life);

    /// INTEG-3 for all of `answer`, which is consumed: nothing, and the end of the life, on a
    /// reject; nothing also if another answer was rejected meanwhile. An Answer is move-only and
    /// has group(), inputs() and outputs(): whole columns x, and what the David named says W_D x
    /// is. Throws InternalError if it is another group's or was moved from, or if the life is over.
    /// Any number of threads.
    template <class Answer>
    std::optional<Checked<P, Answer>> check(Answer answer,
                                            std::string_view answered_by = david) const {
        base::require(!life_->over(), "IntegrityCheck: the life is over");
        base::require(answer.group() == group_, "IntegrityCheck: an answer of another group");
        base::require(!answer.inputs().empty(), "IntegrityCheck: there is no answer");
        Life::Verdict verdict(*life_);
        const Residue difference = compare(answer.inputs(), answer.outputs());
        if (!verdict.release(difference, answered_by)) return std::nullopt;
        return Checked<P, Answer>(std::move(answer), *life_);
    }

    /// The verdict alone: true iff rho^T y = s^T x for all kappa repetitions and every column. An
    /// honest reply is always accepted, a reply with one wrong column with probability p^-kappa
    /// (INTEG-4). `masked`: columns of n residues, or of an image's (CNN-4); `reply`: as many
    /// columns of M, or of M for every position. Every column is always examined.
    bool accepts(std::span<const Residue> masked, std::span<const Residue> reply) const {
        return compare(masked, reply) == 0;
    }

private:
    /// Zero iff INTEG-3 holds everywhere; constant time.
    Residue compare(std::span<const Residue> masked, std::span<const Residue> reply) const;

    Life* life_;
    base::GroupId group_;
    base::ProductShape shape_;
    CheckVectors<P> vectors_;
};

extern template class IntegrityCheck<P31>;
extern template class IntegrityCheck<P61>;

}  // namespace slip::protocol

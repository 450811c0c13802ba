// The mandatory integrity check: spec/integrity.md. What it accepted is a type of its own, and only
// that can be unmasked (INTEG-5).
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "optimized/base/error.hpp"
#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/group_weights.hpp"
#include "optimized/protocol/check_vectors.hpp"
#include "optimized/protocol/reject_limiter.hpp"

namespace slip::protocol {

/// 1, 2, 3, ...: each call in a process gives another number.
std::uint64_t unique_number();

/// Who gave an answer, and who counts it if it is wrong (INTEG-7).
struct Answerer {
    std::string_view name;             // as errors call him
    RejectLimiter* limiter = nullptr;  // null: nobody counts
    std::string_view peer = name;      // as the limiter knows him
};

/// The time for which one draw of (rho, s) is in use, for all groups: from INTEG-1 to the first
/// reject, or to the end of what it serves. What was checked in one life cannot be unmasked in
/// another, nor after its end. Safe to share by threads, among them those that check cancellations.
class Life {
public:
    Life();
    Life(const Life&) = delete;
    Life& operator=(const Life&) = delete;

    std::uint64_t number() const { return number_; }
    bool over() const noexcept { return state_ != State::lasts; }
    /// Ends it without a reject.
    void end() noexcept;

    /// Whether a reject has ended it. What the reject destroys may still be under way.
    bool rejected() const noexcept { return state_ == State::rejected; }
    /// Whose answer was rejected; nothing if the life goes on, or ended without a reject. Waits
    /// until everything in front of ABORT in the order of OFF-11 is done, so whoever is about to
    /// tell a peer or a user of a reject calls this first.
    std::optional<std::string> rejected_by() const;

    /// While one lives, its function is called at a reject, before rejected_by() returns: the
    /// youngest first, so that a pair, which is older than its sessions, is deleted after their
    /// copies of it. The function does not throw, and calls nothing of the life that waits.
    class AtReject {
    public:
        AtReject(Life& life, std::function<void()> destroy);
        AtReject(const AtReject&) = delete;
        AtReject& operator=(const AtReject&) = delete;
        ~AtReject();

    private:
        friend class Life;
        Life& life_;
        std::function<void()> destroy_;
    };

    /// Calls `use`, which reads secrets that a reject destroys; none is destroyed meanwhile. Once
    /// the life is over it is not called, and false is returned. Any number of threads.
    template <class Use>
    bool while_it_lasts(const Use& use) const {
        const std::shared_lock lock(secrets_);
        if (over()) return false;
        use();
        return true;
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
        /// ends the life: when release() returns from it, everything that OFF-11 puts before ABORT
        /// is done.
        bool release(std::uint64_t difference, const Answerer& answered_by);

    private:
        Life& life_;
    };

    /// Verdicts that were begun and not accepted: not released yet, rejected, or given up. What
    /// outlives the life is used again only if there are none.
    std::uint64_t pending() const noexcept { return pending_; }

private:
    enum class State { lasts, ended, rejected };
    void destroy_and_count(const Answerer& answered_by) noexcept;

    const std::uint64_t number_ = unique_number();
    const pid_t owner_;
    mutable std::mutex mutex_;  // orders verdicts
    std::atomic<State> state_ = State::lasts;
    std::atomic<std::uint64_t> pending_ = 0;
    mutable std::condition_variable destroyed_;
    std::optional<std::string> rejected_by_;  // from when all is destroyed and counted
    mutable std::shared_mutex secrets_;       // shared by whoever reads them, and guards:
    std::vector<AtReject*> at_reject_;
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
    /// reject, with all that OFF-11 puts before ABORT; nothing also if the life ends meanwhile. An
    /// Answer is move-only and has group() and, for each of its parts(), inputs(part) and
    /// outputs(part): whole columns x, and what the David named says W_D x is. Throws InternalError
    /// if it is another group's or was moved from, or if the life is over. Any number of threads.
    template <class Answer>
    std::optional<Checked<P, Answer>> check(Answer answer,
                                            const Answerer& answered_by = {david}) const {
        base::require(!life_->over(), "IntegrityCheck: the life is over");
        base::require(answer.group() == group_, "IntegrityCheck: an answer of another group");
        base::require(answer.parts() > 0, "IntegrityCheck: there is no answer");
        Life::Verdict verdict(*life_);
        Residue difference = 0;
        for (std::size_t part = 0; part < answer.parts(); ++part) {
            const auto x = answer.inputs(part);
            const auto y = answer.outputs(part);
            const auto judge = [&] { difference |= compare(x, y); };
            if (!life_->while_it_lasts(judge)) return std::nullopt;
        }
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

    /// Wipes rho and s. The life is over, and nobody reads them (Life::AtReject).
    void destroy() noexcept { vectors_ = {}; }

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

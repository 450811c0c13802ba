// The mandatory integrity check: spec/integrity.md. Accepted answers have a type of their own, and
// only that type can be unmasked (INTEG-5).
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

/// 1, 2, 3, ...: a new number at each call in a process.
std::uint64_t unique_number();

/// The peer that gave an answer, and the limiter that counts a reject of it (INTEG-7).
struct Answerer {
    std::string_view name;             // in errors
    RejectLimiter* limiter = nullptr;  // null: rejects are not counted
    std::string_view peer = name;      // for the limiter
};

/// The time for which one draw of (rho, s) is in use, for all groups: from INTEG-1 to the first
/// reject, or to the end of the sessions that use it. An answer that was checked in one life cannot
/// be unmasked in another, nor after its end. Threads may share it.
class Life {
public:
    Life();
    Life(const Life&) = delete;
    Life& operator=(const Life&) = delete;

    std::uint64_t number() const { return number_; }
    bool over() const noexcept { return state_ != State::lasts; }
    /// Ends the life without a reject.
    void end() noexcept;

    /// Whether a reject has ended it. The destruction of its secrets may still be under way.
    bool rejected() const noexcept { return state_ == State::rejected; }
    /// The name of the peer whose answer was rejected; empty if the life goes on, or ended without
    /// a reject. Waits until every step of OFF-11 before ABORT is done, so it is called before a
    /// peer or a user is told of a reject.
    std::optional<std::string> rejected_by() const;

    /// While the object lives, its function is called at a reject, before rejected_by() returns.
    /// The newest object comes first, so that a pair, which is older than its sessions, is deleted
    /// after their copies of it. The function must not throw, nor call a function of the life that
    /// waits.
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

    /// Calls `use`, which may read secrets that a reject destroys: none is destroyed during the
    /// call. If the life is over, does not call it and returns false. Any number of threads.
    template <class Use>
    bool while_it_lasts(const Use& use) const {
        const std::shared_lock lock(secrets_);
        if (over()) return false;
        use();
        return true;
    }

    /// One verdict, from before the comparison until an acceptance is recorded.
    class Verdict {
    public:
        explicit Verdict(Life& life) : life_(life) { ++life_.pending_; }
        Verdict(const Verdict&) = delete;
        Verdict& operator=(const Verdict&) = delete;
        /// OFF-10. To be called once. True iff `difference`, that of the two sides of INTEG-3, is
        /// zero and the life is not over. The lock is taken before the comparison with zero, so
        /// verdicts are ordered, and after the first of several wrong answers the others are
        /// rejected too. The first reject ends the life; the call that makes it returns once every
        /// step of OFF-11 before ABORT is done.
        bool release(std::uint64_t difference, const Answerer& answered_by);

    private:
        Life& life_;
    };

    /// Verdicts that were begun and not accepted: not released yet, rejected, or given up. A pair
    /// is used again only if there are none.
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
    std::optional<std::string> rejected_by_;  // set after destroying and counting
    mutable std::shared_mutex secrets_;       // shared by readers of secrets; guards at_reject_
    std::vector<AtReject*> at_reject_;
};

template <class P>
class IntegrityCheck;

/// An answer that passed INTEG-3 as a whole. Only IntegrityCheck<P> makes one, and only
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

    /// Throws InternalError if it was spent or moved from before, if it belongs to another life, or
    /// if its life is over.
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
    /// The default name in errors.
    static constexpr std::string_view david = "David";

    /// `life` outlives the object.
    IntegrityCheck(const kernels::GroupWeights& weights, base::GroupId group, KeyStream& keys,
                   Life& life)
        : IntegrityCheck(weights.shape(), group, make_check_vectors<P>(weights, group, keys),
                         life) {}
    IntegrityCheck(const base::ProductShape& shape, base::GroupId group, CheckVectors<P>&& vectors,
                   Life& life);

    /// INTEG-3 for all of `answer`, which is consumed. A reject ends the life and does every step
    /// of OFF-11 before ABORT. Returns an empty optional on a reject, and if the life ended
    /// meanwhile. An Answer is move-only and has group() and, for each of its parts(), inputs(part)
    /// and outputs(part): whole columns x, and the W_D x that `answered_by` claims. Throws
    /// InternalError if it is of another group or was moved from, or if the life is over. Any
    /// number of threads.
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

    /// Wipes rho and s. Requires: the life is over, and no thread reads them (Life::AtReject).
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

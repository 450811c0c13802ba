// The mandatory integrity check: spec/integrity.md. What it accepted is a type of its own, and only
// that can be unmasked (INTEG-5).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
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
/// another, nor after its end. One thread.
class Life {
public:
    Life() = default;
    Life(const Life&) = delete;
    Life& operator=(const Life&) = delete;

    std::uint64_t number() const { return number_; }
    bool over() const { return over_; }
    void end() noexcept { over_ = true; }

private:
    std::uint64_t number_ = unique_number();
    bool over_ = false;
};

template <class P>
class IntegrityCheck;
template <class P>
class CharlieColumns;

/// An answer that passed INTEG-3, all of it. Only IntegrityCheck<P> makes one, and only
/// CharlieColumns<P>, which unmasks, opens it. It owns its bytes and is spent once.
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
    friend class CharlieColumns<P>;

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

    /// `life` outlives the object.
    IntegrityCheck(const kernels::GroupWeights& weights, base::GroupId group, KeyStream& keys,
                   Life& life)
        : IntegrityCheck(weights.shape(), group, make_check_vectors<P>(weights, group, keys),
                         life) {}
    IntegrityCheck(const base::ProductShape& shape, base::GroupId group, CheckVectors<P>&& vectors,
                   Life& life);

    /// INTEG-3 for all of `answer`, which is consumed: nothing, and the end of the life, on a
    /// reject. An Answer is move-only and has group(), inputs() and outputs(): whole columns x, and
    /// what a David says W_D x is. Throws InternalError if it is another group's or was moved from,
    /// or if the life is over.
    template <class Answer>
    std::optional<Checked<P, Answer>> check(Answer answer) const {
        base::require(!life_->over(), "IntegrityCheck: the life is over");
        base::require(answer.group() == group_, "IntegrityCheck: an answer of another group");
        base::require(!answer.inputs().empty(), "IntegrityCheck: there is no answer");
        if (accepts(answer.inputs(), answer.outputs())) {
            return Checked<P, Answer>(std::move(answer), *life_);
        }
        life_->end();
        return std::nullopt;
    }

    /// The verdict alone: true iff rho^T y = s^T x for all kappa repetitions and every column. An
    /// honest reply is always accepted, a reply with one wrong column with probability p^-kappa
    /// (INTEG-4). `masked`: columns of n residues, or of an image's (CNN-4); `reply`: as many
    /// columns of M, or of M for every position. Every column is always examined.
    bool accepts(std::span<const Residue> masked, std::span<const Residue> reply) const;

private:
    Life* life_;
    base::GroupId group_;
    base::ProductShape shape_;
    CheckVectors<P> vectors_;
};

extern template class IntegrityCheck<P31>;
extern template class IntegrityCheck<P61>;

}  // namespace slip::protocol

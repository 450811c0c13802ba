// One session between Charlie and David:
//
//     Charlie  HELLO               ->  David
//              READY               <-             or REFUSE
//              APPLY               ->  }
//              REPLY               <-  } any number of times; or REFUSE
//              CLOSE or ABORT      ->
//
// Charlie is written as a straight line of sends and receives, David as an answer to each frame.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "reference/hiding.hpp"
#include "reference/integrity.hpp"
#include "reference/masking.hpp"
#include "reference/wire.hpp"

namespace slip::reference {

/// How bytes reach the other party. One call, one frame.
class Channel {
public:
    Channel() = default;
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;
    virtual ~Channel() = default;

    virtual void send(const Bytes& frame) = 0;

    /// Error: ProtocolError if the peer sent nothing.
    virtual Bytes receive() = 0;
};

/// A message that is still to come: its group and its number of columns.
struct PlannedMessage {
    std::uint32_t group;
    std::size_t columns;
};

/// What Charlie prepares for a session and destroys at its end: for each group the masks with their
/// cancellations, in order of use. Knows no W_D.
using Masks = std::map<std::uint32_t, std::deque<OneTimeMask>>;

/// The work ahead of use, the only one in which Charlie reads W_D: `weights[group]` is the stacked
/// W_D of a group. The mask index rises by one per column, in the order of `schedule`.
/// Error: a message of an unknown group.
Masks prepare_masks(const ParameterSet& set, const Key& key, const std::vector<Matrix>& weights,
                    const std::vector<PlannedMessage>& schedule);

/// The same with lattice masks (MASK-9), under the key of a process and the public seed of T.
Masks prepare_lattice_masks(const ParameterSet& set, const Key& key, const Key& seed,
                            const std::vector<Matrix>& weights,
                            const std::vector<PlannedMessage>& schedule);

/// INTEG-1, INTEG-2. The secrets of the check of every group, which the owner computes once, when
/// the model is split: one seed for all groups.
std::vector<CheckSecret> prepare_checks(const ParameterSet& set, const Key& seed,
                                        const std::vector<Matrix>& weights);

/// The shapes that a list of stacked W_D has.
Shapes shapes_of(const ParameterSet& set, const std::vector<Matrix>& weights);

/// Charlie's side. He holds secrets, but no W_D.
///
/// SESS-1: hello(), then apply() any number of times, then close(). apply() returns only after the
/// REPLY, so that at most one APPLY is outstanding.
/// SESS-4: after close() or any error the session is dead and its masks are gone; every later call
/// throws SessionDeadError.
class CharlieSession {
public:
    /// `checks[group]` is that of a group; they outlive sessions (INTEG-1). So do `secrets`, with
    /// the hidden split. `channel` outlives the session.
    CharlieSession(Shapes shapes, const Digest& digest, std::vector<CheckSecret> checks,
                   Masks masks, Channel& channel, std::vector<WeightSecret> secrets = {});

    /// SESS-2. Dictates version, set and digest. Error: ProtocolError unless READY comes.
    void hello();

    /// One message: masks the columns of q (n x b), sends them, receives, checks, and only then
    /// unmasks; returns y_D = W_D q over Z, W' q with the hidden split (M x b).
    ///
    /// Errors: PreconditionError (shapes, no mask left), ProtocolError (an answer that is not the
    /// REPLY to this APPLY), IntegrityError (a REPLY that is wrong; the peer gets ABORT).
    Matrix apply(std::uint32_t group, const Matrix& q);

    void close();

    bool dead() const { return state_ == State::dead; }

    /// Whether the masks are gone.
    bool wiped() const { return masks_.empty(); }

private:
    enum class State { fresh, open, dead };

    template <class Step>
    auto guarded(State expected, Step step);
    void die();
    Matrix exchange(std::uint32_t group, const Matrix& q);
    Vector without_secret(std::uint32_t group, const Vector& y_masked) const;
    std::vector<OneTimeMask> take_masks(std::uint32_t group, std::size_t columns);
    void require_echo(const Apply& apply, const Frame& answer) const;
    [[noreturn]] void reject();

    Shapes shapes_;
    Digest digest_;
    std::vector<CheckSecret> checks_;
    std::vector<WeightSecret> secrets_;
    Masks masks_;
    Channel& channel_;
    State state_ = State::fresh;
    std::uint64_t sequence_ = 0;
};

/// DEF-5. David's view, what he sees in a session: every frame that reached him. (His answers are a
/// function of it and of his weights.)
struct Transcript {
    std::vector<Bytes> received;

    /// The masked inputs x~ of every APPLY, in order.
    std::vector<Matrix> masked_inputs(const Shapes& shapes) const;
};

/// David's side. He holds his weights, and between two frames nothing but the sequence number.
///
/// SESS-4: after CLOSE, ABORT or his own REFUSE the session is dead, and receive() throws
/// SessionDeadError.
class DavidSession {
public:
    /// `weights[group]` is the stacked W_D of a group; `digest` is that of his weight file.
    DavidSession(const ParameterSet& set, const Digest& digest, std::vector<Matrix> weights);

    /// SESS-1. The answer to a frame: READY, REPLY, REFUSE, or nothing to CLOSE and ABORT.
    std::optional<Bytes> receive(const Bytes& frame);

    bool dead() const { return state_ == State::dead; }
    const Transcript& transcript() const { return transcript_; }
    const Shapes& shapes() const { return shapes_; }

private:
    enum class State { fresh, open, dead };

    std::optional<Frame> examine(const Bytes& bytes);
    std::optional<Frame> answer(const Frame& frame);
    Frame answer_hello(const Hello& hello);
    Frame answer_apply(const Apply& apply);
    Frame refuse(RefuseReason reason);

    Shapes shapes_;
    Digest digest_;
    std::vector<Matrix> weights_;
    State state_ = State::fresh;
    std::uint64_t next_sequence_ = 0;
    Transcript transcript_;
};

/// A channel to a David in the same program. `tamper`, if there, sees every answer of David and
/// returns what Charlie gets instead: a dishonest David.
class InProcessChannel : public Channel {
public:
    using Tamper = std::function<Bytes(Bytes answer)>;

    explicit InProcessChannel(DavidSession& david, Tamper tamper = nullptr)
        : david_(david), tamper_(std::move(tamper)) {}

    void send(const Bytes& frame) override;
    Bytes receive() override;

private:
    DavidSession& david_;
    Tamper tamper_;
    std::optional<Bytes> answer_;
};

}  // namespace slip::reference

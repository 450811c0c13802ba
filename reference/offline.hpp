// Cancellations from a second David, the offline David (D2), who never shares a view with the
// first:
//
//     Charlie  KEY                 ->  D2
//              READY               <-             or REFUSE
//              REQUEST             ->  }          r = stream(key),  c = W_D r mod L
//              CANCELLATIONS       <-  } any number of times, at most 4 unanswered; or REFUSE
//              CLOSE or ABORT      ->
//
// Charlie checks rho^T c = s^T r and rho^T y~ = s^T x~ with one pair (rho, s). He unmasks a product
// only after both verdicts, and takes verdicts one after the other: the first reject ends the life.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "reference/integrity.hpp"
#include "reference/session.hpp"
#include "reference/wire.hpp"

namespace slip::reference {

/// OFF-5. The greatest number of REQUESTs without an answer.
inline constexpr std::size_t largest_window = 4;

/// OFF-7. The greatest length field that the offline David accepts: that of KEY, later of REQUEST.
inline constexpr std::size_t key_length = 72;
inline constexpr std::size_t request_length = 17;

/// OFF-13. How often a pair is returned; the next return deletes it.
inline constexpr std::uint32_t largest_returns = 1U << 20;

/// D2's side of one connection. He holds his weights, the key of the connection, and the least
/// index that the next REQUEST may have.
///
/// SESS-4: after CLOSE, ABORT or his own REFUSE it is dead, the key is gone, and receive() throws
/// SessionDeadError.
class OfflineDavid {
public:
    /// `weights[group]` is the stacked W_D of a group; `digest` is that of David's weight file.
    OfflineDavid(const Profile& profile, const Digest& digest, std::vector<Matrix> weights);

    /// OFF-5. The answer to a frame: READY, CANCELLATIONS, REFUSE, or nothing to CLOSE and ABORT.
    std::optional<Bytes> receive(const Bytes& frame);

    bool dead() const { return dead_; }
    bool wiped() const { return !key_.has_value(); }
    const Shapes& shapes() const { return shapes_; }

    /// OFF-12. His view: every frame that reached him.
    const std::vector<Bytes>& received() const { return received_; }

private:
    std::optional<OfflineFrame> examine(const Bytes& bytes);
    std::optional<RefuseReason> wrong_index(const Request& request) const;
    std::optional<OfflineFrame> answer(const OfflineFrame& frame);
    OfflineFrame answer_key(const OfflineKey& key);
    OfflineFrame answer_request(const Request& request);
    OfflineFrame refuse(RefuseReason reason);
    void die();

    Shapes shapes_;
    Digest digest_;
    std::vector<Matrix> weights_;
    std::optional<Key> key_;
    Integer next_index_ = 0;
    bool dead_ = false;
    std::vector<Bytes> received_;
};

/// OFF-13. One draw of (rho, s) for all groups of an artifact, with a key of its own.
class Pair {
public:
    enum class State { free, taken, deleted };

    /// `weights[group]` is the stacked W_D of a group.
    Pair(const Profile& profile, const Key& key, const std::vector<Matrix>& weights);

    /// With keys of the check that were drawn before, mod L.
    Pair(Integer L, std::map<std::uint32_t, IntegrityKey> secrets);

    State state() const { return state_; }
    bool wiped() const { return secrets_.empty(); }

    /// OFF-13. A process begins: a pair that it finds taken is deleted.
    void start_up();

private:
    friend class Life;
    void remove();

    Integer L_;
    std::map<std::uint32_t, IntegrityKey> secrets_;
    State state_ = State::free;
    std::uint32_t returns_ = 0;
};

/// OFF-10. A pair from its taking to its first reject or its return: the verdicts of this time, in
/// the order of their tickets, and the stock of masks whose cancellations were accepted.
class Life : public Supplies {
public:
    using Ticket = std::uint64_t;

    /// Takes the pair, which outlives this. Error: the pair is not free.
    explicit Life(Pair& pair);

    /// OFF-10. The place of a verdict among all verdicts of this life; drawn before the comparison.
    Ticket draw_ticket();

    /// OFF-10, INTEG-3. Verdict number `ticket` on y (M x b) for x (n x b). After a reject nothing
    /// is accepted; the reject itself ends the life. Error: an earlier verdict is still to come, or
    /// this one was given.
    bool verdict(Ticket ticket, std::uint32_t group, const Matrix& x, const Matrix& y);

    /// OFF-10. The two together: what one thread does while it holds a lock.
    bool accepts(std::uint32_t group, const Matrix& x, const Matrix& y) override;

    /// OFF-9. A mask whose cancellation this life accepted. Error: the life is over.
    void stock(std::uint32_t group, OneTimeMask mask);
    std::vector<OneTimeMask> take(std::uint32_t group, std::size_t columns) override;
    std::size_t stocked(std::uint32_t group) const { return stock_.size(group); }

    /// OFF-13. The pair is free again if every verdict that was begun was an acceptance and it was
    /// returned less than 2^20 times; otherwise it is deleted. Either way this life is over.
    void give_back();

    bool over() const override { return over_; }

private:
    void end();

    Pair& pair_;
    MaskPool stock_;
    Ticket drawn_ = 0;
    Ticket given_ = 0;
    bool over_ = false;
};

/// Charlie's side of one connection to an offline David.
///
/// open(), then request() and receive() in any order that leaves at most 4 REQUESTs unanswered,
/// then close(). After any error it is dead, its key is gone, and what was asked is never asked
/// again.
class OfflineConnection {
public:
    /// `key` is fresh (OFF-8); `channel` outlives the connection.
    OfflineConnection(Shapes shapes, const Digest& digest, const Key& key, Channel& channel);

    /// OFF-2. Error: ProtocolError unless READY comes.
    void open();

    /// OFF-3. Asks for the next `columns` masks of a group.
    /// Errors: 4 unanswered REQUESTs, no indices left, a shape that does not fit.
    void request(std::uint32_t group, std::size_t columns);

    /// OFF-9. The answer to the first unanswered REQUEST: checked, then put into the stock.
    /// Errors: ProtocolError (another answer), IntegrityError (c is wrong; the life is over).
    void receive(Life& life);

    void close();

    bool dead() const { return state_ == State::dead; }
    bool open_now() const { return state_ == State::open; }
    bool wiped() const { return !key_.has_value(); }
    std::size_t unanswered() const { return unanswered_.size(); }

    /// OFF-8. The index that the next mask will have.
    const Integer& next_index() const { return next_index_; }

private:
    enum class State { fresh, open, dead };

    template <class Step>
    void guarded(State expected, Step step);
    void die();
    Matrix masks_of(const Request& request) const;
    void accept(Life& life, const Request& request, const Matrix& c);

    Shapes shapes_;
    Digest digest_;
    std::optional<Key> key_;
    Channel& channel_;
    State state_ = State::fresh;
    Integer next_index_ = 0;
    std::deque<Request> unanswered_;
};

/// OFF-14. Which masks are asked for: first each group's capacity, then as many as a step spent, in
/// the order in which they were spent. Nothing that a David sends enters it.
class Refill {
public:
    explicit Refill(const std::map<std::uint32_t, std::size_t>& capacities);

    /// A message of this shape is about to be sent.
    void spend(const PlannedMessage& message);

    /// The next REQUEST, if one is due.
    std::optional<PlannedMessage> next();

private:
    std::deque<PlannedMessage> due_;
};

/// OFF-14. How many whole intervals Charlie waits before a step that he could begin at `ready` and
/// whose masks enter the stock at `arrivals`: the least k >= 0 with every arrival at or before
/// ready + k interval. All times have one unit. Error: interval = 0.
std::uint64_t intervals_before(std::uint64_t ready, const std::vector<std::uint64_t>& arrivals,
                               std::uint64_t interval);

/// A channel to an offline David in the same program, whose answers wait in order. `tamper`, if
/// there, sees every answer and returns what Charlie gets instead.
class OfflineChannel : public Channel {
public:
    using Tamper = std::function<Bytes(Bytes answer)>;

    explicit OfflineChannel(OfflineDavid& david, Tamper tamper = nullptr)
        : david_(david), tamper_(std::move(tamper)) {}

    void send(const Bytes& frame) override;
    Bytes receive() override;

private:
    OfflineDavid& david_;
    Tamper tamper_;
    std::deque<Bytes> answers_;
};

}  // namespace slip::reference

// Charlie's half of the chapter offline: checks, lives, waits, and whole runs with two Davids.
#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <string>

#include "reference/error.hpp"
#include "reference/offline.hpp"
#include "reference/ring.hpp"
#include "reference/vectors/offline.hpp"

namespace slip::reference::vectors {

namespace {

template <class Array>
Json hex_of(const Array& array) {
    return hex(Bytes(array.begin(), array.end()));
}

Json frames_of(const std::vector<Bytes>& frames) {
    std::vector<Json> entries;
    for (const Bytes& frame : frames) entries.push_back(hex(frame));
    return list(entries);
}

Json groups_of(const std::vector<Matrix>& weights) {
    std::vector<Json> matrices;
    for (const Matrix& W_D : weights) matrices.push_back(json(W_D));
    return list(matrices);
}

/// Two groups, and the keys of a pair and of two connections.
struct Setting {
    Setting(Numbers& numbers, const Profile& chosen)
        : profile(chosen),
          weights{numbers.matrix(2, 3, -127, 127), numbers.matrix(4, 5, -127, 127)},
          shapes(shapes_of(profile, weights)),
          pair_key(numbers.key()),
          keys{numbers.key(), numbers.key()} {
        for (std::uint8_t& byte : digest) byte = numbers.bytes(1).front();
    }

    /// An error with rho^T e = 0 for the rho of group 1 under `key`.
    Vector invisible_under(const Key& key) const {
        const Ring ring(profile.modulus);
        const Matrix rho = draw_rho(profile.modulus, key, 1, 4, profile.repetitions);
        const Vector a = rho.column(0), b = rho.column(profile.repetitions - 1);
        if (profile.repetitions == 1) return {a[1], ring.embed(-a[0]), 0, 0};
        return {ring.embed(a[1] * b[2] - a[2] * b[1]), ring.embed(a[2] * b[0] - a[0] * b[2]),
                ring.embed(a[0] * b[1] - a[1] * b[0]), 0};
    }

    Profile profile;
    std::vector<Matrix> weights;
    Shapes shapes;
    Key pair_key;
    Key keys[2];
    Digest digest{};
};

Matrix masks_of(const Setting& setting, const Key& key, std::uint32_t group, std::uint64_t index,
                std::size_t count) {
    std::vector<Vector> r;
    for (std::size_t j = 0; j < count; ++j) {
        r.push_back(uniform_residues(Ring(setting.profile.modulus), key, Tag::mask, index + j,
                                     setting.weights[group].cols()));
    }
    return Matrix::from_columns(setting.weights[group].cols(), r);
}

// --- one check
// -------------------------------------------------------------------------------------

void add_check(Document& document, const Setting& setting, const char* comment, const char* flag,
               std::uint64_t index, const Matrix& c) {
    const Matrix r = masks_of(setting, setting.keys[0], 1, index, c.cols());
    Pair pair(setting.profile, setting.pair_key, setting.weights);
    const bool accepted = Life(pair).accepts(1, r, c);
    Case entry{.clause = "OFF-9",
               .requirement = accepted ? "right cancellations MUST be accepted"
                                       : "wrong cancellations MUST be rejected",
               .comment = comment,
               .flags = {flag},
               .input = {{"pair_key", hex_of(setting.pair_key)},
                         {"key", hex_of(setting.keys[0])},
                         {"group", json(Integer(1))},
                         {"W_D", json(setting.weights[1])},
                         {"index", json(Integer(index))},
                         {"c", columns(c)}}};
    if (!accepted) entry.failure = Failure{"integrity check", "OFF-9"};
    document.add(entry);
}

void add_checks(Document& document, const Setting& setting) {
    const Ring ring(setting.profile.modulus);
    document.begin_group("stock_check", {"charlie", "offline"}, setting.profile);
    const std::uint64_t index = 5;
    const Matrix right =
        ring.embed(setting.weights[1] * masks_of(setting, setting.keys[0], 1, index, 3));
    const auto wrong = [&](std::size_t column, const Vector& error) {
        Matrix c = right;
        for (std::size_t i = 0; i < c.rows(); ++i) c(i, column) = ring.add(c(i, column), error[i]);
        return c;
    };
    add_check(document, setting, "three right columns", "TOO_STRICT", index, right);
    add_check(document, setting, "the first column is wrong by 1", "WRONG_REPLY", index,
              wrong(0, {1, 0, 0, 0}));
    add_check(document, setting, "the last column is wrong by -1 in its last row", "REPETITION",
              index, wrong(2, {0, 0, 0, setting.profile.modulus - 1}));
    Matrix cancelling = wrong(0, {1, 0, 0, 0});
    cancelling(0, 1) = ring.subtract(cancelling(0, 1), 1);
    add_check(document, setting, "two errors whose sum is zero", "REPETITION", index, cancelling);
    add_check(document, setting, "an error that rho under the key of the connection would not see",
              "SHARED_KEY", index, wrong(1, setting.invisible_under(setting.keys[0])));
    add_check(document, setting, "an error that rho under the key of the pair does not see",
              "TOO_STRICT", index, wrong(1, setting.invisible_under(setting.pair_key)));
    add_check(document, setting, "the columns in another order", "ORDER", index,
              Matrix::from_columns(4, {right.column(1), right.column(0), right.column(2)}));
    add_check(document, setting, "the cancellations of the indices one higher", "REPLAY", index,
              ring.embed(setting.weights[1] * masks_of(setting, setting.keys[0], 1, index + 1, 3)));
    add_check(document, setting, "zeros", "ZERO", index, Matrix(4, 3));
    const std::uint64_t last = ~std::uint64_t{0};
    add_check(document, setting, "the last index", "EDGE", last,
              ring.embed(setting.weights[1] * masks_of(setting, setting.keys[0], 1, last, 1)));
}

// --- lives
// -----------------------------------------------------------------------------------------

struct Question {
    std::uint32_t group;
    Matrix x, y;
};

void add_life(Document& document, const Setting& setting, const char* comment, std::size_t pending,
              const std::vector<Question>& questions) {
    Pair pair(setting.profile, setting.pair_key, setting.weights);
    Life life(pair);
    std::vector<Json> asked, verdicts;
    for (const auto& [group, x, y] : questions) {
        verdicts.push_back(json(life.accepts(group, x, y)));
        asked.push_back(object(
            {{"group", json(Integer(group))}, {"x_masked", columns(x)}, {"y_masked", columns(y)}}));
    }
    for (std::size_t i = 0; i < pending; ++i) life.draw_ticket();
    life.give_back();
    const bool free = pair.state() == Pair::State::free;
    document.add(
        {.clause = free ? "OFF-13" : "OFF-10",
         .requirement = "after a reject nothing of its life MUST be accepted, and a pair "
                        "MUST be free again only if every begun verdict was accepted",
         .comment = comment,
         .flags = {"LIFE"},
         .input = {{"pair_key", hex_of(setting.pair_key)},
                   {"groups", groups_of(setting.weights)},
                   {"questions", list(asked)},
                   {"pending", json(Integer(pending))}},
         .output = {{"verdicts", list(verdicts)}, {"pair", json(free ? "free" : "deleted")}}});
}

void add_lives(Document& document, const Setting& setting) {
    Numbers& numbers = document.numbers();
    const Ring ring(setting.profile.modulus);
    const auto question = [&](std::uint32_t group, const Integer& error) {
        const Matrix& W_D = setting.weights[group];
        const Matrix x = numbers.matrix(W_D.cols(), 2, 0, setting.profile.modulus - 1);
        Matrix y = ring.embed(W_D * x);
        y(1, 1) = ring.add(y(1, 1), ring.embed(error));
        return Question{group, x, y};
    };
    const Question right_0 = question(0, 0), right_1 = question(1, 0);
    const Question wrong_0 = question(0, 1), wrong_1 = question(1, -1);
    document.begin_group("life", {"charlie", "offline"}, setting.profile);
    add_life(document, setting, "no verdict at all", 0, {});
    add_life(document, setting, "right answers", 0, {right_0, right_1, right_0});
    add_life(document, setting, "the same right answer again", 0, {right_1, right_1});
    add_life(document, setting, "a verdict that was begun and not given", 1, {right_0});
    add_life(document, setting, "a wrong answer at the end", 0, {right_0, wrong_1});
    add_life(document, setting, "a wrong answer, and right ones behind it", 0,
             {right_0, wrong_0, right_0, right_1});
    add_life(document, setting, "a wrong answer to one group, right ones to the other", 0,
             {wrong_1, right_0, right_0});
    add_life(document, setting, "two wrong answers in flight", 0, {wrong_0, wrong_1});
}

// --- waits
// -----------------------------------------------------------------------------------------

void add_waits(Document& document) {
    document.begin_group("stock_wait", {"charlie", "offline"});
    const auto add = [&](const char* comment, std::uint64_t ready,
                         const std::vector<std::uint64_t>& arrivals, std::uint64_t interval) {
        Vector times;
        for (const std::uint64_t time : arrivals) times.push_back(time);
        document.add({.clause = "OFF-14",
                      .requirement = "a step MUST begin a whole number of intervals after it could",
                      .comment = comment,
                      .flags = {"STALL"},
                      .input = {{"ready", json(Integer(ready))},
                                {"arrivals", json(times)},
                                {"interval", json(Integer(interval))}},
                      .output = {{"intervals",
                                  json(Integer(intervals_before(ready, arrivals, interval)))}}});
    };
    add("a step without masks", 1000, {}, 100);
    add("everything was there", 1000, {3, 999}, 100);
    add("the last mask arrives at that moment", 1000, {1000, 3}, 100);
    add("one unit late", 1000, {1001}, 100);
    add("late by one interval exactly", 1000, {1100, 1001}, 100);
    add("one unit more", 1000, {1101, 1001}, 100);
    add("the greatest counts, not the last", 1000, {1950, 1120}, 100);
    add("an interval of one unit", 1000, {1017}, 1);
    add("many intervals", 0, {600000}, 100);
}

// --- whole runs
// ------------------------------------------------------------------------------------

/// Passes frames on, and keeps them.
class Recorded : public Channel {
public:
    explicit Recorded(Channel& channel) : channel_(channel) {}

    void send(const Bytes& frame) override {
        sent.push_back(frame);
        channel_.send(frame);
    }
    Bytes receive() override {
        received.push_back(channel_.receive());
        return received.back();
    }

    /// What was sent, without an ABORT at the end.
    Json sent_json() const {
        std::vector<Bytes> frames = sent;
        if (!frames.empty() && frames.back() == Bytes{1, 0, 0, 0, 5}) frames.pop_back();
        return frames_of(frames);
    }

    std::vector<Bytes> sent, received;

private:
    Channel& channel_;
};

struct Step {
    enum class Kind { open, request, message } kind;
    std::size_t connection = 0;  ///< of open and request
    std::uint32_t group = 0;
    std::size_t columns = 0;  ///< of request
    Matrix q = {};            ///< of message
};

/// What answers number 0, 1, ... of a David are replaced by.
using Replace = std::function<Bytes(std::size_t position, Bytes answer)>;

Bytes unchanged(std::size_t, Bytes answer) { return answer; }

/// An offline David and the connection to him.
class Link {
public:
    Link(const Setting& setting, const Key& key, Replace replace)
        : david_(setting.profile, setting.digest, setting.weights),
          channel_(david_, [this, replace = std::move(replace)](
                               Bytes answer) { return replace(count_++, std::move(answer)); }),
          recorded(channel_),
          connection(setting.shapes, setting.digest, key, recorded) {}

private:
    std::size_t count_ = 0;
    OfflineDavid david_;
    OfflineChannel channel_;

public:
    Recorded recorded;
    OfflineConnection connection;
};

/// Charlie, David, and two offline Davids of whom the first may be another than he should be.
class Run {
public:
    Run(const Setting& setting, Replace offline, Replace david)
        : setting_(setting),
          pair_(setting.profile, setting.pair_key, setting.weights),
          life_(pair_),
          david_(setting.profile, setting.digest, setting.weights),
          channel_(david_, [this, david = std::move(david)](
                               Bytes answer) { return david(count_++, std::move(answer)); }),
          recorded_(channel_),
          session_(setting.shapes, setting.digest, life_, recorded_) {
        links_.emplace_back(setting, setting.keys[0], std::move(offline));
        links_.emplace_back(setting, setting.keys[1], unchanged);
    }

    /// The case that these steps make, without its clause and words.
    Case entry(const std::vector<Step>& steps) {
        const std::string end = run(steps);
        const bool abort = end == "integrity error";
        Case entry{.input = input(),
                   .output = {{"end", json(end)},
                              {"offline_sent", list({links_[0].recorded.sent_json(),
                                                     links_[1].recorded.sent_json()})},
                              {"sent", recorded_.sent_json()}}};
        if (abort) entry.output.push_back({"abort", json(true)});
        if (!abort) entry.output.push_back({"y_D", list(results_)});
        if (abort) entry.failure = Failure{"integrity check", ""};
        return entry;
    }

private:
    std::string run(const std::vector<Step>& steps) {
        try {
            session_.hello();
            for (const Step& step : steps) {
                step.kind == Step::Kind::message ? exchange(step) : ask(step);
            }
            session_.close();
            for (Link& link : links_) {
                if (link.connection.open_now()) link.connection.close();
            }
            return "closed";
        } catch (const IntegrityError&) {
            if (!session_.dead()) session_.abort();
            return "integrity error";
        }
    }

    /// A message, with the masks that hide its columns, each as connection and index.
    void exchange(const Step& step) {
        std::vector<Json> masks;
        for (std::size_t t = 0; t < step.q.cols(); ++t) {
            masks.push_back(json(stock_[step.group].at(t)));
        }
        described_.push_back(object({{"do", json("message")},
                                     {"group", json(Integer(step.group))},
                                     {"masks", list(masks)},
                                     {"q", columns(step.q)}}));
        stock_[step.group].erase(
            stock_[step.group].begin(),
            stock_[step.group].begin() + static_cast<std::ptrdiff_t>(step.q.cols()));
        results_.push_back(columns(session_.apply(step.group, step.q)));
    }

    void ask(const Step& step) {
        const bool open = step.kind == Step::Kind::open;
        Fields fields = {{"do", json(open ? "open" : "request")},
                         {"connection", json(Integer(step.connection))}};
        if (!open) fields.push_back({"group", json(Integer(step.group))});
        if (!open) fields.push_back({"columns", json(Integer(step.columns))});
        described_.push_back(object(fields));
        OfflineConnection& connection = links_.at(step.connection).connection;
        try {
            if (open) return connection.open();
            const Integer first = connection.next_index();
            connection.request(step.group, step.columns);
            connection.receive(life_);
            for (std::size_t j = 0; j < step.columns; ++j) {
                stock_[step.group].push_back({Integer(step.connection), first + j});
            }
        } catch (const ProtocolError&) {  // this offline David is lost, and nothing else
        }
    }

    Fields input() const {
        return {{"pair_key", hex_of(setting_.pair_key)},
                {"digest", hex_of(setting_.digest)},
                {"groups", groups_of(setting_.weights)},
                {"keys", list({hex_of(setting_.keys[0]), hex_of(setting_.keys[1])})},
                {"steps", list(described_)},
                {"offline_answers", list({frames_of(links_[0].recorded.received),
                                          frames_of(links_[1].recorded.received)})},
                {"answers", frames_of(recorded_.received)}};
    }

    const Setting& setting_;
    Pair pair_;
    Life life_;
    std::size_t count_ = 0;
    DavidSession david_;
    InProcessChannel channel_;
    Recorded recorded_;
    CharlieSession session_;
    std::deque<Link> links_;
    std::map<std::uint32_t, std::deque<Vector>> stock_;
    std::vector<Json> described_, results_;
};

Replace at(std::size_t position, std::function<Bytes(Bytes)> change) {
    return [position, change = std::move(change)](std::size_t count, Bytes answer) {
        return count == position ? change(std::move(answer)) : answer;
    };
}

std::function<Bytes(Bytes)> flip(std::size_t offset) {
    return [offset](Bytes frame) {
        frame.at(offset) ^= 1;
        return frame;
    };
}

std::function<Bytes(Bytes)> instead(const Bytes& other) {
    return [other](const Bytes&) { return other; };
}

/// A CANCELLATIONS or REPLY with `error` added to column 0.
std::function<Bytes(Bytes)> add_error(const Setting& setting, const Vector& error) {
    const auto add = [&setting, error](Matrix& residues) {
        const Ring ring(setting.profile.modulus);
        for (std::size_t i = 0; i < error.size(); ++i) {
            residues(i, 0) = ring.add(residues(i, 0), error[i]);
        }
    };
    return [&setting, add](const Bytes& bytes) {
        if (bytes[4] == 4) {
            auto reply = std::get<Reply>(decode(bytes, setting.shapes));
            add(reply.residues);
            return encode(reply, setting.shapes);
        }
        auto c = std::get<Cancellations>(decode_offline(bytes, setting.shapes));
        add(c.residues);
        return encode_offline(c, setting.shapes);
    };
}

class RunCases {
public:
    RunCases(Document& document, const Setting& setting) : document_(document), setting_(setting) {
        Numbers& numbers = document.numbers();
        const auto message = [](std::uint32_t group, const Matrix& q) {
            return Step{.kind = Step::Kind::message, .group = group, .q = q};
        };
        const Matrix one = numbers.matrix(3, 1, -1000, 1000);
        steps_ = {{.kind = Step::Kind::open},
                  {.kind = Step::Kind::request, .group = 0, .columns = 2},
                  {.kind = Step::Kind::request, .group = 1, .columns = 3},
                  message(0, one),
                  message(1, numbers.matrix(5, 2, -1000, 1000)),
                  {.kind = Step::Kind::request, .group = 1, .columns = 1},
                  message(0, one),
                  message(1, numbers.matrix(5, 1, -1000, 1000))};
    }

    void add_all() {
        document_.begin_group("charlie_offline", {"charlie", "offline"}, setting_.profile);
        add("OFF-8", "each column MUST have a mask of its own, an equal activation too",
            "one connection, two groups, a request between two messages", "MASK_REUSE", unchanged,
            unchanged);
        add_rejects();
        // The second connection takes the place of the first.
        steps_.push_back({.kind = Step::Kind::open, .connection = 1});
        steps_.push_back({.kind = Step::Kind::request, .connection = 1, .group = 1, .columns = 2});
        steps_.push_back({.kind = Step::Kind::message,
                          .group = 1,
                          .q = document_.numbers().matrix(5, 2, -1000, 1000)});
        add_losses();
    }

private:
    void add(const char* clause, const char* requirement, const char* comment, const char* flag,
             const Replace& offline, const Replace& david) {
        Case entry = Run(setting_, offline, david).entry(steps_);
        entry.clause = clause;
        entry.requirement = requirement;
        entry.comment = comment;
        entry.flags = {flag};
        if (entry.failure) entry.failure->clause = clause;
        document_.add(entry);
    }

    void add_rejects() {
        const auto rejected = [&](const char* comment, const char* flag, const Replace& offline,
                                  const Replace& david) {
            add("OFF-11", "a reject of either David MUST end the session with ABORT", comment, flag,
                offline, david);
        };
        rejected("the first cancellations are wrong, before any message", "WRONG_REPLY",
                 at(1, flip(21)), unchanged);
        rejected("the last of three cancellations is wrong", "REPETITION",
                 at(2, flip(21 + 11 * setting_.profile.residue_bytes)), unchanged);
        rejected("the cancellations between two messages are wrong", "LIFE", at(3, flip(21)),
                 unchanged);
        rejected("a reply is wrong", "WRONG_REPLY", unchanged, at(2, flip(21)));
        const auto unseen = add_error(setting_, setting_.invisible_under(setting_.keys[0]));
        rejected("cancellations that rho under the key of the connection would accept",
                 "SHARED_KEY", at(2, unseen), unchanged);
        rejected("a reply that rho under the key of the connection would accept", "SHARED_KEY",
                 unchanged, at(2, unseen));
        const auto five = add_error(setting_, {5, 0, 0, 0});
        rejected("both are wrong by the same, which would leave the product right", "WRONG_REPLY",
                 at(2, five), at(2, five));
    }

    void add_losses() {
        const auto lost = [&](const char* comment, const char* flag,
                              const std::function<Bytes(Bytes)>& last) {
            add("OFF-11",
                "a lost offline David MUST be replaced under a new key, and the session go on",
                comment, flag, at(3, last), unchanged);
        };
        lost("the stream ends", "LOSS",
             [](const Bytes&) -> Bytes { throw ProtocolError("the stream ended"); });
        lost("REFUSE", "LOSS",
             instead(encode_offline(Refuse{RefuseReason::busy}, setting_.shapes)));
        lost("CLOSE", "STATE", instead(encode_offline(Close{}, setting_.shapes)));
        lost("another index", "REPLAY", flip(5));
        lost("another group", "REPLAY",
             instead(encode_offline(Cancellations{5, 0, Matrix(2, 1)}, setting_.shapes)));
        lost("a column more than was asked for", "REPLAY",
             instead(encode_offline(Cancellations{5, 1, Matrix(4, 2)}, setting_.shapes)));
        lost("a residue that is not below L", "CANONICAL", [&](Bytes frame) {
            std::fill_n(frame.begin() + 21, setting_.profile.residue_bytes, std::uint8_t{255});
            return frame;
        });
        lost("the type of REPLY", "UNKNOWN_CODE", [](Bytes frame) {
            frame[4] = 4;
            return frame;
        });
    }

    Document& document_;
    const Setting& setting_;
    std::vector<Step> steps_;
};

}  // namespace

void offline_charlie(Document& document, const Profile& profile) {
    const Setting setting(document.numbers(), profile);
    add_checks(document, setting);
    add_lives(document, setting);
    RunCases(document, setting).add_all();
    if (profile == p31()) add_waits(document);
}

}  // namespace slip::reference::vectors

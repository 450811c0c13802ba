// Operations of the chapter offline: the offline David, and Charlie with two Davids.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "optimized/protocol/charlie.hpp"
#include "optimized/protocol/offline_david.hpp"
#include "optimized/protocol/offline_stock.hpp"
#include "optimized/protocol/pair_store.hpp"
#include "property_tests/conformance/sessions.hpp"
#include "property_tests/generators/temporary_directory.hpp"

namespace slip::answers {

// Frames ----------------------------------------------------------------------------------------

inline const std::map<std::string, FrameType>& offline_type_names() {
    static const std::map<std::string, FrameType> names{
        {"KEY", FrameType::key},
        {"REQUEST", FrameType::request},
        {"CANCELLATIONS", FrameType::cancellations}};
    return names;
}

/// The sessions know their groups; the decoder of a header does not.
inline base::ProductShape shape_in(const Json& groups, base::GroupId group) {
    if (group >= groups.size()) throw Refused("an unknown group");
    return {groups[group]["M"], groups[group]["n"]};
}

inline Json key_in(std::span<const std::byte> payload) {
    std::array<std::uint8_t, 32> key{};
    const protocol::wire::KeyHeader header = protocol::wire::decode_key(payload, key);
    return {{"type", "KEY"},
            {"version", header.version},
            {"profile", static_cast<int>(header.profile)},
            {"digest", hex_of(std::as_bytes(std::span(header.digest)))},
            {"key", hex_of(std::as_bytes(std::span(key)))}};
}

template <class P>
Json request_in(std::span<const std::byte> payload, const Json& groups) {
    const protocol::wire::ColumnsHeader header = protocol::wire::decode_request(payload);
    if (header.columns > protocol::columns_that_fit<P>(shape_in(groups, header.group))) {
        throw Refused("more masks than fit");
    }
    return {{"type", "REQUEST"},
            {"index", header.sequence},
            {"group", header.group},
            {"count", header.columns}};
}

template <class P>
Json cancellations_in(std::span<const std::byte> payload, const Json& groups) {
    const protocol::wire::ColumnsHeader header =
        protocol::wire::decode_columns_header(FrameType::cancellations, payload);
    const std::size_t rows = shape_in(groups, header.group).rows;
    protocol::wire::require_columns_length<P>(payload, header, rows);
    Residues<P> residues(header.columns * rows);
    protocol::wire::decode_residues<P>(payload, header, rows, std::span(residues));
    return {{"type", "CANCELLATIONS"},
            {"index", header.sequence},
            {"group", header.group},
            {"columns", lists_of(residues, rows)}};
}

template <class P>
Json decode_offline_frame(const Json& in) {
    const Bytes bytes = bytes_of(in["bytes"]);
    const auto payload = payload_of(bytes);
    switch (protocol::wire::offline_frame_type(payload)) {
        case FrameType::key:
            return {{"frame", key_in(payload)}};
        case FrameType::request:
            return {{"frame", request_in<P>(payload, in["groups"])}};
        case FrameType::cancellations:
            return {{"frame", cancellations_in<P>(payload, in["groups"])}};
        default:  // as in a session with David
            return {{"frame", decoded<P>(payload, in["groups"])}};
    }
}

inline Bytes encoded_key(const Json& frame) {
    constexpr std::size_t size = protocol::wire::length_bytes + protocol::wire::key_frame_bytes;
    const auto key = array_of<std::uint8_t, 32>(frame["key"]);
    Bytes bytes(size);
    protocol::wire::encode_key({frame["version"], static_cast<Profile>(frame["profile"]),
                                array_of<std::uint8_t, 32>(frame["digest"])},
                               key, std::span<std::byte, size>(bytes));
    return bytes;
}

inline Bytes encoded_request(const Json& frame) {
    constexpr std::size_t size = protocol::wire::columns_header_bytes;
    Bytes bytes(size);
    protocol::wire::encode_request({frame["index"], frame["group"], frame["count"]},
                                   std::span<std::byte, size>(bytes));
    return bytes;
}

template <class P>
Bytes encoded_offline(const Json& frame, const Json& groups) {
    const auto type = offline_type_names().find(frame["type"]);
    if (type == offline_type_names().end()) return encoded<P>(frame, groups);
    if (type->second == FrameType::key) return encoded_key(frame);
    if (type->second == FrameType::request) return encoded_request(frame);
    return encoded_columns<P>(type->second, frame["index"], frame,
                              shape_in(groups, frame["group"]).rows);
}

template <class P>
Json encode_offline_frame(const Json& in) {
    try {
        return {{"bytes", hex_of(encoded_offline<P>(in["frame"], in["groups"]))}};
    } catch (const InternalError& error) {
        throw Refused(error.what());  // the encoder refuses its arguments
    }
}

// The offline David -----------------------------------------------------------------------------

/// Runs protocol::serve(), as the program does, so that the bounds of OFF-7 apply.
template <class P>
Json offline_session(const Json& in) {
    const Weights weights = Weights::of(in["groups"]);
    const protocol::DavidModel model{weights.views, array_of<std::uint8_t, 32>(in["digest"]),
                                     protocol::profile_of<P>};
    const auto david = protocol::make_offline_session(model);
    Script script(in["frames"]);
    try {
        protocol::serve(*david, script);
    } catch (const ProtocolError&) {  // the stream has ended
        if (david->finished()) throw;
    }
    const std::vector<Bytes> frames = script.frames();
    Json answers = hex_of(frames);
    if (!frames.empty() && frames.back()[protocol::wire::length_bytes] == std::byte{7}) {
        throw Refused("the offline David refuses", {{"answers", answers}});
    }
    if (david->finished()) answers.push_back(nullptr);  // to CLOSE or ABORT
    return {{"answers", answers}};
}

// Checks, lives and waits -----------------------------------------------------------------------

template <class P>
Json stock_check(const Json& in) {
    const Table<std::int8_t> W_D(in["W_D"]);
    const auto pair_key = array_of<std::uint8_t, 32>(in["pair_key"]);
    protocol::KeyStream keys = keystream_of(pair_key);
    protocol::Life life;
    const protocol::IntegrityCheck<P> check(W_D.view(), in["group"], keys, life);
    Residues<P> masks;
    for (std::size_t j = 0; j < in["c"].size(); ++j) {
        require_canonical<P>(in["c"][j]);
        const auto mask = stream_of<P>(in["key"], protocol::StreamTag::mask,
                                       in["index"].get<std::uint64_t>() + j, W_D.cols);
        masks.insert(masks.end(), mask.begin(), mask.end());
    }
    if (!check.accepts(masks, Table<typename P::Residue>(in["c"]).entries)) {
        throw Refused("the cancellations are rejected");
    }
    return Json::object();
}

/// A store with the pair of a case.
class GivenPair {
public:
    GivenPair(const Json& key, protocol::PairSubject subject, const Weights& weights)
        : store_(folder_.path(), subject) {
        store_.put(protocol::Pair::draw(subject, weights.views, array_of<std::uint8_t, 32>(key)));
    }
    std::shared_ptr<protocol::TakenPair> take() const { return store_.take(); }
    /// Requires: no TakenPair is left.
    Json state() const { return store_.free() == 1 ? "free" : "deleted"; }

private:
    const slip::testing::TemporaryDirectory folder_;
    protocol::PairStore store_;
};

template <class P>
protocol::PairSubject subject_of(const Weights& weights, const protocol::Digest& digest) {
    protocol::PairSubject subject{protocol::profile_of<P>, digest, {}};
    for (const auto& group : weights.views) subject.groups.push_back(group.shape());
    return subject;
}

/// A message to check.
template <class P>
class Question {
public:
    using Opener = Question;

    explicit Question(const Json& in)
        : group_(in["group"]),
          x_(Table<typename P::Residue>(in["x_masked"]).entries),
          y_(Table<typename P::Residue>(in["y_masked"]).entries) {}
    Question(Question&&) noexcept = default;
    Question& operator=(Question&&) noexcept = default;

    base::GroupId group() const { return group_; }
    std::size_t parts() const { return x_.empty() ? 0 : 1; }
    std::span<const typename P::Residue> inputs(std::size_t) const { return x_; }
    std::span<const typename P::Residue> outputs(std::size_t) const { return y_; }

private:
    base::GroupId group_;
    Residues<P> x_, y_;
};

/// False also if the life is over.
template <class P>
bool accepts(protocol::TakenPair& taken, Question<P>&& question) {
    const base::GroupId group = question.group();
    const protocol::Pair& pair = taken.pair();
    const protocol::IntegrityCheck<P> check(pair.subject().groups[group], group,
                                            std::move(pair.vectors<P>()[group]), taken.life());
    try {
        return check.check(std::move(question)).has_value();
    } catch (const InternalError&) {
        if (!taken.life().over()) throw;
        return false;
    }
}

template <class P>
Json life(const Json& in) {
    const Weights weights = Weights::of(in["groups"]);
    const GivenPair pair(in["pair_key"], subject_of<P>(weights, {}), weights);
    auto taken = pair.take();
    Json verdicts = Json::array();
    for (const Json& question : in["questions"]) {
        verdicts.push_back(accepts<P>(*taken, Question<P>(question)));
    }
    for (int i = in["pending"]; i > 0; --i) protocol::Life::Verdict begun(taken->life());
    taken.reset();
    return {{"verdicts", verdicts}, {"pair", pair.state()}};
}

/// With a number as the clock.
inline Json stock_wait(const Json& in) {
    std::uint64_t now = in["ready"];
    const std::uint64_t interval = in["interval"];
    const std::vector<std::uint64_t> arrivals = in["arrivals"];
    const auto holds = [&] {
        return std::all_of(arrivals.begin(), arrivals.end(),
                           [&](std::uint64_t arrival) { return arrival <= now; });
    };
    return {{"intervals", protocol::wait_whole_intervals(holds, [&] { now += interval; })}};
}

// Charlie with two Davids -----------------------------------------------------------------------

/// Offline Davids whose frames are given in advance. One connection is open at a time, and the next
/// one is accepted only after open().
class Scripts {
public:
    explicit Scripts(const Json& answers) {
        for (const Json& frames : answers) scripts_.emplace_back(frames);
        next_ = scripts_.begin();
    }

    protocol::OfflineOptions::Connect connect() {
        return [this]() -> std::unique_ptr<Transport> {
            const std::lock_guard lock(mutex_);
            called_in_vain_ = !open_;
            if (!open_) throw ProtocolError("nobody is there");
            base::require(next_ != scripts_.end(), "an offline David without answers");
            open_ = false;
            return std::make_unique<End>(*next_++);
        };
    }
    void open() {
        const std::lock_guard lock(mutex_);
        called_in_vain_ = false;
        open_ = true;
    }
    /// Whether the connection has been lost.
    bool lost() {
        const std::lock_guard lock(mutex_);
        return called_in_vain_;
    }

    /// After the session: the frames sent over each connection, without a final ABORT.
    Json sent() const {
        Json all = Json::array();
        for (const Script& script : scripts_) {
            std::vector<Bytes> frames = script.frames();
            take_abort(frames);
            all.push_back(hex_of(frames));
        }
        return all;
    }

private:
    class End : public Transport {
    public:
        explicit End(Script& script) : script_(script) {}
        void send(std::span<const std::byte> bytes) override { script_.send(bytes); }
        void receive(std::span<std::byte> bytes) override { script_.receive(bytes); }
        std::string peer_name() const override { return "the offline David"; }

    private:
        Script& script_;
    };

    std::list<Script> scripts_;
    std::list<Script>::iterator next_;
    std::mutex mutex_;
    bool open_ = false;
    bool called_in_vain_ = false;
};

/// A session whose stock sends the REQUESTs that the case lists.
template <class P>
class OfflineRun {
public:
    explicit OfflineRun(const Json& in)
        : in_(in),
          weights_(Weights::of(in["groups"])),
          digest_(array_of<std::uint8_t, 32>(in["digest"])),
          pair_(in["pair_key"], subject_of<P>(weights_, digest_), weights_),
          david_(in["answers"]),
          scripts_(in["offline_answers"]) {}

    Json answer() {
        try {
            Json products = run();
            Json output = ended("closed");
            output.erase("abort");
            output["y_D"] = std::move(products);
            return output;
        } catch (const IntegrityError& error) {
            throw Refused(error.what(), ended("integrity error"));
        }
    }

private:
    protocol::SessionOptions options() {
        protocol::SessionOptions options;
        options.pool.batch = options.pool.depth;  // one REQUEST per step of the case
        options.limiter = nullptr;                // a reject in one case must not delay the next
        options.pair = pair_.take();
        options.offline.peers = {scripts_.connect()};
        options.offline.recall = {.pause = std::chrono::milliseconds(1),
                                  .longest = std::chrono::milliseconds(1),
                                  .limit = std::chrono::hours(24)};
        options.offline.test_requests = [this](const auto& ask) { ask_ = ask; };
        for (const Json& key : in_["keys"]) {
            const auto bytes = array_of<std::uint8_t, 32>(key);
            options.offline.test_keys.insert(options.offline.test_keys.end(), bytes.begin(),
                                             bytes.end());
        }
        return options;
    }

    /// The stock opens its first connection with the session. The session needs no W_D.
    Json run() {
        const Json& steps = in_["steps"];
        base::require(steps.at(0)["do"] == "open", "a session begins with a connection");
        scripts_.open();
        const kernels::OffloadedWeights none;
        protocol::CharlieSession<P> charlie(none, digest_, david_, options());
        Json products = Json::array();
        for (std::size_t i = 1; i < steps.size(); ++i) {
            const Json& step = steps[i];
            if (step["do"] == "open") {
                ask_(0, 0);  // lost masks are not requested again
                scripts_.open();
            } else if (step["do"] == "request") {
                request(charlie, step);
            } else {
                const base::GroupId group = step["group"];
                products.push_back(lists_of(
                    apply<P>(charlie, weights_, group, Table<std::int16_t>(step["q"]).view()),
                    weights_.tables.at(group).rows));
            }
        }
        charlie.close();
        return products;
    }

    /// Waits until the answer is in stock, D2 is lost, or the session is over.
    void request(protocol::CharlieSession<P>& charlie, const Json& step) {
        const std::size_t columns = step["columns"];
        const std::uint64_t before = charlie.statistics().supply.columns;
        ask_(step["group"], columns);
        while (charlie.statistics().supply.columns < before + columns && !scripts_.lost()) {
            charlie.begin_step(0);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }

    Json ended(const char* end) const {
        std::vector<Bytes> frames = david_.frames();
        const bool abort = take_abort(frames);
        return {{"end", end},
                {"offline_sent", scripts_.sent()},
                {"sent", hex_of(frames)},
                {"abort", abort}};
    }

    const Json& in_;
    const Weights weights_;
    const protocol::Digest digest_;
    const GivenPair pair_;
    Script david_;
    Scripts scripts_;
    protocol::OfflineOptions::Ask ask_;
};

template <class P>
Json charlie_offline(const Json& in) {
    return OfflineRun<P>(in).answer();
}

}  // namespace slip::answers

// OFF-11: the order of the steps of a reject, on the disk, in memory and on the wire.
#include <gtest/gtest.h>

#include <chrono>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "optimized/protocol/pair_store.hpp"
#include "optimized/protocol/rejects_on_disk.hpp"
#include "optimized/protocol/state_folder.hpp"
#include "property_tests/generators/temporary_directory.hpp"
#include "property_tests/protocol/faulty_disk.hpp"
#include "property_tests/protocol/offline_server.hpp"
#include "property_tests/protocol/tampering.hpp"
#include "property_tests/protocol/watched_secrets.hpp"

namespace slip::fixture {
namespace {

using namespace protocol;
namespace fs = std::filesystem;
using kernels::P31;

using Log = std::function<void(const std::string&)>;

/// A log of events in order, written by any thread.
class Events {
public:
    Log log() {
        return [this](const std::string& event) {
            const std::lock_guard lock(mutex_);
            all_.push_back(event);
        };
    }
    std::vector<std::string> all() const {
        const std::lock_guard lock(mutex_);
        return all_;
    }

private:
    mutable std::mutex mutex_;
    std::vector<std::string> all_;
};

/// A disk that logs its calls after begin(). Deleting a file takes 30 ms, so that code which does
/// not wait for it shows in the order of events. While it deletes, it searches SecretBuffers for
/// `secret`, if that is not empty.
class LoggingDisk : public base::Disk {
public:
    explicit LoggingDisk(Log log, std::vector<std::uint32_t> secret = {})
        : log_(std::move(log)), secret_(std::move(secret)) {}
    void begin() { begun_ = true; }

    int unlink(const fs::path& path) override {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        const int copies = secret_.empty() ? 0 : copies_of(secret_);
        return tell(Disk::unlink(path), copies == 0 ? "pair deleted" : "s is still in memory");
    }
    ssize_t write(int descriptor, std::span<const std::byte> bytes, std::size_t offset) override {
        return tell(Disk::write(descriptor, bytes, offset), "count written");
    }
    int sync(int descriptor) override { return tell(Disk::sync(descriptor), "durable"); }

private:
    template <class Result>
    Result tell(Result result, const char* event) {
        if (begun_) log_(event);
        return result;
    }
    Log log_;
    std::vector<std::uint32_t> secret_;
    std::atomic<bool> begun_ = false;
};

bool is(FrameType type, std::span<const std::byte> frame) {
    return frame.size() > wire::length_bytes && static_cast<FrameType>(frame[4]) == type;
}

/// A connection to David that reports each ABORT before it is sent.
class LoggingTransport : public RecordingTransport {
public:
    LoggingTransport(DavidSession& david, Log log)
        : RecordingTransport(david), log_(std::move(log)) {}
    void send(std::span<const std::byte> bytes) override {
        if (is(FrameType::abort, bytes)) log_("ABORT to David");
        RecordingTransport::send(bytes);
    }

private:
    Log log_;
};

/// A model with a pair and a count of rejects in a state folder.
struct Host {
    Host() {
        for (const auto& group : model.weights()) subject.groups.push_back(group.shape());
        subject.digest = model.david.digest;
        folder = open_state_folder(root.path(), subject.digest);
        store().put(Pair::draw(subject, model.weights(), counting_key()));
    }
    PairStore store(base::Disk& disk = base::Disk::of_system()) const {
        return {folder, subject, disk};
    }
    /// The extensions of the pairs' files.
    std::vector<std::string> pairs() const {
        std::vector<std::string> found;
        for (const auto& entry : fs::directory_iterator(folder)) {
            const std::string extension = entry.path().extension().string();
            if (extension == ".free" || extension == ".taken") found.push_back(extension);
        }
        return found;
    }
    bool counted() const { return RejectsOnDisk(folder).wait().left > std::chrono::nanoseconds(0); }
    std::vector<std::uint32_t> s() const {
        const Pair pair = Pair::draw(subject, model.weights(), counting_key());
        const CheckVectors<P31> vectors = std::move(pair.vectors<P31>()[0]);
        return {vectors.s.span().begin(), vectors.s.span().end()};
    }

    Model model{{{5, 9}}, Fill::random, 1};
    PairSubject subject;
    slip::testing::TemporaryDirectory root;
    fs::path folder;
};

OfflineServer::Change lie_in(std::size_t wrong) {
    return [=](std::size_t, std::size_t frame, Bytes answer) {
        return frame == wrong ? with_error<P31>(std::move(answer), 0) : answer;
    };
}
constexpr std::size_t never = 1000;

/// One session with David and an offline David. `david_lies_in` and `offline_lies_in` are the
/// numbers of their wrong answers.
struct Session {
    Session(const Host& host, std::shared_ptr<TakenPair> pair, RejectLimiter& limiter, Log log,
            std::size_t offline_lies_in, std::uint64_t david_lies_in = never)
        : server(host.model, "offline:1", lie_in(offline_lies_in)),
          david(make_david_session(host.model.david, tamper_with<>(david_lies_in, 0, 1))),
          transport(*david, log) {
        SessionOptions options = with_offline({&server});
        options.offline.peers[0] = observed(options.offline.peers[0], [log](auto frame) {
            if (is(FrameType::abort, frame)) log("ABORT to an offline David");
        });
        options.pair = std::move(pair);
        options.limiter = &limiter;
        charlie.emplace(host.model.weights(), host.model.david.digest, transport,
                        std::exchange(options, {}));
    }
    /// Each step spends the whole stock, so that the next one waits for a refill.
    std::string error_of(const Model& model, std::size_t steps) {
        try {
            steps_are_exact(*charlie, model, steps, 8);
        } catch (const IntegrityError& error) {
            return error.what();
        }
        return "";
    }
    std::size_t applies() const {
        std::size_t found = 0;
        for (const Bytes& frame : transport.sent) found += is(FrameType::apply, frame);
        return found;
    }

    OfflineServer server;
    std::unique_ptr<DavidSession> david;
    LoggingTransport transport;
    std::optional<CharlieSession<P31>> charlie;
};

const std::vector<std::string> before_abort{"pair deleted", "durable", "count written", "durable",
                                            "durable"};

std::vector<std::string> first(std::vector<std::string> events, std::size_t count) {
    events.resize(std::min(events.size(), count));
    return events;
}

TEST(RejectOrder, OFF_11_the_pair_is_deleted_and_the_reject_counted_before_ABORT) {
    const Host host;
    Events events;
    LoggingDisk disk(events.log(), host.s());
    RejectsOnDisk limiter(host.folder, {}, disk);
    std::shared_ptr<TakenPair> pair = host.store(disk).take();
    disk.begin();
    {
        Session session(host, std::exchange(pair, nullptr), limiter, events.log(), 2);
        EXPECT_NE(session.error_of(host.model, 40).find("offline:1"), std::string::npos);
        session.server.frames();  // his thread has ended
    }
    const auto all = events.all();
    EXPECT_EQ(first(all, 5), before_abort);
    EXPECT_EQ(all.size(), 7U) << "two ABORTs, and nothing is deleted or counted twice";
    EXPECT_EQ(std::count(all.begin(), all.end(), "ABORT to an offline David"), 1);
    EXPECT_EQ(std::count(all.begin(), all.end(), "ABORT to David"), 1);
    EXPECT_TRUE(host.pairs().empty());
}

/// Two sessions share a pair, and one of them rejects. The other sends ABORT to its offline David
/// at once and to David at its next step, and nothing else.
TEST(RejectOrder, OFF_11_a_reject_ends_the_other_sessions_of_its_pair) {
    for (const bool david_lies : {false, true}) {
        const Host host;
        Events events;
        LoggingDisk disk(events.log());
        RejectsOnDisk limiter(host.folder, {}, disk);
        const std::shared_ptr<TakenPair> pair = host.store(disk).take();
        disk.begin();
        Session honest(host, pair, limiter, events.log(), never);
        EXPECT_EQ(honest.error_of(host.model, 3), "");
        Session liar(host, pair, limiter, events.log(), david_lies ? never : 2,
                     david_lies ? 2 : never);
        EXPECT_NE(liar.error_of(host.model, 40), "");
        honest.server.frames();
        const std::size_t applies = honest.applies();
        EXPECT_NE(honest.error_of(host.model, 1), "");
        EXPECT_EQ(honest.applies(), applies) << "nothing is sent under a pair that is gone";
        EXPECT_TRUE(is(FrameType::abort, honest.transport.sent.back()));
        liar.server.frames();
        const auto all = events.all();
        EXPECT_EQ(first(all, 5), before_abort);
        EXPECT_EQ(std::count(all.begin(), all.end(), "ABORT to an offline David"), 2);
        EXPECT_EQ(std::count(all.begin(), all.end(), "ABORT to David"), 2);
        EXPECT_EQ(all.size(), 9U);
        EXPECT_TRUE(host.pairs().empty());
        std::optional<Session> late;
        EXPECT_THROW(late.emplace(host, pair, limiter, events.log(), never), ProtocolError)
            << "the count comes first";
    }
}

TEST(RejectOrder, OFF_11_no_session_begins_with_a_deleted_pair) {
    const Host host;
    const std::shared_ptr<TakenPair> pair = host.store().take();
    Life::Verdict(pair->life()).release(1, {"offline:7"});
    const auto david = make_david_session(host.model.david);
    RecordingTransport transport(*david);
    SessionOptions options = small_pool();
    options.pair = pair;
    const auto open = [&] {
        CharlieSession<P31>(host.model.weights(), host.model.david.digest, transport, options);
    };
    EXPECT_THROW(open(), IntegrityError);
    EXPECT_TRUE(transport.sent.empty());
}

/// A session with a wrong cancellation in a process of its own, with `fault` at call number `at` of
/// the disk. Returns said_by(): 'N' if no pair was taken, 'A' for each ABORT, '-' if the fault did
/// not happen.
std::string said_at_a_reject(const Host& host, Fault fault, std::size_t at) {
    return said_by([&](const auto& log) {
        FaultyDisk disk(fault, at);
        RejectsOnDisk limiter(host.folder, {}, disk);
        std::shared_ptr<TakenPair> pair = host.store(disk).take();
        if (!pair) return log('N');
        const Log tell = [&](const std::string&) { log('A'); };
        Session session(host, std::exchange(pair, nullptr), limiter, tell, 1);
        session.error_of(host.model, 40);
        session.server.frames();
        session.charlie.reset();
        if (!disk.happened()) log('-');
    });
}

TEST(RejectOrder, OFF_11_INTEG_7_ABORT_implies_a_deleted_pair_and_a_counted_reject) {
    for (const Fault fault : {Fault::end_before, Fault::end_after, Fault::power_loss}) {
        std::size_t told = 0;
        for (std::size_t at = 0;; ++at) {
            const Host host;
            const std::string said = said_at_a_reject(host, fault, at);
            SCOPED_TRACE(::testing::Message() << static_cast<int>(fault) << " at " << at << said);
            ASSERT_EQ(said.find('?'), std::string::npos);
            const bool aborted = said.find('A') != std::string::npos;
            told += aborted;
            if (aborted) {
                EXPECT_TRUE(host.pairs().empty());
                EXPECT_TRUE(host.counted());
            }
            if (said.find('-') != std::string::npos) break;
        }
        EXPECT_GE(told, 1U);
    }
}

}  // namespace
}  // namespace slip::fixture

// INTEG-7: how soon Charlie may try again after a reject.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "optimized/protocol/reconnect_limiter.hpp"
#include "property_tests/protocol/tampering.hpp"

namespace slip::fixture {
namespace {

using namespace protocol;

struct FakeTime {
    ReconnectLimiter::Clock::time_point now{};
    ReconnectLimiter limiter{[this] { return now; }};

    bool allowed(const std::string& peer) const {
        try {
            limiter.require_allowed(peer);
        } catch (const ProtocolError&) {
            return false;
        }
        return true;
    }
};

TEST(RateLimit, INTEG_7_the_delay_doubles_from_1_to_64_seconds) {
    using std::chrono::milliseconds;
    using std::chrono::seconds;
    FakeTime time;
    EXPECT_TRUE(time.allowed("david"));
    for (const int delay : {1, 2, 4, 8, 16, 32, 64, 64, 64}) {
        time.limiter.record_reject("david");
        EXPECT_FALSE(time.allowed("david"));
        EXPECT_TRUE(time.allowed("another")) << "a peer is limited for himself";
        time.now += seconds(delay) - milliseconds(1);
        EXPECT_FALSE(time.allowed("david"));
        time.now += milliseconds(1);
        EXPECT_TRUE(time.allowed("david"));
        time.now += std::chrono::hours(10);  // time heals the wait and not the count
    }
}

TEST(RateLimit, INTEG_7_the_error_says_how_long_to_wait) {
    FakeTime time;
    time.limiter.record_reject("david:1234");
    time.now += std::chrono::milliseconds(300);
    try {
        time.limiter.require_allowed("david:1234");
        FAIL();
    } catch (const ProtocolError& error) {
        EXPECT_NE(std::string(error.what()).find("david:1234"), std::string::npos);
        EXPECT_NE(std::string(error.what()).find("700 ms"), std::string::npos);
    }
}

/// A David in this process, reached under a name.
class NamedTransport : public RecordingTransport {
public:
    NamedTransport(DavidSession& david, std::string name)
        : RecordingTransport(david), name_(std::move(name)) {}
    std::string peer_name() const override { return name_; }

private:
    std::string name_;
};

/// Sessions that share one limiter, whose time a test sets.
struct LimitedSessions {
    LimitedSessions() { options.limiter = &time.limiter; }

    /// One session over `transport`, of one message. Throws what it throws.
    void talk(Transport& transport) {
        CharlieSession<kernels::P31> charlie(model.weights(), model.david.digest, transport,
                                             options);
        round(charlie, 0, columns, 9);
    }
    void talk_to_honest(const std::string& name) {
        const auto david = make_david_session(model.david);
        NamedTransport transport(*david, name);
        talk(transport);
    }
    void reject(const std::string& name) {
        const auto david = make_david_session(model.david, tamper_with(0, 0, 1));
        NamedTransport transport(*david, name);
        EXPECT_THROW(talk(transport), IntegrityError);
    }

    Model model{{{9, 4}}, Fill::random, 1};
    Random random{2};
    Columns columns = random_columns(model.matrices[0], 1, Fill::random, random);
    FakeTime time;
    SessionOptions options = small_pool();
};

TEST(RateLimit, INTEG_7_a_session_too_early_is_refused_and_sends_nothing) {
    LimitedSessions sessions;
    sessions.reject("david");
    const auto david = make_david_session(sessions.model.david);
    NamedTransport transport(*david, "david");
    EXPECT_THROW(sessions.talk(transport), ProtocolError);
    EXPECT_TRUE(transport.sent.empty());
    sessions.time.now += std::chrono::seconds(1);
    EXPECT_NO_THROW(sessions.talk(transport));
}

TEST(RateLimit, INTEG_7_the_transport_names_the_peer) {
    LimitedSessions sessions;
    sessions.reject("host:7401");
    EXPECT_NO_THROW(sessions.talk_to_honest("host:7402"));
    EXPECT_THROW(sessions.talk_to_honest("host:7401"), ProtocolError);
    sessions.reject("");
    EXPECT_THROW(sessions.talk_to_honest(""), ProtocolError) << "no name switches the limit off";
}

TEST(RateLimit, INTEG_7_transports_without_a_name_share_one_limit) {
    LimitedSessions sessions;
    {
        const auto david = make_david_session(sessions.model.david, tamper_with(0, 0, 1));
        InProcessTransport transport(*david);
        EXPECT_THROW(sessions.talk(transport), IntegrityError);
    }
    const auto david = make_david_session(sessions.model.david);
    RecordingTransport transport(*david);
    EXPECT_THROW(sessions.talk(transport), ProtocolError);
    EXPECT_NO_THROW(sessions.talk_to_honest("david"));
}

TEST(RateLimit, INTEG_7_only_a_reject_counts) {
    LimitedSessions sessions;
    const auto david = make_david_session(sessions.model.david);
    RecordingTransport transport(*david, [](Bytes answer) {
        if (answer.size() > 5) answer.pop_back();
        return answer;
    });
    EXPECT_THROW(sessions.talk(transport), ProtocolError);
    EXPECT_TRUE(sessions.time.allowed(transport.peer_name()));
}

}  // namespace
}  // namespace slip::fixture

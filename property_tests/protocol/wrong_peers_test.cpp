// INTEG-7: a process does not go back to a David who has sent a wrong reply.
// test: threads, watched
#include "optimized/protocol/wrong_peers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "property_tests/protocol/tampering.hpp"
#include "property_tests/protocol/watched_secrets.hpp"

namespace slip::testing {
namespace {

using namespace protocol;

bool trusted(const WrongPeers& peers, const std::string& name) {
    try {
        peers.require_trusted(name);
        return true;
    } catch (const Distrusted& error) {
        EXPECT_EQ(error.peer(), name);
        return false;
    }
}

TEST(WrongPeers, INTEG_7_a_name_that_was_added_is_refused_and_no_other) {
    WrongPeers peers;
    EXPECT_TRUE(trusted(peers, "david:1"));
    peers.add("david:1");
    peers.add("david:1");
    EXPECT_FALSE(trusted(peers, "david:1"));
    EXPECT_FALSE(trusted(peers, "david:1")) << "asking changes nothing";
    for (const char* other : {"david:2", "david:", "david:11", ""}) {
        EXPECT_TRUE(trusted(peers, other)) << other;
    }
    EXPECT_TRUE(trusted(WrongPeers(), "david:1"));
}

TEST(WrongPeers, INTEG_7_the_error_is_of_the_protocol_and_says_what_helps) {
    WrongPeers peers;
    peers.add("david:1234");
    try {
        peers.require_trusted("david:1234");
        FAIL();
    } catch (const ProtocolError& error) {
        EXPECT_STREQ(error.what(),
                     "david:1234 sent a wrong reply; this process does not go back to it until it "
                     "is restarted");
    }
}

TEST(WrongPeers, INTEG_7_sessions_ask_those_of_the_process_unless_they_are_given_others) {
    EXPECT_EQ(SessionOptions().wrong_peers, &WrongPeers::of_process());
    EXPECT_EQ(&WrongPeers::of_process(), &WrongPeers::of_process());
}

/// What one thread has added every other one knows, from then on.
TEST(WrongPeers, INTEG_7_threads_share_them) {
    constexpr std::size_t names = 200;
    WrongPeers peers;
    std::atomic<std::size_t> added = 0;
    std::vector<std::thread> readers;
    for (int i = 0; i < 3; ++i) {
        readers.emplace_back([&] {
            for (std::size_t known = 0; known < names;) {
                known = added;
                for (std::size_t j = 0; j < known; ++j) {
                    EXPECT_FALSE(trusted(peers, std::to_string(j)));
                }
                EXPECT_TRUE(trusted(peers, "honest"));
            }
        });
    }
    for (std::size_t j = 0; j < names; ++j) {
        peers.add(std::to_string(j));
        ++added;
    }
    for (std::thread& reader : readers) reader.join();
}

/// A David in this process, reached under a name.
class NamedTransport : public RecordingTransport {
public:
    NamedTransport(DavidSession& david, std::string name, Corrupt corrupt = {})
        : RecordingTransport(david, std::move(corrupt)), name_(std::move(name)) {}
    std::string peer_name() const override { return name_; }

private:
    const std::string name_;
};

/// Sessions that share one WrongPeers.
struct Sessions {
    Sessions() { options.wrong_peers = &peers; }

    /// One session over `transport`, of one message. Throws what it throws.
    void talk(Transport& transport) const {
        Charlie charlie(model, transport, options);
        const auto products = round(charlie, 0, columns, 9);
        EXPECT_EQ(to_reference(products), exact_products(model.matrices[0], columns));
    }
    void talk_to_honest(const std::string& name) const {
        DavidSession david(model.david);
        NamedTransport transport(david, name);
        talk(transport);
    }
    void talk_to_liar(const std::string& name) const {
        DavidSession david(model.david, tamper_with(0, 0, 1, 9));
        NamedTransport transport(david, name);
        talk(transport);
    }

    const Model model{{{9, 4}}, Fill::random, 1};
    const Columns columns = some_columns(model);
    WrongPeers peers;
    SessionOptions options = small_stock();
};

TEST(WrongDavid, INTEG_7_a_wrong_reply_ends_the_session_with_an_error_that_names_him) {
    const Sessions sessions;
    try {
        sessions.talk_to_liar("david:7");
        FAIL() << "a wrong reply was accepted";
    } catch (const IntegrityError& error) {
        EXPECT_NE(std::string(error.what()).find("david:7"), std::string::npos) << error.what();
    }
    EXPECT_FALSE(trusted(sessions.peers, "david:7"));
}

/// Nothing is sent to him, and nothing is drawn that could be.
TEST(WrongDavid, INTEG_7_a_second_session_to_the_same_name_is_refused_before_any_byte) {
    const Sessions sessions;
    EXPECT_THROW(sessions.talk_to_liar("david:7"), IntegrityError);
    for (int attempt = 0; attempt < 3; ++attempt) {
        DavidSession david(sessions.model.david);
        NamedTransport transport(david, "david:7");
        const int freed = secrets_freed;
        EXPECT_THROW(sessions.talk(transport), Distrusted);
        EXPECT_TRUE(transport.sent.empty());
        EXPECT_EQ(transport.received, 0U);
        EXPECT_FALSE(david.finished());
        EXPECT_EQ(secrets_freed, freed) << "no mask";
    }
    const int freed = secrets_freed;
    sessions.talk_to_honest("david:8");
    EXPECT_GT(secrets_freed, freed) << "they would have been seen";
}

TEST(WrongDavid, INTEG_7_another_name_is_served) {
    const Sessions sessions;
    EXPECT_THROW(sessions.talk_to_liar("david:7"), IntegrityError);
    EXPECT_NO_THROW(sessions.talk_to_honest("david:8"));
    EXPECT_NO_THROW(sessions.talk_to_honest("david:8"));
    EXPECT_THROW(sessions.talk_to_liar("david:8"), IntegrityError);
    EXPECT_THROW(sessions.talk_to_honest("david:8"), Distrusted);
    EXPECT_THROW(sessions.talk_to_honest("david:7"), Distrusted) << "nobody is forgotten";
}

/// David learns of the reject from ABORT, when no other session can be opened with him any more.
TEST(WrongDavid, INTEG_7_INTEG_6_he_is_known_before_ABORT_is_sent) {
    const Sessions sessions;
    DavidSession david(sessions.model.david, tamper_with(0, 0, 1, 9));
    NamedTransport transport(david, "david:7");
    std::vector<bool> when_sent;
    transport.on_send = [&] { when_sent.push_back(trusted(sessions.peers, "david:7")); };
    EXPECT_THROW(sessions.talk(transport), IntegrityError);
    ASSERT_EQ(transport.sent.size(), 3U) << "HELLO, APPLY, ABORT";
    EXPECT_EQ(transport.sent.back(), abort_frame());
    EXPECT_EQ(when_sent, (std::vector{true, true, false}));
}

/// Whatever else goes wrong may be the network's doing, and says nothing of him.
TEST(WrongDavid, INTEG_7_other_errors_do_not_make_a_peer_wrong) {
    const Sessions sessions;
    const auto attempt = [&](const RecordingTransport::Corrupt& corrupt) {
        DavidSession david(sessions.model.david);
        NamedTransport transport(david, "david:7", corrupt);
        sessions.talk(transport);
    };
    const auto is_reply = [](const Bytes& answer) { return answer.size() > 5; };
    EXPECT_THROW(attempt([](Bytes) { return wire::encode_refuse(Refusal::busy); }), Refused);
    EXPECT_THROW(attempt([&](Bytes answer) { return is_reply(answer) ? Bytes() : answer; }),
                 ProtocolError);
    EXPECT_THROW(attempt([&](Bytes answer) {
                     if (is_reply(answer)) answer.back() = std::byte{0xff};  // WIRE-8
                     return answer;
                 }),
                 ProtocolError);
    EXPECT_TRUE(trusted(sessions.peers, "david:7"));
    EXPECT_NO_THROW(sessions.talk_to_honest("david:7"));
}

/// A David inside Charlie's process has no name of his own, and goes on to be asked.
TEST(WrongDavid, INTEG_7_a_david_in_process_is_no_peer) {
    Sessions sessions;
    sessions.options.wrong_peers = nullptr;
    const std::string name = "INTEG-7 a David in process";
    EXPECT_THROW(sessions.talk_to_liar(name), IntegrityError);
    EXPECT_NO_THROW(sessions.talk_to_honest(name));
    EXPECT_TRUE(trusted(WrongPeers::of_process(), name));
}

TEST(WrongDavid, INTEG_7_by_default_the_whole_process_knows_him) {
    Sessions sessions;
    sessions.options.wrong_peers = SessionOptions().wrong_peers;
    const std::string name = "INTEG-7 a liar for all";
    EXPECT_THROW(sessions.talk_to_liar(name), IntegrityError);
    Sessions others;
    others.options.wrong_peers = SessionOptions().wrong_peers;
    EXPECT_THROW(others.talk_to_honest(name), Distrusted);
}

/// Sessions of several threads with one liar: each that he answers is rejected, and after the first
/// reject none is opened.
TEST(WrongDavid, INTEG_7_threads_do_not_go_back_to_him_either) {
    constexpr int count = 4;
    const Sessions sessions;
    std::atomic<int> rejects = 0;
    std::atomic<int> refusals = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) {
        threads.emplace_back([&, i] {
            for (int session = 0; session < 20; ++session) {
                try {
                    sessions.talk_to_liar("david:7");
                    ADD_FAILURE() << "a wrong reply was accepted";
                } catch (const IntegrityError&) {
                    ++rejects;
                } catch (const Distrusted&) {
                    ++refusals;
                }
                sessions.talk_to_honest("david:" + std::to_string(100 + i));
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_GE(rejects, 1);
    EXPECT_LE(rejects, count) << "one for each thread that was in a session already";
    EXPECT_EQ(rejects + refusals, count * 20);
}

}  // namespace
}  // namespace slip::testing

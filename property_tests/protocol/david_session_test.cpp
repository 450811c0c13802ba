// David's side of a session: what he answers, what he refuses, and what he keeps.
// test: watched
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "property_tests/protocol/watched_secrets.hpp"

namespace slip::testing {
namespace {

using namespace protocol;

Refusal refusal_of(const Bytes& answer) { return wire::decode_refuse(payload_of(answer)); }

TEST(David, SESS_2_PARAM_4_refuses_another_version_set_or_digest) {
    const Model model({{2, 3}}, Fill::random, 1);
    const auto answer_to = [&](const wire::Hello& hello) {
        DavidSession david(model.david);
        const Bytes answer = handle(david, wire::encode_hello(hello));
        EXPECT_TRUE(david.finished());
        return refusal_of(answer);
    };
    Digest other = model.david.digest;
    other[31] ^= 1;
    EXPECT_EQ(answer_to({1, 1, model.david.digest}), Refusal::version);
    EXPECT_EQ(answer_to({3, 1, model.david.digest}), Refusal::version);
    EXPECT_EQ(answer_to({0, 2, other}), Refusal::version);
    EXPECT_EQ(answer_to({2, 2, model.david.digest}), Refusal::set);
    EXPECT_EQ(answer_to({2, 0, model.david.digest}), Refusal::set);
    EXPECT_EQ(answer_to({2, 77, other}), Refusal::set);
    EXPECT_EQ(answer_to({2, 1, other}), Refusal::digest);
}

TEST(David, SESS_1_SESS_3_refuses_what_is_out_of_order) {
    const Model model({{2, 3}}, Fill::random, 1);
    const Bytes apply = message(FrameType::apply, {0, 0, 1}, Residues(4 * 3, 1));
    const Bytes second = message(FrameType::apply, {1, 0, 1}, Residues(4 * 3, 1));
    const std::vector<std::vector<Bytes>> conversations = {
        {apply},                               // before HELLO
        {close_frame()},                       // before HELLO
        {hello_for(model), hello_for(model)},  // twice
        {hello_for(model), second},            // a sequence left out
        {hello_for(model), apply, apply},      // a sequence again
        {hello_for(model), wire::encode_empty(FrameType::ready)},
        {hello_for(model), message(FrameType::reply, {0, 0, 1}, Residues(4 * 2, 1))},
        {hello_for(model), wire::encode_refuse(Refusal::busy)},
    };
    for (const auto& frames : conversations) {
        DavidSession david(model.david);
        Bytes answer;
        for (const Bytes& frame : frames) {
            ASSERT_FALSE(david.finished());
            answer = handle(david, frame);
        }
        EXPECT_EQ(refusal_of(answer), Refusal::out_of_order);
        EXPECT_TRUE(david.finished());
        EXPECT_THROW(handle(david, hello_for(model)), ProtocolError);  // SESS-4
    }
}

TEST(David, WIRE_7_names_an_unknown_group_and_examines_in_order) {
    const Model model({{2, 3}}, Fill::random, 1);
    const auto answer_to = [&](const Bytes& frame) {
        DavidSession david(model.david);
        handle(david, hello_for(model));
        return refusal_of(handle(david, frame));
    };
    Bytes apply = message(FrameType::apply, {0, 1, 1}, Residues(4 * 3, 1));
    EXPECT_EQ(answer_to(apply), Refusal::unknown_group);
    apply.back() = std::byte{0xff};  // a malformed residue comes after the group
    EXPECT_EQ(answer_to(apply), Refusal::unknown_group);
    apply[5] = std::byte{1};  // the sequence comes before the group
    EXPECT_EQ(answer_to(apply), Refusal::out_of_order);
    apply[17] = std::byte{0};  // the header comes first
    EXPECT_EQ(answer_to(apply), Refusal::malformed);
}

TEST(David, WIRE_9_lengths_are_bounded_by_the_state) {
    const Model model({{2, 3}, {7, 5}}, Fill::random, 1);
    DavidSession david(model.david);
    EXPECT_EQ(david.max_payload(), 40U);
    handle(david, hello_for(model));
    EXPECT_EQ(david.max_payload(), 17U + 4096 * 5 * 4);
    const std::vector<std::int8_t> wide(std::size_t{1} << 20);
    DavidModel large;
    large.set = set_of(paper_planes);
    large.weights.emplace_back(wide.data(), 1U, wide.size());
    DavidSession bounded(large);
    handle(bounded, wire::encode_hello({2, 1, large.digest}));
    EXPECT_EQ(bounded.max_payload(), 17U + (1U << 26));
    // WIRE-9 knows the planes of the set.
    for (const std::size_t planes : {1U, 7U}) {
        const Model other({{2, 3}, {7, 5}}, Fill::random, 1, planes);
        DavidSession session(other.david);
        handle(session, hello_for(other));
        EXPECT_EQ(session.max_payload(), 17U + 4096 * 5 * planes);
    }
}

TEST(David, PARAM_3_refuses_a_message_whose_reply_would_not_fit) {
    const std::size_t rows = std::size_t{1} << 14;
    const std::vector<std::int8_t> tall(rows);
    DavidModel model;
    model.set = set_of(paper_planes);
    model.weights.emplace_back(tall.data(), rows, 1U);
    DavidSession david(model);
    handle(david, wire::encode_hello({2, 1, model.digest}));
    const auto columns = static_cast<std::uint32_t>(columns_that_fit({rows, 1}, paper_planes) + 1);
    EXPECT_EQ(columns, 1025U);
    const Bytes apply =
        message(FrameType::apply, {0, 0, columns}, Residues(paper_planes * columns));
    EXPECT_EQ(refusal_of(handle(david, apply)), Refusal::malformed);
}

/// WIRE-8: a residue that is not canonical, wherever it is, in an APPLY of any set.
TEST(David, WIRE_8_refuses_a_byte_that_is_not_below_its_prime) {
    for (const std::size_t planes : {1U, 4U, 7U}) {
        const Model model({{2, 3}}, Fill::random, 1, planes);
        Residues masked(2 * planes * 3);
        for (std::size_t at = 0; at < masked.size(); ++at) masked[at] = primes[at / 3 % planes] - 1;
        const auto answer_to = [&](const Residues& residues) {
            DavidSession david(model.david);
            handle(david, hello_for(model));
            return handle(david, message(FrameType::apply, {0, 0, 2}, residues));
        };
        EXPECT_EQ(wire::frame_type(payload_of(answer_to(masked))), FrameType::reply);
        for (std::size_t at = 0; at < masked.size(); ++at) {
            ++masked[at];
            EXPECT_EQ(refusal_of(answer_to(masked)), Refusal::malformed) << planes << " " << at;
            --masked[at];
        }
    }
}

TEST(David, SESS_6_keeps_nothing_of_an_answer_that_was_sent) {
    const Model model({{2, 3}}, Fill::random, 1);
    DavidSession david(model.david);
    handle(david, hello_for(model));
    const Bytes apply = message(FrameType::apply, {0, 0, 1}, Residues(4 * 3, 11));
    const auto answer = david.handle(payload_of(apply));
    ASSERT_FALSE(answer.empty());
    david.forget();
    EXPECT_TRUE(std::all_of(answer.begin(), answer.end(),
                            [](std::byte byte) { return byte == std::byte{0}; }));
    // What he answers next depends on nothing that he was sent before.
    DavidSession fresh(model.david);
    handle(fresh, hello_for(model));
    handle(fresh, message(FrameType::apply, {0, 0, 1}, Residues(4 * 3, 5)));
    const Bytes next = message(FrameType::apply, {1, 0, 1}, Residues(4 * 3, 7));
    EXPECT_EQ(handle(david, next), handle(fresh, next));
}

TEST(David, SESS_6_sessions_share_the_model_and_nothing_else) {
    const Model model({{2, 3}}, Fill::random, 1);
    DavidSession one(model.david);
    DavidSession other(model.david);
    handle(one, hello_for(model));
    EXPECT_EQ(refusal_of(handle(other, message(FrameType::apply, {0, 0, 1}, Residues(4 * 3, 1)))),
              Refusal::out_of_order);
    EXPECT_FALSE(one.finished());
}

/// Gives `serve` a fixed stream of bytes and keeps what it sends.
class ScriptedTransport : public Transport {
public:
    explicit ScriptedTransport(Bytes script) : script_(std::move(script)) {}
    void send(std::span<const std::byte> bytes) override {
        sent.insert(sent.end(), bytes.begin(), bytes.end());
    }
    void receive(std::span<std::byte> bytes) override {
        if (script_.size() - read < bytes.size()) throw ProtocolError("the connection ended");
        std::copy_n(script_.begin() + static_cast<std::ptrdiff_t>(read), bytes.size(),
                    bytes.begin());
        read += bytes.size();
    }
    Bytes sent;
    std::size_t read = 0;

private:
    Bytes script_;
};

Bytes joined(const std::vector<Bytes>& frames) {
    Bytes all;
    for (const Bytes& frame : frames) all.insert(all.end(), frame.begin(), frame.end());
    return all;
}

/// Neither the session's buffers nor those of serve(). A shorter message comes last, so that what
/// was wiped was wiped after its own message.
TEST(David, SESS_6_no_memory_that_is_freed_holds_what_was_sent_or_answered) {
    const Model model({{4, 4}}, Fill::random, 1);
    Random random(2);
    const Residues masked = random_residues(1, 4, paper_planes, random);
    Residues product(paper_planes * 4);
    model.weights()[0].multiply(masked, product, paper_planes);
    Residues behind_another(paper_planes * 4, 7);
    behind_another.insert(behind_another.end(), masked.begin(), masked.end());
    ScriptedTransport transport(
        joined({hello_for(model), message(FrameType::apply, {0, 0, 2}, behind_another),
                message(FrameType::apply, {1, 0, 1}, Residues(4 * 4, 1)), close_frame()}));
    transport.sent.reserve(1000);
    for (const auto& residues : {masked, product}) {
        const FreedMemory freed(residues);
        transport.read = 0;
        DavidSession david(model.david);
        serve(david, transport);
        EXPECT_EQ(FreedMemory::holding(), 0);
        { const Residues copy(residues); }
        EXPECT_EQ(FreedMemory::holding(), 1) << "it would have been seen";
    }
}

TEST(David, SESS_1_serve_answers_until_CLOSE_and_not_beyond) {
    const Model model({{2, 3}}, Fill::random, 1);
    const Bytes apply = message(FrameType::apply, {0, 0, 1}, Residues(4 * 3, 1));
    const Bytes conversation = joined({hello_for(model), apply, close_frame()});
    ScriptedTransport transport(joined({conversation, hello_for(model)}));
    DavidSession david(model.david);
    serve(david, transport);
    EXPECT_EQ(transport.read, conversation.size());
    DavidSession again(model.david);
    const Bytes ready = handle(again, hello_for(model));
    EXPECT_EQ(transport.sent, joined({ready, handle(again, apply)}));
}

TEST(David, WIRE_9_serve_refuses_a_long_frame_without_reading_it) {
    const Model model({{2, 3}}, Fill::random, 1);
    Bytes long_frame(64);
    long_frame[0] = std::byte{41};  // HELLO has 40 bytes
    ScriptedTransport transport(long_frame);
    DavidSession david(model.david);
    serve(david, transport);
    EXPECT_EQ(transport.read, wire::length_bytes);
    EXPECT_EQ(transport.sent, wire::encode_refuse(Refusal::malformed));
}

TEST(David, SESS_1_serve_reports_a_connection_that_breaks) {
    const Model model({{2, 3}}, Fill::random, 1);
    const Bytes hello = hello_for(model);
    for (std::size_t length = 0; length < hello.size(); ++length) {
        ScriptedTransport transport(
            Bytes(hello.begin(), hello.begin() + static_cast<std::ptrdiff_t>(length)));
        DavidSession david(model.david);
        EXPECT_THROW(serve(david, transport), ProtocolError);
        EXPECT_TRUE(transport.sent.empty());
    }
}

TEST(David, WIRE_1_frames_may_arrive_in_pieces_in_process) {
    const Model model({{2, 3}}, Fill::random, 1);
    const Bytes apply = message(FrameType::apply, {0, 0, 1}, Residues(4 * 3, 1));
    const Bytes stream = joined({hello_for(model), apply});
    DavidSession whole(model.david);
    handle(whole, hello_for(model));
    const Bytes expected = handle(whole, apply);
    for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
        DavidSession david(model.david);
        InProcessTransport transport(david);
        transport.send(std::span(stream).first(cut));
        Bytes ready(5);
        if (cut >= hello_for(model).size() && cut < stream.size()) transport.receive(ready);
        transport.send(std::span(stream).subspan(cut));
        Bytes reply(expected.size());
        transport.receive(reply);
        EXPECT_EQ(reply, expected) << "cut at " << cut;
        EXPECT_THROW(transport.receive(std::span(reply).first(1)), ProtocolError);
    }
}

}  // namespace
}  // namespace slip::testing

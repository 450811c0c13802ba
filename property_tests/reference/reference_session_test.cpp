// The two state machines of the reference: the order of frames, and what ends a session.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <optional>

#include "property_tests/reference/other_set.hpp"
#include "reference/session.hpp"

namespace slip::reference {
namespace {

const std::vector<Matrix> weights = {Matrix{{1, -2, 3}, {0, 127, -127}}, Matrix{{5, 4}}};
const Digest digest = {1, 2, 3};
const Key key = {9};

/// Masks for two messages of group 0 with two columns, and one of group 1 with one.
Masks masks() { return prepare_masks(paper(), key, weights, {{0, 2}, {1, 1}, {0, 2}}); }

std::vector<CheckSecret> checks() { return prepare_checks(paper(), Key{4}, weights); }

Shapes both_groups() { return shapes_of(paper(), weights); }

DavidSession honest_david() { return DavidSession(paper(), digest, weights); }

std::optional<Frame> ask(DavidSession& david, const Frame& frame) {
    const auto answer = david.receive(encode(frame, both_groups()));
    if (!answer) return std::nullopt;
    return decode(*answer, both_groups());
}

Frame hello() { return Hello{2, 1, digest}; }
Apply apply(std::uint64_t sequence) { return {sequence, 0, Matrix{{6}, {3368562315}, {7}}}; }

void expect_refusal(DavidSession& david, const Frame& frame, RefuseReason reason) {
    EXPECT_EQ(ask(david, frame), std::optional<Frame>(Refuse{reason}));
    EXPECT_TRUE(david.dead());
    EXPECT_THROW(david.receive(encode(hello(), both_groups())), SessionDeadError);
}

TEST(Sessions, SESS_1_a_session_that_goes_well) {
    DavidSession david = honest_david();
    InProcessChannel channel(david);
    CharlieSession charlie(both_groups(), digest, checks(), masks(), channel);
    charlie.hello();
    const Matrix q{{5, 1}, {-1, 0}, {0, 2}};
    EXPECT_EQ(charlie.apply(0, q), weights[0] * q);
    EXPECT_EQ(charlie.apply(1, Matrix{{-7}, {3}}), (Matrix{{-23}}));
    EXPECT_EQ(charlie.apply(0, q), weights[0] * q);
    EXPECT_FALSE(charlie.dead());
    charlie.close();
    EXPECT_TRUE(charlie.dead());
    EXPECT_TRUE(david.dead());
    EXPECT_EQ(david.transcript().received.size(), 5U);
    EXPECT_EQ(decode(david.transcript().received.back(), both_groups()), Frame(Close{}));
}

TEST(Sessions, SESS_1_david_answers_each_frame) {
    DavidSession david = honest_david();
    EXPECT_EQ(ask(david, hello()), std::optional<Frame>(Ready{}));
    const Frame reply = Reply{0, 0, Matrix{{31}, {3368561174}}};
    EXPECT_EQ(ask(david, apply(0)), std::optional<Frame>(reply));
    EXPECT_EQ(ask(david, Close{}), std::nullopt);
    EXPECT_TRUE(david.dead());
}

TEST(Sessions, SESS_1_frames_out_of_order_are_refused) {
    for (const Frame& frame : {Frame(Ready{}), Frame(apply(0)), Frame(Close{}), Frame(Abort{}),
                               Frame(Refuse{}), Frame(Reply{0, 0, Matrix(2, 1)})}) {
        DavidSession fresh = honest_david();
        expect_refusal(fresh, frame, RefuseReason::out_of_order);
    }
    for (const Frame& frame :
         {hello(), Frame(Ready{}), Frame(Refuse{}), Frame(Reply{0, 0, Matrix(2, 1)})}) {
        DavidSession open = honest_david();
        ask(open, hello());
        expect_refusal(open, frame, RefuseReason::out_of_order);
    }
}

TEST(Sessions, SESS_2_david_accepts_all_of_hello_or_refuses) {
    const Digest other = {1, 2, 4};
    const std::pair<Hello, RefuseReason> refused[] = {
        {{3, 1, digest}, RefuseReason::version}, {{1, 1, digest}, RefuseReason::version},
        {{0, 2, other}, RefuseReason::version},  {{2, 2, digest}, RefuseReason::set},
        {{2, 0, other}, RefuseReason::set},      {{2, 1, other}, RefuseReason::digest}};
    for (const auto& [frame, reason] : refused) {
        DavidSession david = honest_david();
        expect_refusal(david, frame, reason);
    }
}

TEST(Sessions, SESS_2_charlie_dictates_version_set_and_digest) {
    DavidSession david(other_set(), digest, weights);
    InProcessChannel channel(david);
    CharlieSession charlie(both_groups(), digest, checks(), masks(), channel);
    EXPECT_THROW(charlie.hello(), ProtocolError) << "David serves another set";
    EXPECT_TRUE(charlie.wiped());
    const Frame sent = decode(david.transcript().received.at(0), both_groups());
    EXPECT_EQ(sent, Frame(Hello{2, 1, digest}));
}

TEST(Sessions, SESS_3_david_refuses_any_other_sequence) {
    for (std::uint64_t wrong : {std::uint64_t{0}, std::uint64_t{2}, ~std::uint64_t{0}}) {
        DavidSession david = honest_david();
        ask(david, hello());
        ask(david, apply(0));
        expect_refusal(david, apply(wrong), RefuseReason::out_of_order);
    }
    DavidSession david = honest_david();
    ask(david, hello());
    expect_refusal(david, apply(1), RefuseReason::out_of_order);
}

Bytes with_byte(Bytes bytes, std::size_t position, std::uint8_t value) {
    bytes.at(position) = value;
    return bytes;
}

/// What David answers to bytes after HELLO.
RefuseReason refusal_of(const Bytes& bytes, bool after_hello = true) {
    DavidSession david = honest_david();
    if (after_hello) ask(david, hello());
    const Frame answer = decode(david.receive(bytes).value(), both_groups());
    EXPECT_TRUE(david.dead());
    return std::get<Refuse>(answer).reason;
}

TEST(Sessions, WIRE_7_the_order_in_which_an_apply_is_examined) {
    constexpr std::size_t sequence = 5;
    constexpr std::size_t group = 13;
    constexpr std::size_t columns = 17;
    constexpr std::size_t plane_1 = 24;
    const Bytes good = encode(apply(0), both_groups());
    EXPECT_EQ(refusal_of(with_byte(good, columns, 0)), RefuseReason::malformed);
    EXPECT_EQ(refusal_of(with_byte(with_byte(good, columns, 0), sequence, 1)),
              RefuseReason::malformed);
    EXPECT_EQ(refusal_of(with_byte(with_byte(good, sequence, 1), group, 9)),
              RefuseReason::out_of_order);
    EXPECT_EQ(refusal_of(with_byte(with_byte(good, sequence, 1), plane_1, 0xff)),
              RefuseReason::out_of_order);
    EXPECT_EQ(refusal_of(with_byte(with_byte(good, group, 9), plane_1, 0xff)),
              RefuseReason::unknown_group);
    EXPECT_EQ(refusal_of(with_byte(good, plane_1, 0xff)), RefuseReason::malformed);
    EXPECT_EQ(refusal_of({1, 0, 0, 0, 9}), RefuseReason::malformed);
    EXPECT_EQ(refusal_of({}), RefuseReason::malformed);
    EXPECT_EQ(refusal_of(with_byte(good, group, 9), false), RefuseReason::out_of_order);
    EXPECT_EQ(refusal_of(with_byte(good, plane_1, 0xff), false), RefuseReason::malformed);
}

/// A session of Charlie with a David whose answer number `at` (0 is READY) is changed.
struct Tampered {
    DavidSession david = honest_david();
    int answers = 0;
    InProcessChannel channel;
    CharlieSession charlie;

    Tampered(int at, const InProcessChannel::Tamper& change)
        : channel(david,
                  [this, at, change](const Bytes& answer) {
                      return answers++ == at ? change(answer) : answer;
                  }),
          charlie(both_groups(), digest, checks(), masks(), channel) {}

    std::size_t frames_sent() const { return david.transcript().received.size(); }
};

const Matrix any_q{{5, 1}, {-1, 0}, {0, 2}};

void expect_dead(Tampered& session) {
    EXPECT_TRUE(session.charlie.dead());
    EXPECT_TRUE(session.charlie.wiped());
    const std::size_t sent = session.frames_sent();
    EXPECT_THROW(session.charlie.apply(0, any_q), SessionDeadError);
    EXPECT_THROW(session.charlie.hello(), SessionDeadError);
    EXPECT_THROW(session.charlie.close(), SessionDeadError);
    EXPECT_EQ(session.frames_sent(), sent) << "a dead session sends nothing";
}

TEST(Sessions, SESS_3_a_reply_must_echo_sequence_group_and_columns) {
    // Offsets of WIRE-5; group 2 does not exist, so its echo is an error of the decoder.
    const InProcessChannel::Tamper changes[] = {
        [](const Bytes& reply) { return with_byte(reply, 5, 1); },
        [](const Bytes& reply) { return with_byte(reply, 13, 2); },
        [](const Bytes&) {
            return encode(Reply{0, 1, Matrix(1, 2)}, both_groups());
        },
        [](const Bytes&) {
            return encode(Reply{0, 0, Matrix(2, 1)}, both_groups());
        },
        [](const Bytes&) {
            return encode(Reply{0, 0, Matrix(2, 3)}, both_groups());
        },
        [](const Bytes&) { return encode(apply(0), both_groups()); },
        [](const Bytes&) { return encode(Refuse{RefuseReason::busy}, both_groups()); },
        [](Bytes reply) {
            reply.push_back(0);
            return reply;
        },
        [](const Bytes&) { return Bytes{}; },
    };
    for (const auto& change : changes) {
        Tampered session(1, change);
        session.charlie.hello();
        EXPECT_THROW(session.charlie.apply(0, any_q), ProtocolError);
        expect_dead(session);
    }
}

TEST(Sessions, SESS_1_anything_but_ready_ends_the_opening) {
    for (const Frame& frame : {Frame(Refuse{RefuseReason::busy}), Frame(Close{}), hello(),
                               Frame(Reply{0, 0, Matrix(2, 2)})}) {
        Tampered session(0, [&](const Bytes&) { return encode(frame, both_groups()); });
        EXPECT_THROW(session.charlie.hello(), ProtocolError);
        expect_dead(session);
    }
}

TEST(Sessions, SESS_4_an_error_of_the_caller_ends_the_session_too) {
    const auto unchanged = [](const Bytes& answer) { return answer; };
    Tampered wrong_shape(0, unchanged);
    wrong_shape.charlie.hello();
    EXPECT_THROW(wrong_shape.charlie.apply(0, Matrix(2, 1)), PreconditionError);
    expect_dead(wrong_shape);

    Tampered no_mask_left(0, unchanged);
    no_mask_left.charlie.hello();
    no_mask_left.charlie.apply(1, Matrix{{1}, {1}});
    EXPECT_THROW(no_mask_left.charlie.apply(1, Matrix{{1}, {1}}), PreconditionError);
    EXPECT_EQ(no_mask_left.frames_sent(), 2U) << "the second was not sent";
    expect_dead(no_mask_left);

    Tampered before_hello(0, unchanged);
    EXPECT_THROW(before_hello.charlie.apply(0, any_q), PreconditionError);
    EXPECT_EQ(before_hello.frames_sent(), 0U);
    expect_dead(before_hello);
}

TEST(Sessions, SESS_4_a_closed_session_is_dead) {
    Tampered session(-1, nullptr);
    session.charlie.hello();
    session.charlie.close();
    expect_dead(session);
}

TEST(Sessions, WIRE_8_a_byte_that_is_not_below_its_prime_is_refused_before_the_check) {
    for (std::size_t p = 0; p < 4; ++p) {
        const auto prime = paper().planes.primes()[p].convert_to<std::uint8_t>();
        for (std::uint8_t byte : {prime, std::uint8_t{255}}) {
            Tampered session(1, [=](const Bytes& reply) {  // M = 2: plane p of row 1, column 1
                return with_byte(reply, 21 + 8 + 2 * p + 1, byte);
            });
            session.charlie.hello();
            EXPECT_THROW(session.charlie.apply(0, any_q), ProtocolError);
            expect_dead(session);
        }
    }
}

TEST(Sessions, INTEG_3_a_reply_wrong_in_one_plane_of_one_residue_is_found) {
    for (std::size_t byte = 21; byte < 21 + 16; ++byte) {
        Tampered session(1, [=](const Bytes& reply) {
            return with_byte(reply, byte, static_cast<std::uint8_t>(reply[byte] == 0 ? 1 : 0));
        });
        session.charlie.hello();
        EXPECT_THROW(session.charlie.apply(0, any_q), IntegrityError) << "byte " << byte;
        expect_dead(session);
    }
}

TEST(Sessions, INTEG_10_one_secret_of_the_check_serves_many_sessions) {
    const std::vector<CheckSecret> kept = checks();
    for (std::uint8_t session_number = 0; session_number < 3; ++session_number) {
        DavidSession david = honest_david();
        InProcessChannel channel(david);
        CharlieSession charlie(
            both_groups(), digest, kept,
            prepare_masks(paper(), Key{session_number}, weights, {{0, 2}, {1, 1}}), channel);
        charlie.hello();
        EXPECT_EQ(charlie.apply(0, any_q), weights[0] * any_q);
        EXPECT_EQ(charlie.apply(1, Matrix{{-7}, {3}}), (Matrix{{-23}}));
        charlie.close();
    }
}

RC_GTEST_PROP(Sessions, INTEG_6_a_wrong_reply_destroys_the_secrets_and_sends_abort, ()) {
    const std::size_t position = *rc::gen::inRange<std::size_t>(21, 21 + 16);  // a residue byte
    const int difference = *rc::gen::inRange(1, 223);
    Tampered session(1, [=](const Bytes& reply) {  // below 223, so canonical in every plane
        return with_byte(reply, position,
                         static_cast<std::uint8_t>((reply[position] + difference) % 223));
    });
    session.charlie.hello();
    RC_ASSERT_THROWS_AS(session.charlie.apply(0, any_q), IntegrityError);
    RC_ASSERT(session.charlie.dead());
    RC_ASSERT(session.charlie.wiped());
    const Bytes last = session.david.transcript().received.back();
    RC_ASSERT(last == (Bytes{1, 0, 0, 0, 5}));
    RC_ASSERT(session.frames_sent() == 3U);
    RC_ASSERT_THROWS_AS(session.charlie.apply(0, any_q), SessionDeadError);
}

TEST(Sessions, MASK_5_the_index_rises_over_all_groups_and_columns) {
    // Column t of message i is masked by the stream of the next index: found by sending zeros.
    DavidSession david = honest_david();
    InProcessChannel channel(david);
    CharlieSession charlie(both_groups(), digest, checks(), masks(), channel);
    charlie.hello();
    charlie.apply(0, Matrix(3, 2));
    charlie.apply(1, Matrix(2, 1));
    charlie.apply(0, Matrix(3, 2));
    std::uint64_t index = 0;
    for (const Matrix& x_masked : david.transcript().masked_inputs(david.shapes())) {
        for (std::size_t t = 0; t < x_masked.cols(); ++t, ++index) {
            EXPECT_EQ(x_masked.column(t),
                      uniform_residues(paper().planes, key, Purpose::mask, index, x_masked.rows()));
        }
    }
    EXPECT_EQ(index, 5U);
}

}  // namespace
}  // namespace slip::reference

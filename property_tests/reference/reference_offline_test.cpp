// The offline David of the reference: his frames, the order on his connection, what he computes,
// and what Charlie makes of it.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fstream>
#include <string>

#include "property_tests/reference/offline_scene.hpp"
#include "reference/definitions.hpp"

namespace slip::reference {
namespace {

const OfflineScene scene;

std::optional<OfflineFrame> ask(OfflineDavid& david, const OfflineFrame& frame) {
    const auto answer = david.receive(encode_offline(frame, scene.shapes()));
    if (!answer) return std::nullopt;
    return decode_offline(*answer, scene.shapes());
}

OfflineDavid open_david() {
    OfflineDavid david = scene.offline_david();
    EXPECT_EQ(ask(david, scene.key()), std::optional<OfflineFrame>(Ready{}));
    return david;
}

void expect_refusal(OfflineDavid& david, const Bytes& bytes, RefuseReason reason) {
    const auto answer = david.receive(bytes);
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(decode_offline(*answer, scene.shapes()), OfflineFrame(Refuse{reason}));
    EXPECT_TRUE(david.dead() && david.wiped());
    EXPECT_THROW(david.receive(bytes), SessionDeadError);
}

void expect_refusal(OfflineDavid david, const OfflineFrame& frame, RefuseReason reason) {
    expect_refusal(david, encode_offline(frame, scene.shapes()), reason);
}

Bytes bytes_of(const OfflineFrame& frame) { return encode_offline(frame, scene.shapes()); }

/// A frame with other bytes at an offset.
Bytes with(Bytes bytes, std::size_t offset, const Bytes& patch) {
    for (const std::uint8_t byte : patch) bytes.at(offset++) = byte;
    return bytes;
}

TEST(OfflineFrames, OFF_2_to_OFF_4_lengths_and_types) {
    const Bytes key = bytes_of(scene.key());
    EXPECT_EQ(key.size(), 4U + 72U);
    EXPECT_EQ(Bytes(key.begin(), key.begin() + 9), (Bytes{72, 0, 0, 0, 0x11, 'S', 'L', 'I', 'P'}));
    EXPECT_EQ(bytes_of(Request{0x0102030405060708, 1, 3}),
              (Bytes{17, 0, 0, 0, 0x12, 8, 7, 6, 5, 4, 3, 2, 1, 1, 0, 0, 0, 3, 0, 0, 0}));
    const Bytes c = bytes_of(Cancellations{5, 0, Matrix{{31}, {2147482504}}});
    EXPECT_EQ(c, (Bytes{25, 0, 0, 0, 0x13, 5, 0,  0, 0, 0, 0,    0,    0,    0,   0,
                        0,  0, 1, 0, 0,    0, 31, 0, 0, 0, 0x88, 0xfb, 0xff, 0x7f}));
}

TEST(OfflineDavids, OFF_4_answers_are_the_cancellations_of_the_masks) {
    OfflineDavid david = open_david();
    const auto answer = ask(david, Request{40, 0, 3});
    const Matrix c = Matrix::from_columns(
        2,
        {scene.cancellation_of(0, 40), scene.cancellation_of(0, 41), scene.cancellation_of(0, 42)});
    EXPECT_EQ(answer, std::optional<OfflineFrame>(Cancellations{40, 0, c}));
    const Matrix last = Matrix::from_columns(1, {scene.cancellation_of(1, 43)});
    EXPECT_EQ(ask(david, Request{43, 1, 1}),
              std::optional<OfflineFrame>(Cancellations{43, 1, last}));
    EXPECT_EQ(ask(david, Close{}), std::nullopt);
    EXPECT_TRUE(david.dead());
}

TEST(OfflineDavids, OFF_2_a_key_is_accepted_as_a_whole_or_refused) {
    const Digest other = {1, 2, 4};
    const std::pair<OfflineKey, RefuseReason> refused[] = {
        {{2, 2, other, {}}, RefuseReason::version},
        {{1, 2, other, {}}, RefuseReason::profile},
        {{1, 1, other, {}}, RefuseReason::digest}};
    for (const auto& [key, reason] : refused) expect_refusal(scene.offline_david(), key, reason);
}

TEST(OfflineDavids, OFF_5_indices_rise_and_end_at_2_64) {
    const std::uint64_t last = ~std::uint64_t{0};
    for (const std::uint64_t index : {std::uint64_t{9}, std::uint64_t{11}, std::uint64_t{0}}) {
        OfflineDavid david = open_david();
        ask(david, Request{10, 0, 2});
        expect_refusal(david, bytes_of(Request{index, 0, 1}), RefuseReason::out_of_order);
    }
    OfflineDavid david = open_david();
    EXPECT_TRUE(std::holds_alternative<Cancellations>(*ask(david, Request{last - 1, 0, 2})));
    expect_refusal(david, bytes_of(Request{last, 0, 1}), RefuseReason::out_of_order);
    expect_refusal(open_david(), Request{last, 0, 2}, RefuseReason::malformed);
    expect_refusal(scene.offline_david(), Request{last, 0, 2}, RefuseReason::out_of_order);
    OfflineDavid gap = open_david();
    EXPECT_TRUE(std::holds_alternative<Cancellations>(*ask(gap, Request{1000, 0, 1})));
    EXPECT_TRUE(std::holds_alternative<Cancellations>(*ask(gap, Request{last, 1, 1})));
}

TEST(OfflineDavids, OFF_5_frames_out_of_order_are_refused) {
    for (const OfflineFrame& frame :
         {OfflineFrame(Ready{}), OfflineFrame(Request{0, 0, 1}), OfflineFrame(Close{}),
          OfflineFrame(Abort{}), OfflineFrame(Refuse{}),
          OfflineFrame(Cancellations{0, 0, Matrix(2, 1)})}) {
        expect_refusal(scene.offline_david(), frame, RefuseReason::out_of_order);
    }
    for (const OfflineFrame& frame : {OfflineFrame(Ready{}), OfflineFrame(Refuse{})}) {
        expect_refusal(open_david(), frame, RefuseReason::out_of_order);
    }
}

TEST(OfflineDavids, OFF_6_of_several_reasons_the_first_counts) {
    const auto refusal = [](bool open, const Bytes& bytes, RefuseReason reason) {
        OfflineDavid david = open ? open_david() : scene.offline_david();
        expect_refusal(david, bytes, reason);
    };
    const Bytes request = bytes_of(Request{0, 0, 1});
    const Bytes unknown = with(request, 13, {2}), none = with(unknown, 17, {0});
    refusal(true, unknown, RefuseReason::unknown_group);
    refusal(false, unknown, RefuseReason::out_of_order);
    refusal(true, none, RefuseReason::malformed);
    refusal(false, none, RefuseReason::malformed);
    refusal(true, with(request, 17, {1, 16}), RefuseReason::malformed);
    Bytes longer = request;
    longer.push_back(0);
    longer[0] = 18;
    refusal(true, longer, RefuseReason::malformed);
    const Bytes c = bytes_of(Cancellations{0, 0, Matrix(2, 1)});
    refusal(false, with(c, 13, {9}), RefuseReason::out_of_order);
    refusal(false, with(c, 21, {255, 255, 255, 255}), RefuseReason::malformed);
    const Bytes beyond(8, 255);
    refusal(true, with(with(unknown, 5, beyond), 17, {2}), RefuseReason::malformed);
    refusal(false, with(with(unknown, 5, beyond), 17, {2}), RefuseReason::out_of_order);
    refusal(false, with(bytes_of(scene.key()), 5, {'X'}), RefuseReason::malformed);
    OfflineDavid late = open_david();
    ask(late, Request{5, 0, 1});
    expect_refusal(late, unknown, RefuseReason::out_of_order);
}

TEST(OfflineDavids, OFF_3_a_request_whose_masks_do_not_fit_is_malformed) {
    const std::vector<Matrix> wide = {Matrix(1, 4097), Matrix(4097, 1), Matrix(1, 4096)};
    for (const std::uint32_t group : {0U, 1U}) {
        OfflineDavid david(p31(), scene.digest, wide);
        david.receive(bytes_of(scene.key()));
        const Bytes bytes =
            with(bytes_of(Request{0, 0, 4096}), 13, {static_cast<std::uint8_t>(group)});
        const auto answer = david.receive(bytes);
        EXPECT_EQ(decode_offline(*answer, scene.shapes()),
                  OfflineFrame(Refuse{RefuseReason::malformed}));
    }
}

TEST(OfflineDavids, OFF_7_a_frame_longer_than_the_state_allows_is_malformed) {
    const auto of_columns = [](std::size_t columns) {
        return bytes_of(Cancellations{0, 0, Matrix(2, columns)});
    };
    OfflineDavid fresh = scene.offline_david(), other = scene.offline_david();
    EXPECT_EQ(of_columns(7).size(), 4U + 73U);
    expect_refusal(fresh, of_columns(7), RefuseReason::malformed);
    expect_refusal(other, of_columns(6), RefuseReason::out_of_order);
    expect_refusal(open_david(), Cancellations{0, 0, Matrix(2, 1)}, RefuseReason::malformed);
    expect_refusal(open_david(), scene.key(), RefuseReason::malformed);
}

TEST(OfflineDavids, OFF_7_the_two_Davids_do_not_know_each_others_frames) {
    DavidSession david = scene.david();
    const auto refused = david.receive(bytes_of(scene.key()));
    EXPECT_EQ(decode(*refused, scene.shapes()), Frame(Refuse{RefuseReason::malformed}));
    for (const Frame& frame : {Frame(Hello{1, 1, scene.digest}), Frame(Apply{0, 0, Matrix(3, 1)}),
                               Frame(Reply{0, 0, Matrix(2, 1)})}) {
        OfflineDavid fresh = scene.offline_david();
        expect_refusal(fresh, encode(frame, scene.shapes()), RefuseReason::malformed);
        OfflineDavid open = open_david();
        expect_refusal(open, encode(frame, scene.shapes()), RefuseReason::malformed);
    }
}

TEST(OfflineDavids, OFF_8_the_key_is_gone_when_the_connection_ends) {
    for (const OfflineFrame& end : {OfflineFrame(Close{}), OfflineFrame(Abort{})}) {
        OfflineDavid david = open_david();
        EXPECT_FALSE(david.wiped());
        ask(david, end);
        EXPECT_TRUE(david.wiped());
    }
}

OfflineFrame any_offline_frame(const Profile& profile) {
    const auto index = *rc::gen::arbitrary<std::uint64_t>();
    const auto columns = *rc::gen::inRange<std::uint32_t>(1, 6);
    switch (*rc::gen::inRange(1, 8)) {
        case 1: {
            OfflineKey key{
                *rc::gen::arbitrary<std::uint16_t>(), *rc::gen::arbitrary<std::uint8_t>(), {}, {}};
            for (std::uint8_t& byte : key.key) byte = *rc::gen::arbitrary<std::uint8_t>();
            return key;
        }
        case 2:
            return Ready{};
        case 3:
            return Request{index, *rc::gen::element(0U, 1U), columns};
        case 4: {
            Matrix c(2, columns);
            for (std::size_t t = 0; t < columns; ++t) {
                c(1, t) = *rc::gen::arbitrary<std::uint64_t>() % profile.modulus;
            }
            return Cancellations{index, 0, c};
        }
        case 5:
            return Abort{};
        case 6:
            return Close{};
        default:
            return Refuse{static_cast<RefuseReason>(*rc::gen::inRange(1, 8))};
    }
}

RC_GTEST_PROP(OfflineFrames, OFF_7_every_frame_decodes_to_itself_and_no_part_of_it_to_anything,
              ()) {
    const Shapes shapes{*rc::gen::element(p31(), p61()), scene.shapes().groups};
    const OfflineFrame frame = any_offline_frame(shapes.profile);
    const Bytes bytes = encode_offline(frame, shapes);
    RC_ASSERT(decode_offline(bytes, shapes) == frame);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        RC_ASSERT_THROWS_AS(decode_offline(std::span(bytes.data(), size), shapes), DecodeError);
    }
}

RC_GTEST_PROP(OfflineFrames, OFF_7_any_bytes_are_one_canonical_frame_or_refused, ()) {
    const Shapes shapes{*rc::gen::element(p31(), p61()), scene.shapes().groups};
    Bytes bytes = encode_offline(any_offline_frame(shapes.profile), shapes);
    bytes[*rc::gen::inRange<std::size_t>(0, bytes.size())] = *rc::gen::arbitrary<std::uint8_t>();
    try {
        const OfflineFrame frame = decode_offline(bytes, shapes);
        RC_ASSERT(encode_offline(frame, shapes) == bytes);
    } catch (const DecodeError&) {
    }
}

Bytes hex_bytes(const std::string& text) {
    std::string digits;
    for (const char c : text) {
        if (std::isxdigit(static_cast<unsigned char>(c)) != 0) digits += c;
    }
    Bytes bytes;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
        bytes.push_back(static_cast<std::uint8_t>(std::stoi(digits.substr(i, 2), nullptr, 16)));
    }
    return bytes;
}

/// Decodes one example; group 0 and 2 have n = 3 and M = 2.
void expect_example(bool valid, const Bytes& bytes) {
    const Shapes shapes{p31(), {{0, {3, 2}}, {2, {3, 2}}}};
    if (valid) {
        EXPECT_EQ(encode_offline(decode_offline(bytes, shapes), shapes), bytes);
    } else {
        EXPECT_THROW(decode_offline(bytes, shapes), DecodeError);
    }
}

TEST(OfflineExamples, OFF_17_the_examples_of_the_chapter) {
    std::ifstream chapter(std::string(SLIP_SOURCE_DIR) + "/spec/offline.md");
    ASSERT_TRUE(chapter.good());
    int valid = 0, invalid = 0;
    std::string title, hex;
    bool inside = false;
    for (std::string line; std::getline(chapter, line);) {
        if (line.starts_with("```hex")) {
            inside = true;
            title = line.substr(3);
            hex.clear();
        } else if (inside && line == "```") {
            inside = false;
            SCOPED_TRACE(title);
            const bool is_valid = title.starts_with("hex ");
            expect_example(is_valid, hex_bytes(hex));
            ++(is_valid ? valid : invalid);
        } else if (inside) {
            hex += line;
        }
    }
    EXPECT_GE(valid, 4);
    EXPECT_GE(invalid, 8);
}

/// What a session of these messages gives, with masks of Charlie's own.
std::vector<Matrix> with_one_david(const std::vector<std::pair<std::uint32_t, Matrix>>& messages) {
    std::vector<PlannedMessage> schedule;
    for (const auto& [group, q] : messages) schedule.push_back({group, q.cols()});
    DavidSession david = scene.david();
    InProcessChannel channel(david);
    CharlieSession charlie(scene.shapes(), scene.digest,
                           prepare(scene.profile, Key{3}, scene.weights, schedule), channel);
    charlie.hello();
    std::vector<Matrix> results;
    for (const auto& [group, q] : messages) results.push_back(charlie.apply(group, q));
    charlie.close();
    return results;
}

RC_GTEST_PROP(Offline, OFF_1_results_are_those_of_a_session_with_one_David, ()) {
    std::vector<std::pair<std::uint32_t, Matrix>> messages;
    std::vector<PlannedMessage> requests;
    for (int count = *rc::gen::inRange(1, 5); count > 0; --count) {
        const auto group = *rc::gen::element(0U, 1U);
        Matrix q(scene.weights[group].cols(), *rc::gen::inRange<std::size_t>(1, 4));
        for (std::size_t i = 0; i < q.rows(); ++i) {
            for (std::size_t t = 0; t < q.cols(); ++t) {
                q(i, t) = *rc::gen::inRange(-32767, 32768);
            }
        }
        requests.push_back({group, q.cols()});
        messages.emplace_back(group, q);
    }
    OfflineParties parties(scene);
    parties.fill(requests);
    DavidSession david = scene.david();
    InProcessChannel channel(david);
    CharlieSession charlie(scene.shapes(), scene.digest, parties.life, channel);
    charlie.hello();
    std::vector<Matrix> results;
    for (const auto& [group, q] : messages) results.push_back(charlie.apply(group, q));
    charlie.close();
    RC_ASSERT(results == with_one_david(messages));
    parties.life.give_back();
    RC_ASSERT(parties.pair.state() == Pair::State::free);
}

TEST(Offline, OFF_5_four_requests_are_unanswered_at_most) {
    OfflineParties parties(scene);
    parties.connection.open();
    for (int i = 0; i < 4; ++i) parties.connection.request(0, 1);
    EXPECT_EQ(parties.connection.unanswered(), 4U);
    EXPECT_THROW(parties.connection.request(0, 1), PreconditionError);
    EXPECT_TRUE(parties.connection.wiped());
}

/// The message of group 0 with n = 3 and one column.
const Matrix q{{5}, {-1}, {0}};

TEST(Offline, OFF_8_no_index_is_asked_for_twice_and_none_is_used_twice) {
    OfflineParties parties(scene);
    parties.fill({{0, 2}, {1, 3}, {0, 1}});
    std::vector<std::uint64_t> indices;
    for (const std::uint32_t group : {0U, 1U}) {
        for (const OneTimeMask& mask : parties.life.take(group, 3)) indices.push_back(mask.index());
    }
    EXPECT_EQ(indices, (std::vector<std::uint64_t>{0, 1, 5, 2, 3, 4}));
}

TEST(Offline, OFF_8_the_key_of_the_connection_is_no_key_of_a_pair) {
    // With one key for both, who knows it knows rho, and every wrong c and y~ passes: e with
    // rho^T e = 0, here for kappa = 1 (P61) and two rows.
    const std::vector<Matrix> weights = {Matrix{{1, -2, 3}, {0, 127, -127}}};
    const Ring ring(p61().modulus);
    const Matrix rho = draw_rho(p61().modulus, Key{9}, 0, 2, 1);  // D2 has the key 9
    const Vector e = {rho(1, 0), ring.subtract(0, rho(0, 0))};
    const Vector r = uniform_residues(ring, Key{9}, Tag::mask, 0, 3);
    const Vector wrong = ring.add(cancellation(ring, weights[0], r), e);
    const auto accepted = [&](const Key& pair_key) {
        Pair pair(p61(), pair_key, weights);
        Life life(pair);
        return life.accepts(0, Matrix::from_columns(3, {r}), Matrix::from_columns(2, {wrong}));
    };
    EXPECT_TRUE(accepted(Key{9})) << "the mutant: seed shared with rho";
    EXPECT_FALSE(accepted(Key{7}));
}

TEST(Offline, OFF_9_nothing_but_checked_cancellations_enters_the_stock) {
    OfflineParties parties(scene, [](Bytes answer) {
        if (answer[4] == 0x13) answer[21] ^= 1;
        return answer;
    });
    EXPECT_THROW(parties.fill({{0, 2}}), IntegrityError);
    EXPECT_EQ(parties.life.stocked(0), 0U);
    EXPECT_TRUE(parties.life.over() && parties.connection.dead() && parties.connection.wiped());
    EXPECT_EQ(parties.pair.state(), Pair::State::deleted);
    EXPECT_TRUE(parties.offline_david.dead()) << "he got ABORT";
}

TEST(Offline, OFF_9_an_answer_to_another_request_is_refused) {
    for (const std::size_t offset : {5U, 13U, 17U}) {
        OfflineParties parties(scene, [&](Bytes answer) {
            if (answer[4] == 0x13) answer[offset] ^= 1;
            return answer;
        });
        EXPECT_THROW(parties.fill({{0, 2}}), ProtocolError) << offset;
        EXPECT_FALSE(parties.life.over()) << "a loss, no reject";
        EXPECT_EQ(parties.life.stocked(0), 0U);
    }
}

TEST(Offline, OFF_11_a_lost_offline_David_is_replaced_and_the_session_goes_on) {
    OfflineParties parties(scene);
    parties.fill({{0, 1}});
    DavidSession david = scene.david();
    InProcessChannel channel(david);
    CharlieSession charlie(scene.shapes(), scene.digest, parties.life, channel);
    charlie.hello();
    parties.connection.request(0, 1);
    ask(parties.offline_david, Close{});  // as far as Charlie sees, the stream ends
    OfflineDavid nobody = scene.offline_david();
    EXPECT_EQ(charlie.apply(0, q), scene.weights[0] * q) << "what is checked stays usable";
    EXPECT_THROW(charlie.apply(0, q), PreconditionError) << "no mask without an answer";

    OfflineChannel second_channel(nobody);
    OfflineConnection second(scene.shapes(), scene.digest, Key{10}, second_channel);
    second.open();
    second.request(0, 1);
    second.receive(parties.life);
    DavidSession next = scene.david();
    InProcessChannel next_channel(next);
    CharlieSession again(scene.shapes(), scene.digest, parties.life, next_channel);
    again.hello();
    EXPECT_EQ(again.apply(0, q), scene.weights[0] * q) << "one life, two sessions, two D2s";
}

TEST(Offline, OFF_11_a_reject_of_either_David_ends_every_session_of_the_life) {
    for (const bool wrong_c : {true, false}) {
        int changed = 0;
        OfflineParties parties(scene, [&](Bytes answer) {
            if (wrong_c && ++changed == 3) answer[21] ^= 1;  // READY, the first c, then this
            return answer;
        });
        parties.fill({{0, 2}});
        DavidSession david_1 = scene.david(), david_2 = scene.david();
        InProcessChannel honest(david_1);
        InProcessChannel lying(david_2, [&](Bytes answer) {
            if (answer[4] == 4) answer[21] ^= 1;
            return answer;
        });
        CharlieSession good(scene.shapes(), scene.digest, parties.life, honest);
        CharlieSession bad(scene.shapes(), scene.digest, parties.life, lying);
        good.hello();
        bad.hello();
        if (wrong_c) {
            parties.connection.request(0, 1);
            EXPECT_THROW(parties.connection.receive(parties.life), IntegrityError);
        } else {
            EXPECT_THROW(bad.apply(0, q), IntegrityError);
        }
        EXPECT_EQ(parties.life.stocked(0), 0U) << "the stock is discarded";
        EXPECT_THROW(good.apply(0, q), IntegrityError);
        EXPECT_EQ(david_1.transcript().received.size(), 2U) << "HELLO and ABORT, no APPLY";
        EXPECT_EQ(decode(david_1.transcript().received.back(), scene.shapes()), Frame(Abort{}));
        EXPECT_EQ(parties.pair.state(), Pair::State::deleted);
        EXPECT_TRUE(parties.pair.wiped() && good.wiped());
    }
}

TEST(Offline, OFF_16_charlies_work_with_an_offline_David) {
    const MatrixWork work{4096, 4096, 50, 2, 1000};
    EXPECT_EQ(work.with_offline_david(), 54 * 8192 + Rational(4096 * 4096 * 2, 1000));
    EXPECT_LT(epsilon_with_offline_david(work), Rational(3, 100)) << "and 1.03 without him";
    EXPECT_GT(epsilon_total(work), Rational(102, 100));
}

}  // namespace
}  // namespace slip::reference

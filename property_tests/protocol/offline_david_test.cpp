// The offline David (D2): his answers, his refusals, and wiping of his secrets.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "property_tests/protocol/offline_fixture.hpp"
#include "property_tests/protocol/watched_secrets.hpp"

namespace slip::fixture {
namespace {

using namespace protocol;

constexpr std::uint64_t last_index = std::numeric_limits<std::uint64_t>::max();

template <class P>
Residues<P> residues_in(const Bytes& answer, const wire::ColumnsHeader& header, std::size_t rows) {
    EXPECT_EQ(wire::decode_columns_header(FrameType::cancellations, payload_of(answer)), header);
    Residues<P> residues(header.columns * rows);
    wire::decode_residues<P>(payload_of(answer), header, rows, std::span(residues));
    return residues;
}

PROFILE_PROP(OfflineDavid, MASK_3_CNN_4_answers_with_the_cancellations_of_the_masks_under_the_key) {
    const base::Convolution window{
        .H = 4, .W = 3, .C = 2, .kH = 2, .kW = 2, .N = 3, .stride = 1, .padding = 1};
    const std::vector<Shape> shapes{{*any_size(1, 6).as("rows"), *any_size(1, 6).as("n")},
                                    shape_of(window)};
    const Model model(shapes, drawn_weights(shapes), profile_of<P>);
    const auto key = counting_key(static_cast<std::uint8_t>(*any_size(0, 200).as("key")));
    const auto columns = static_cast<std::uint32_t>(*any_size(1, 5).as("columns"));
    const std::uint64_t first =
        *any_number<std::uint64_t>(0, last_index - (columns - 1)).as("first index");
    const auto group = static_cast<base::GroupId>(*any_size(0, 1).as("group"));
    const auto session = keyed_session(model, key);

    const Bytes answer = handle(*session, request_frame(first, group, columns));

    const reference::Matrix& w = model.matrices[group];
    const auto found = residues_in<P>(answer, {first, group, columns}, w.rows());
    for (std::uint32_t j = 0; j < columns; ++j) {
        const auto r = stream_of_reference<P>(key, StreamTag::mask, first + j, w.cols());
        const auto begin = found.begin() + static_cast<std::ptrdiff_t>(j * w.rows());
        RC_ASSERT(reference::Vector(begin, begin + static_cast<std::ptrdiff_t>(w.rows())) ==
                  ring<P>().multiply(w, r));
    }
}

TEST(OfflineDavid, OFF_2_refuses_another_version_profile_or_digest_or_first_frame) {
    const Model model({{2, 3}}, Fill::random, 1);
    const auto key = counting_key();
    const auto refusal_of = [&](const Bytes& frame) {
        const auto session = make_offline_session(model.david);
        const Bytes answer = handle(*session, frame);
        EXPECT_TRUE(session->finished());
        return refusal_in(answer);
    };
    Digest other = model.david.digest;
    other[31] ^= 1;
    const auto with = [&](const wire::KeyHeader& header) { return key_frame(header, key); };
    EXPECT_EQ(refusal_of(with({2, Profile::p31, model.david.digest})), Refusal::version);
    EXPECT_EQ(refusal_of(with({0, Profile::p61, other})), Refusal::version);
    EXPECT_EQ(refusal_of(with({1, Profile::p61, model.david.digest})), Refusal::profile);
    EXPECT_EQ(refusal_of(with({1, Profile::p31, other})), Refusal::digest);
    EXPECT_EQ(refusal_of(hello_for(model)), Refusal::malformed) << "unknown to him";
    EXPECT_EQ(refusal_of(message(FrameType::apply, {0, 0, 1}, {1, 2, 3})), Refusal::malformed);
    EXPECT_EQ(refusal_of(request_frame(0, 0, 1)), Refusal::out_of_order);
    EXPECT_EQ(refusal_of(close_frame()), Refusal::out_of_order);
    EXPECT_EQ(refusal_of(message(FrameType::cancellations, {0, 0, 1}, {1, 2})),
              Refusal::out_of_order);
    EXPECT_EQ(refusal_of(message(FrameType::cancellations, {0, 0, 2}, {1, 2})), Refusal::malformed);
    Bytes cut = key_frame(model, key);
    cut.pop_back();
    EXPECT_EQ(refusal_of(cut), Refusal::malformed);
}

/// To David the frames of this connection are of unknown type, in every state.
TEST(OfflineDavid, OFF_7_david_refuses_the_frames_of_an_offline_david) {
    const Model model({{2, 3}}, Fill::random, 1);
    for (const Bytes& frame : {key_frame(model, counting_key()), request_frame(0, 0, 1),
                               message(FrameType::cancellations, {0, 0, 1}, {1, 2})}) {
        const auto fresh = make_david_session(model.david);
        EXPECT_EQ(refusal_in(handle(*fresh, frame)), Refusal::malformed);
        const auto serving = make_david_session(model.david);
        handle(*serving, hello_for(model));
        EXPECT_EQ(refusal_in(handle(*serving, frame)), Refusal::malformed);
        EXPECT_THROW(wire::frame_type(payload_of(frame)), ProtocolError);
    }
}

TEST(OfflineDavid, OFF_5_OFF_6_refuses_frames_that_are_out_of_order_or_malformed) {
    const Model model({{2, 3}}, Fill::random, 1);
    const auto key = counting_key();
    const auto refusal_after = [&](const std::vector<Bytes>& accepted, const Bytes& frame) {
        const auto session = keyed_session(model, key);
        for (const Bytes& earlier : accepted) {
            EXPECT_EQ(wire::offline_frame_type(payload_of(handle(*session, earlier))),
                      FrameType::cancellations);
        }
        const Bytes answer = handle(*session, frame);
        EXPECT_TRUE(session->finished());
        return refusal_in(answer);
    };
    EXPECT_EQ(refusal_after({}, key_frame(model, key)), Refusal::malformed) << "too long by now";
    EXPECT_EQ(refusal_after({request_frame(0, 0, 3)}, request_frame(0, 0, 3)),
              Refusal::out_of_order);
    EXPECT_EQ(refusal_after({request_frame(5, 0, 3)}, request_frame(7, 0, 1)),
              Refusal::out_of_order)
        << "its first mask was drawn";
    EXPECT_EQ(
        refusal_after({request_frame(5, 0, 3), request_frame(8, 0, 1)}, request_frame(0, 0, 1)),
        Refusal::out_of_order);
    EXPECT_EQ(refusal_after({request_frame(last_index, 0, 1)}, request_frame(last_index, 0, 1)),
              Refusal::out_of_order);
    EXPECT_EQ(refusal_after({}, request_frame(last_index, 0, 2)), Refusal::malformed);
    EXPECT_EQ(refusal_after({}, request_frame(0, 1, 1)), Refusal::unknown_group);
    EXPECT_EQ(refusal_after({}, message(FrameType::cancellations, {0, 0, 1}, {1, 2})),
              Refusal::malformed);
    EXPECT_EQ(refusal_after({}, wire::encode_empty(FrameType::ready)), Refusal::out_of_order);
    Bytes none = request_frame(0, 0, 1);
    none[17] = std::byte{0};
    EXPECT_EQ(refusal_after({}, none), Refusal::malformed);
    Bytes many = request_frame(0, 0, 1);
    many[18] = std::byte{0x10};  // 4097
    EXPECT_EQ(refusal_after({}, many), Refusal::malformed);
    Bytes longer = request_frame(0, 0, 1);
    longer.push_back({});
    EXPECT_EQ(refusal_after({}, longer), Refusal::malformed);
}

TEST(OfflineDavid, OFF_3_OFF_7_bounds_the_frames_and_the_columns_of_a_request) {
    const std::size_t rows = std::size_t{1} << 14;
    const std::vector<std::int8_t> tall(rows);
    DavidModel model;
    model.weights.emplace_back(tall.data(), rows, 1U);
    const auto session = make_offline_session(model);
    EXPECT_EQ(session->max_payload(), 72U);
    const auto key = counting_key();
    handle(*session, key_frame({}, key));
    EXPECT_EQ(session->max_payload(), 17U);
    EXPECT_EQ(refusal_in(handle(*session, request_frame(0, 0, 1025))), Refusal::malformed);
}

/// The page of the key is freed at every kind of end of the session; answers are wiped once sent.
TEST(OfflineDavid, OFF_8_wipes_the_key_and_the_masks) {
    const Model model({{2, 3}}, Fill::random, 1);
    const auto key = counting_key();
    const int before = guarded_pages();
    for (const Bytes& end : {close_frame(), abort_frame(), request_frame(0, 9, 1)}) {
        const auto session = keyed_session(model, key);
        EXPECT_EQ(guarded_pages(), before + 1);
        const Bytes request = request_frame(0, 0, 2);
        const auto answer = session->handle(payload_of(request));
        ASSERT_FALSE(answer.empty());
        session->forget();
        EXPECT_TRUE(std::all_of(answer.begin(), answer.end(),
                                [](std::byte byte) { return byte == std::byte{0}; }));
        handle(*session, end);
        EXPECT_TRUE(session->finished());
        EXPECT_EQ(guarded_pages(), before);
    }
    const auto masks = draw(*std::make_unique<KeyStream>(stream_under(key)), StreamTag::mask, 0, 3);
    const FreedMemory watch(masks);
    {
        const auto session = keyed_session(model, key);
        handle(*session, request_frame(0, 0, 1));
    }
    EXPECT_EQ(FreedMemory::holding(), 0);
}

/// A peer who sends the given bytes and then ends the connection; only READY reaches him.
class LostPeer : public Transport {
public:
    explicit LostPeer(const Bytes& bytes) : bytes_(bytes) {}
    void send(std::span<const std::byte> bytes) override {
        if (bytes.size() > wire::length_bytes + 1) throw ProtocolError("he is gone");
    }
    void receive(std::span<std::byte> bytes) override {
        const std::size_t size = std::min(bytes.size(), bytes_.size() - at_);
        std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(at_), size, bytes.begin());
        at_ += size;
        if (size < bytes.size()) throw ProtocolError("he is gone");
    }

private:
    const Bytes& bytes_;
    std::size_t at_ = 0;
};

/// The number of blocks of memory that held `secret` when they were freed, in a session with such a
/// Charlie.
int freed_blocks_with(const Model& model, const Bytes& charlie,
                      std::span<const std::uint32_t> secret) {
    LostPeer transport(charlie);
    const FreedMemory watch(secret);
    {
        const auto session = make_offline_session(model.david);
        EXPECT_THROW(serve(*session, transport), ProtocolError);
    }
    return FreedMemory::holding();
}

/// The connection ends within KEY, and while an answer is sent.
TEST(OfflineDavid, OFF_8_SESS_6_wipes_its_secrets_when_the_connection_is_lost) {
    const Model model({{6, 3}}, Fill::random, 1);
    const auto key = counting_key(17);
    Bytes frames = key_frame(model, key);
    std::vector<std::uint32_t> words(7);
    std::memcpy(words.data(), key.data(), sizeof(std::uint32_t) * words.size());
    const Bytes cut(frames.begin(), frames.end() - 4);
    EXPECT_EQ(freed_blocks_with(model, cut, words), 0);

    const Bytes request = request_frame(0, 0, 1);
    frames.insert(frames.end(), request.begin(), request.end());
    const auto cancellation =
        residues_in<kernels::P31>(handle(*keyed_session(model, key), request), {0, 0, 1}, 6);
    EXPECT_EQ(freed_blocks_with(model, frames, cancellation), 0) << "the answer that was not sent";
}

/// A key serves no more blocks than RAND-5 allows, and is not replaced.
TEST(OfflineDavid, OFF_8_RAND_5_an_exhausted_key_ends_the_session) {
    const Model model({{2, 8}}, Fill::random, 1);  // a mask takes 2 blocks
    const auto key = counting_key();
    const auto session = keyed_session(model, key, 4);
    EXPECT_EQ(wire::offline_frame_type(payload_of(handle(*session, request_frame(0, 0, 2)))),
              FrameType::cancellations);
    EXPECT_EQ(refusal_in(handle(*session, request_frame(2, 0, 1))), Refusal::out_of_order);
    const auto at_once = keyed_session(model, key, 4);
    EXPECT_EQ(refusal_in(handle(*at_once, request_frame(0, 0, 3))), Refusal::out_of_order);
    KeyStream shared({.blocks_per_key = 2, .replaced = false});
    draw(shared, StreamTag::mask, 0, 8);
    EXPECT_THROW(draw(shared, StreamTag::mask, 1, 8), InternalError);
    std::array<std::uint8_t, 32> copy{};
    EXPECT_THROW(KeyStream().copy_key(copy), InternalError) << "RAND-4: a session's key stays";
}

/// WIRE-8: every byte string is one canonical frame or refused.
TEST(OfflineDavid, OFF_7_encoding_and_decoding_are_inverse_and_total) {
    const Model model({{2, 3}}, Fill::random, 1);
    const auto key = counting_key(7);
    std::array<std::uint8_t, 32> decoded{};
    const Bytes frame = key_frame(model, key);
    EXPECT_EQ(frame.size(), 4U + 72U);
    const wire::KeyHeader header = wire::decode_key(payload_of(frame), decoded);
    EXPECT_EQ(header, (wire::KeyHeader{1, Profile::p31, model.david.digest}));
    EXPECT_TRUE(std::equal(decoded.begin(), decoded.end(), key.begin()));
    const Bytes request = request_frame(0x0102030405060708, 0x11121314, 0x0a0b);
    EXPECT_EQ(wire::decode_request(payload_of(request)),
              (wire::ColumnsHeader{0x0102030405060708, 0x11121314, 0x0a0b}));
    for (std::size_t size = 0; size < frame.size() - wire::length_bytes; ++size) {
        const auto cut = payload_of(frame).first(size);
        EXPECT_THROW(wire::decode_key(cut, decoded), ProtocolError) << size;
        if (size == wire::request_bytes) continue;
        EXPECT_THROW(
            wire::decode_request(payload_of(request).first(std::min(size, std::size_t{16}))),
            ProtocolError);
    }
    for (unsigned type = 0; type < 256; ++type) {
        const Bytes payload{static_cast<std::byte>(type)};
        const bool known = type == 2 || (type >= 5 && type <= 7) || (type >= 0x11 && type <= 0x13);
        if (known) {
            EXPECT_EQ(wire::offline_frame_type(payload), static_cast<FrameType>(type));
        } else {
            EXPECT_THROW(wire::offline_frame_type(payload), ProtocolError) << type;
        }
    }
}

}  // namespace
}  // namespace slip::fixture

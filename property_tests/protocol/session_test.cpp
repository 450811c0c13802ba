// Sessions of optimized/ and of reference/, in both roles, and several at once.
// test: threads
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "property_tests/generators/protocol_fixture.hpp"
#include "reference/parameters.hpp"
#include "reference/session.hpp"

namespace slip::testing {
namespace {

using namespace protocol;
using base::GroupId;

/// The model's set, by the reference.
reference::ParameterSet set_of_reference(const Model& model) {
    const auto& all = reference::all_primes;
    return {
        "paper", 1,
        reference::Planes({all.begin(), all.begin() + static_cast<std::ptrdiff_t>(model.planes())}),
        8};
}

reference::Key to_reference_key(std::span<const std::uint8_t> key) {
    reference::Key result{};
    std::copy(key.begin(), key.end(), result.begin());
    return result;
}

/// The reference's David behind the transport of optimized/.
class ReferenceDavid : public Transport {
public:
    explicit ReferenceDavid(const Model& model)
        : david(set_of_reference(model), model.david.digest, model.matrices) {}
    void send(std::span<const std::byte> bytes) override {
        reference::Bytes frame;
        for (const std::byte byte : bytes) frame.push_back(std::to_integer<std::uint8_t>(byte));
        sent.push_back(frame);
        const auto answer = david.receive(frame);
        if (!answer) return;
        for (const std::uint8_t byte : *answer) pending_.push_back(std::byte{byte});
    }
    void receive(std::span<std::byte> bytes) override {
        if (pending_.size() < bytes.size()) throw ProtocolError("nothing was sent");
        std::copy_n(pending_.begin(), bytes.size(), bytes.begin());
        pending_.erase(pending_.begin(),
                       pending_.begin() + static_cast<std::ptrdiff_t>(bytes.size()));
    }
    reference::DavidSession david;
    std::vector<reference::Bytes> sent;

private:
    Bytes pending_;
};

/// David of optimized/ behind the channel of the reference.
class OptimizedDavid : public reference::Channel {
public:
    explicit OptimizedDavid(const Model& model) : david(model.david) {}
    void send(const reference::Bytes& frame) override {
        sent.push_back(frame);
        Bytes bytes;
        for (const std::uint8_t byte : frame) bytes.push_back(std::byte{byte});
        answer_ = handle(david, bytes);
    }
    reference::Bytes receive() override {
        reference::Bytes answer;
        for (const std::byte byte : answer_) answer.push_back(std::to_integer<std::uint8_t>(byte));
        return answer;
    }
    DavidSession david;
    std::vector<reference::Bytes> sent;

private:
    Bytes answer_;
};

/// The same key, weights and activations: the same frames, byte for byte, and the same products,
/// whichever implementation plays which role.
RC_GTEST_PROP(Sessions, SESS_1_SESS_3_MASK_5_equal_the_reference_in_both_roles, ()) {
    std::vector<Shape> shapes(*any_size(1, 3).as("groups"));
    for (Shape& shape : shapes) shape = {*any_size(1, 8).as("rows"), *any_size(1, 8).as("n")};
    const std::size_t planes = drawn_planes();
    const Model model(shapes, drawn_weights(shapes), planes);
    std::vector<reference::PlannedMessage> schedule;
    std::vector<Columns> columns;
    for (std::size_t i = *any_size(0, 4).as("messages"); i > 0; --i) {
        const auto group = static_cast<GroupId>(*any_size(0, shapes.size() - 1).as("group"));
        schedule.push_back({group, *any_size(1, 3).as("columns")});
        columns.push_back(drawn_columns(model.matrices[group], schedule.back().columns, planes));
    }
    const auto key = counting_key(7);

    ReferenceDavid transport(model);
    {
        SessionOptions options = small_stock();
        options.keys.given_keys = key;
        Charlie charlie(model, transport, options);
        for (std::size_t i = 0; i < schedule.size(); ++i) {
            const GroupId group = schedule[i].group;
            RC_ASSERT(to_reference(round(charlie, group, columns[i], shapes[group].rows)) ==
                      exact_products(model.matrices[group], columns[i]));
        }
    }
    OptimizedDavid channel(model);
    const reference::ParameterSet set = set_of_reference(model);
    reference::CharlieSession charlie(
        reference::shapes_of(set, model.matrices), model.david.digest,
        reference::prepare_checks(set, to_reference_key(counting_key(100)), model.matrices),
        reference::prepare_masks(set, to_reference_key(key), model.matrices, schedule), channel);
    charlie.hello();
    for (std::size_t i = 0; i < schedule.size(); ++i) {
        const GroupId group = schedule[i].group;
        const reference::Matrix q = columns_to_reference(columns[i].view());
        RC_ASSERT(charlie.apply(group, q) == model.matrices[group] * q);
    }
    charlie.close();
    RC_ASSERT(channel.sent == transport.sent);
    RC_ASSERT(channel.david.finished() && transport.david.dead());
}

reference::Bytes octets_of(const Bytes& bytes) {
    reference::Bytes octets;
    for (const std::byte byte : bytes) octets.push_back(std::to_integer<std::uint8_t>(byte));
    return octets;
}

/// A frame of any type, drawn within a property; an APPLY mostly has the next sequence.
Bytes drawn_frame(const Model& model, std::uint64_t& sequence) {
    const auto type = *rc::gen::weightedElement<FrameType>({{8, FrameType::apply},
                                                            {2, FrameType::hello},
                                                            {1, FrameType::abort},
                                                            {1, FrameType::close},
                                                            {1, FrameType::refuse},
                                                            {1, FrameType::reply}})
                           .as("type");
    const auto group = static_cast<GroupId>(*any_size(0, model.matrices.size() - 1).as("group"));
    switch (type) {
        case FrameType::hello:
            return hello_for(model);
        case FrameType::refuse:
            return wire::encode_refuse(Refusal::busy);
        case FrameType::reply:
            return message(type, {sequence, group, 1},
                           Residues(model.planes() * model.matrices[group].rows()));
        case FrameType::apply: {
            const bool skips = *rc::gen::weightedElement<bool>({{7, false}, {1, true}}).as("skips");
            return message(type, {skips ? sequence + 1 : sequence++, group, 1},
                           drawn_residues(1, model.matrices[group].cols(), model.planes()));
        }
        default:
            return wire::encode_empty(type);
    }
}

/// Changes one byte behind the length field now and then, but not in the group: which of two faults
/// is named where the residues cannot be judged is not compared here.
Bytes perhaps_damaged(Bytes frame) {
    if (*rc::gen::weightedElement<bool>({{7, false}, {1, true}}).as("damaged")) {
        const std::size_t at = *any_size(4, frame.size() - 1).as("at");
        const auto change = *rc::gen::inRange<unsigned>(1, 256).as("change");
        if (at < 13 || at >= 17) frame[at] ^= static_cast<std::byte>(change);
    }
    return frame;
}

/// Any sequence of frames, canonical or not: both Davids give the same answers until they are dead.
RC_GTEST_PROP(Sessions, SESS_1_WIRE_7_david_answers_any_frames_as_the_reference_does, ()) {
    const std::vector<Shape> shapes = {{2, 3}, {4, 1}};
    const Model model(shapes, drawn_weights(shapes), drawn_planes());
    for (std::size_t session = *any_size(1, 20).as("sessions"); session > 0; --session) {
        DavidSession david(model.david);
        reference::DavidSession oracle(set_of_reference(model), model.david.digest, model.matrices);
        if (*rc::gen::weightedElement<bool>({{3, true}, {1, false}}).as("greets")) {
            const auto expected = oracle.receive(octets_of(hello_for(model)));
            RC_ASSERT(octets_of(handle(david, hello_for(model))) == expected);
        }
        std::uint64_t sequence = 0;
        for (std::size_t i = *any_size(0, 6).as("frames"); i > 0 && !david.finished(); --i) {
            const Bytes frame = perhaps_damaged(drawn_frame(model, sequence));
            if (frame.size() - wire::length_bytes > david.max_payload()) break;
            const auto expected = oracle.receive(octets_of(frame));
            RC_ASSERT(octets_of(handle(david, frame)) == expected.value_or(reference::Bytes{}));
            RC_ASSERT(david.finished() == oracle.dead());
        }
    }
}

/// A stream between two threads of this process.
class SocketTransport : public Transport {
public:
    explicit SocketTransport(int descriptor) : descriptor_(descriptor) {}
    ~SocketTransport() override { ::close(descriptor_); }
    void send(std::span<const std::byte> bytes) override {
        while (!bytes.empty()) {
            const ssize_t n = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (n <= 0) throw ProtocolError("the peer is gone");
            bytes = bytes.subspan(static_cast<std::size_t>(n));
        }
    }
    void receive(std::span<std::byte> bytes) override {
        while (!bytes.empty()) {
            const ssize_t n = ::recv(descriptor_, bytes.data(), bytes.size(), 0);
            if (n <= 0) throw ProtocolError("the stream ended");
            bytes = bytes.subspan(static_cast<std::size_t>(n));
        }
    }

private:
    int descriptor_;
};

/// Several Charlies, each with a background thread, and one model that all Davids share.
TEST(Threads, SESS_6_sessions_at_once_share_the_weights) {
    const Model model({{24, 16}, {7, 24}}, Fill::random, 1);
    std::vector<std::thread> threads;
    std::atomic<int> good{0};
    for (int session = 0; session < 4; ++session) {
        std::array<int, 2> ends{};
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
        threads.emplace_back([&model, end = ends[0]] {
            SocketTransport transport(end);
            DavidSession david(model.david);
            serve(david, transport);
        });
        threads.emplace_back([&model, &good, session, end = ends[1]] {
            SocketTransport transport(end);
            Charlie charlie(model, transport, stock_of(12));
            Random random(static_cast<std::uint64_t>(session));
            for (int i = 0; i < 150; ++i) {
                const GroupId group = static_cast<std::uint32_t>(i % 2);
                const Columns columns =
                    random_columns(model.matrices[group], uniform<std::size_t>(random, 1, 3),
                                   Fill::random, random);
                good +=
                    to_reference(round(charlie, group, columns, model.matrices[group].rows())) ==
                    exact_products(model.matrices[group], columns);
                if (i == 75) charlie.wait_until_ready(12);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(good, 600);
}

}  // namespace
}  // namespace slip::testing

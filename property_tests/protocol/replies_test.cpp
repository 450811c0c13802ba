// Replies that are not the reply: of a David who lies in every way that a byte can.
// test: watched
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "property_tests/protocol/watched_secrets.hpp"

namespace slip::testing {
namespace {

namespace wire = protocol::wire;

/// Runs one good round, then one whose reply is changed by `corrupt`; returns what Charlie throws.
template <class Expected>
void expect_reply_refused(const RecordingTransport::Corrupt& corrupt, bool aborts) {
    const Model model({{5, 4}, {5, 4}}, Fill::random, 1);
    const int before = secrets_alive;
    freed_unwiped = 0;
    int answers = 0;
    Connection connection(model, small_stock(), [&](Bytes answer) {
        return ++answers == 3 ? corrupt(std::move(answer)) : answer;
    });
    const Columns columns = some_columns(model, 2);
    round(connection.charlie, 0, columns, 5);
    connection.charlie.send(0, columns.view());
    Products products(10, 4711);
    EXPECT_THROW(connection.charlie.receive({products.data(), 2, 5}), Expected);
    EXPECT_EQ(products, Products(10, 4711));
    EXPECT_EQ(connection.transport.sent.back() == abort_frame(), aborts);
    EXPECT_EQ(connection.charlie.statistics().rounds, 1U);
    expect_dead(connection.charlie, connection.transport, model, before);
}

/// The reply with other header fields and the same residues.
Bytes with_header(Bytes reply, const wire::ColumnsHeader& header) {
    std::memcpy(reply.data() + 5, &header.sequence, 8);
    std::memcpy(reply.data() + 13, &header.group, 4);
    std::memcpy(reply.data() + 17, &header.columns, 4);
    return reply;
}

TEST(Replies, SESS_3_another_sequence_group_or_number_of_columns_is_refused) {
    for (const wire::ColumnsHeader header :
         {wire::ColumnsHeader{0, 0, 2}, {2, 0, 2}, {1, 1, 2}, {1, 2, 2}, {1, 0, 1}, {1, 0, 10}}) {
        expect_reply_refused<ProtocolError>(
            [&](Bytes reply) { return with_header(std::move(reply), header); }, true);
    }
    expect_reply_refused<ProtocolError>(  // one column that is announced as one column
        [](Bytes) {
            return message(FrameType::reply, {1, 0, 1}, Residues(4 * 5, 1));
        },
        true);
}

TEST(Replies, SESS_3_a_replayed_reply_is_refused_even_under_the_right_sequence) {
    Bytes first;
    const auto replay = [&](bool patched) {
        return [&, patched](Bytes) { return patched ? with_header(first, {1, 0, 2}) : first; };
    };
    for (const bool patched : {false, true}) {
        const Model model({{5, 4}}, Fill::random, 1);
        int answers = 0;
        Connection connection(model, small_stock(), [&](Bytes answer) {
            if (++answers == 2) first = answer;
            return answers == 3 ? replay(patched)(answer) : answer;
        });
        const Columns columns = some_columns(model, 2);
        round(connection.charlie, 0, columns, 5);
        if (patched) {
            EXPECT_THROW(round(connection.charlie, 0, columns, 5), IntegrityError);
        } else {
            EXPECT_THROW(round(connection.charlie, 0, columns, 5), ProtocolError);
        }
    }
}

TEST(Replies, SESS_5_replies_swapped_between_sessions_are_refused) {
    const Model model({{5, 4}}, Fill::random, 1);
    const Columns columns = some_columns(model);
    Bytes stolen;
    Connection one(model, small_stock(), [&](Bytes answer) {
        if (answer.size() > 5) stolen = answer;
        return answer;
    });
    round(one.charlie, 0, columns, 5);
    Connection other(model, small_stock(),
                     [&](Bytes answer) { return answer.size() > 5 ? stolen : answer; });
    EXPECT_THROW(round(other.charlie, 0, columns, 5), IntegrityError);
}

TEST(Replies, INTEG_3_swapped_columns_are_refused) {
    expect_reply_refused<IntegrityError>(
        [](Bytes reply) {
            std::swap_ranges(reply.begin() + 21, reply.begin() + 41, reply.begin() + 41);
            return reply;
        },
        true);
}

/// Where the residue of a row begins: column, plane and row of a reply of 5 rows.
std::size_t place(std::size_t column, std::size_t plane, std::size_t row) {
    return wire::columns_header_bytes + (column * paper_planes + plane) * 5 + row;
}

TEST(Replies, INTEG_3_a_reply_that_is_wrong_in_one_prime_field_only_is_refused) {
    for (std::size_t plane = 0; plane < paper_planes; ++plane) {
        expect_reply_refused<IntegrityError>(
            [&](Bytes reply) {
                auto& byte = reply[place(1, plane, 2)];
                byte =
                    static_cast<std::byte>((std::to_integer<unsigned>(byte) + 1) % primes[plane]);
                return reply;
            },
            true);
    }
}

/// Where all bytes are residues of either prime, only the check can tell.
TEST(Replies, INTEG_3_swapped_planes_are_refused) {
    int rows = 0;
    expect_reply_refused<IntegrityError>(
        [&](Bytes reply) {
            for (std::size_t row = 0; row < 5; ++row) {
                auto &one = reply[place(0, 0, row)], &other = reply[place(0, 3, row)];
                if (one == other || std::to_integer<unsigned>(one) >= primes[3]) continue;
                std::swap(one, other);
                ++rows;
            }
            return reply;
        },
        true);
    EXPECT_GT(rows, 0);
}

TEST(Replies, WIRE_8_a_byte_that_is_its_prime_is_refused_by_its_place) {
    for (std::size_t plane = 0; plane < paper_planes; ++plane) {
        for (unsigned value = primes[plane]; value < 256; ++value) {
            expect_reply_refused<ProtocolError>(
                [&](Bytes reply) {
                    reply[place(1, plane, 4)] = static_cast<std::byte>(value);
                    return reply;
                },
                true);
        }
    }
    const Model model({{5, 4}}, Fill::random, 1);
    Connection connection(model, small_stock(), [](Bytes answer) {
        if (answer.size() > 5) answer[place(1, 2, 3)] = std::byte{239};
        return answer;
    });
    try {
        round(connection.charlie, 0, some_columns(model, 2), 5);
        FAIL() << "239 was accepted as a residue modulo 239";
    } catch (const ProtocolError& error) {
        EXPECT_STREQ(error.what(),
                     "REPLY: the residue in plane 2 of column 1, row 3, is not below 239");
    }
}

TEST(Replies, WIRE_8_truncated_and_lengthened_replies_are_refused) {
    for (std::size_t length = 0; length < 61; ++length) {
        expect_reply_refused<ProtocolError>(  // the stream ends
            [&](Bytes reply) {
                reply.resize(length);
                return reply;
            },
            false);
    }
    for (const std::size_t length : {6U, 21U, 57U, 60U}) {  // the frame is shorter and says so
        expect_reply_refused<ProtocolError>(
            [&](Bytes reply) {
                reply.resize(length);
                reply[0] = static_cast<std::byte>(length - 4);
                return reply;
            },
            true);
    }
    expect_reply_refused<ProtocolError>(  // WIRE-9: one byte more than the APPLY implies
        [](Bytes reply) {
            reply.emplace_back();
            reply[0] = static_cast<std::byte>(reply.size() - 4);
            return reply;
        },
        false);
}

/// The frame never arrives whole, so no ABORT follows: HELLO and APPLY are all that Charlie sends.
TEST(Replies, WIRE_9_SESS_9_a_long_reply_is_refused_by_its_length_field_alone) {
    const Model model({{5, 4}}, Fill::random, 1);
    for (const std::uint32_t length : {17U + 5 * 4 + 1, (1U << 26) + 64, 0xffffffffU}) {
        Connection connection(model, small_stock(), [&](Bytes answer) {
            if (answer.size() > 5) {
                answer.resize(1000);
                std::memcpy(answer.data(), &length, 4);
            }
            return answer;
        });
        const std::size_t before = connection.transport.received;
        EXPECT_THROW(round(connection.charlie, 0, some_columns(model), 5), ProtocolError);
        EXPECT_EQ(connection.transport.received, before + wire::length_bytes);
        EXPECT_EQ(connection.transport.sent.size(), 2U);
    }
}

TEST(Replies, SESS_1_other_frames_in_place_of_a_reply_are_refused) {
    for (const FrameType type : {FrameType::ready, FrameType::close, FrameType::abort}) {
        expect_reply_refused<ProtocolError>([&](Bytes) { return wire::encode_empty(type); }, true);
    }
    expect_reply_refused<ProtocolError>(
        [](Bytes reply) {
            reply[4] = static_cast<std::byte>(FrameType::apply);
            return reply;
        },
        true);
    expect_reply_refused<ProtocolError>(  // he has ended the session: no ABORT
        [](Bytes) { return wire::encode_refuse(Refusal::busy); }, false);
}

/// A byte of a REPLY that is changed on its way never gives a result: the frame is refused, or it
/// is another canonical frame and the check refuses it.
TEST(Replies, WIRE_8_INTEG_3_every_single_byte_change_ends_the_session) {
    const Model model({{3, 4}}, Fill::random, 1);
    const Columns columns = some_columns(model);
    const std::size_t size = wire::columns_frame_bytes(paper_planes * 3);
    int refused = 0;
    int rejected = 0;
    for (std::size_t at = 0; at < size; ++at) {
        for (unsigned change = 1; change < 256; ++change) {
            Connection connection(model, small_stock(), [&](Bytes answer) {
                if (answer.size() == size) answer[at] ^= static_cast<std::byte>(change);
                return answer;
            });
            Products products(3, 99);
            connection.charlie.send(0, columns.view());
            try {
                connection.charlie.receive({products.data(), 1, 3});
                FAIL() << "byte " << at << " changed by " << change << " gave a result";
            } catch (const IntegrityError&) {
                ++rejected;
            } catch (const ProtocolError&) {
                ++refused;
            }
            ASSERT_EQ(products, Products(3, 99));
            ASSERT_FALSE(connection.charlie.alive());
        }
    }
    EXPECT_EQ(refused + rejected, static_cast<int>(size) * 255);
    // The 21 bytes before the residues are never left to the check; residues mostly are.
    EXPECT_GE(refused, 21 * 255);
    EXPECT_GT(rejected, 3 * 3 * 255);
}

}  // namespace
}  // namespace slip::testing

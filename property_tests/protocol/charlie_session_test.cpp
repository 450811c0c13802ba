// Charlie's side of a session: how it opens and ends, and that nothing secret outlives it.
// test: threads, watched
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "optimized/masks/keystream.hpp"
#include "optimized/secrets/draw_check.hpp"
#include "property_tests/protocol/watched_secrets.hpp"

namespace slip::testing {
namespace {

using namespace masks;
using namespace protocol;
using namespace secrets;

TEST(Charlie, SESS_4_CLOSE_ends_a_session_and_wipes_it) {
    const Model model({{5, 4}, {3, 6}}, Fill::random, 1);
    const int before = secrets_alive;
    freed_unwiped = 0;
    Connection connection(model, stock_of(8));
    round(connection.charlie, 0, some_columns(model, 2), 5);
    EXPECT_GT(secrets_alive, before);
    connection.charlie.close();
    EXPECT_EQ(connection.transport.sent.back(), close_frame());
    EXPECT_TRUE(connection.david.finished());
    expect_dead(connection.charlie, connection.transport, model, before);
}

TEST(Charlie, SESS_4_the_destructor_closes) {
    const Model model({{5, 4}}, Fill::random, 1);
    DavidSession david(model.david);
    RecordingTransport transport(david);
    { Charlie charlie(model, transport, small_stock()); }
    EXPECT_EQ(transport.sent.back(), close_frame());
    EXPECT_TRUE(david.finished());
}

TEST(Charlie, SESS_1_the_destructor_aborts_while_a_reply_is_outstanding) {
    const Model model({{5, 4}}, Fill::random, 1);
    DavidSession david(model.david);
    RecordingTransport transport(david);
    {
        Charlie charlie(model, transport, small_stock());
        charlie.send(0, some_columns(model).view());
    }
    EXPECT_EQ(transport.sent.back(), abort_frame());
}

/// INTEG-6: when ABORT leaves, the secrets of the session are gone already. The check, which was
/// there before, stays for others.
TEST(Charlie, INTEG_6_MASK_6_a_reject_wipes_every_secret_before_ABORT) {
    const Model model({{5, 4}, {3, 6}}, Fill::random, 1);
    const int before = secrets_alive;
    freed_unwiped = 0;
    bool lie = false;
    const auto tamper = [&](const wire::ColumnsHeader&, std::span<std::uint8_t> y) {
        if (lie) y[0] = static_cast<std::uint8_t>((y[0] + 1) % primes[0]);
    };
    DavidSession david(model.david, tamper);
    RecordingTransport transport(david);
    Charlie charlie(model, transport, stock_of(8));
    charlie.wait_until_ready(8);
    round(charlie, 0, some_columns(model, 3), 5);
    const int freed = secrets_freed;
    lie = true;
    charlie.send(0, some_columns(model, 3).view());
    int at_abort = -1;
    transport.on_send = [&] { at_abort = secrets_alive; };
    Products products(15);
    EXPECT_THROW(charlie.receive({products.data(), 3, 5}), IntegrityError);
    EXPECT_EQ(transport.sent.back(), abort_frame());
    EXPECT_EQ(at_abort, before);
    EXPECT_GT(secrets_freed, freed + 2 * 8) << "the stock was not empty";
    expect_dead(charlie, transport, model, before);
}

/// What the wiping test relies on: it sees a buffer that is not wiped.
TEST(Charlie, MASK_6_the_count_of_unwiped_buffers_kills_the_mutant) {
    freed_unwiped = 0;
    {
        base::SecretBuffer<std::uint8_t> wiped(400);
        wiped[50] = 1;
    }
    EXPECT_EQ(freed_unwiped, 0);
    auto* unwiped = static_cast<char*>(base::allocate_secret(400));
    unwiped[399] = 1;
    base::free_secret(unwiped, 400);
    EXPECT_EQ(freed_unwiped, 1);
    freed_unwiped = 0;
}

/// Memory for one column more than are kept ready stays for later masks; what stood in it is gone,
/// as the next test shows.
TEST(Charlie, MASK_6_the_memory_of_spent_masks_does_not_grow) {
    const Model model({{5, 4}}, Fill::random, 1);
    Connection connection(model);
    const Columns columns = some_columns(model, 3);
    const int before = secrets_alive;
    Products products(15);
    for (int message = 0; message < 3; ++message) {
        connection.charlie.send(0, columns.view());
        EXPECT_EQ(secrets_alive, before + 2 * 3) << "a mask and a cancellation per column";
        connection.charlie.receive({products.data(), 3, 5});
        EXPECT_EQ(secrets_alive, before + 2);
    }
}

/// Columns of zeros show their masks to the test: none is left anywhere once it has been sent,
/// whether it was made on demand or ahead of use, and no cancellation once the products are there.
TEST(Charlie, MASK_6_no_copy_of_a_spent_mask_is_left) {
    const Model model({{9, 8}}, Fill::random, 1);
    for (const std::size_t depth : std::array<std::size_t, 2>{0, 16}) {
        const auto key = counting_key(50);
        SessionOptions options = stock_of(depth);
        options.keys.given_keys = key;
        Connection connection(model, options);
        connection.charlie.wait_until_ready(depth);
        const Columns zeros(2, 8, std::vector<std::int16_t>(16, 0));
        Keystream same_keys({.given_keys = key});
        Residues mask(4 * 8);
        same_keys.draw(Purpose::mask, 1, 4, mask);
        EXPECT_EQ(copies_of(mask), depth == 0 ? 0 : 1) << "before it is sent";

        connection.charlie.send(0, zeros.view());
        const auto sent = connection.transport.masked_inputs()[0];
        ASSERT_TRUE(std::equal(mask.begin(), mask.end(), sent.begin() + 4 * 8));
        EXPECT_EQ(copies_of(mask), 0);
        const auto w = model.weights()[0];
        Residues cancellation(4 * 9);
        w.multiply(mask, cancellation, 4);
        EXPECT_EQ(copies_of(cancellation), 1);
        Products products(18);
        connection.charlie.receive({products.data(), 2, 9});
        EXPECT_EQ(copies_of(cancellation), 0);
    }
}

/// The same for messages of any number of columns.
RC_GTEST_PROP(Charlie, MASK_6_no_mask_of_a_message_is_left_however_many_columns_it_has, ()) {
    const auto count = *any_size(1, 40).as("columns");
    const Model model({{9, 8}}, Fill::random, 1);
    Connection connection(model);
    const Columns zeros(count, 8, std::vector<std::int16_t>(count * 8, 0));
    connection.charlie.send(0, zeros.view());
    const auto masks = connection.transport.masked_inputs()[0];
    for (std::size_t at = 0; at < masks.size(); at += 4 * 8) {
        const auto first = masks.begin() + static_cast<std::ptrdiff_t>(at);
        RC_ASSERT(copies_of(Residues(first, first + 4 * 8)) == 0);
    }
    Products products(9 * count);
    connection.charlie.receive({products.data(), count, 9});
}

/// INTEG-1's streams give w, which no plain memory may hold on the way to its place, and no secret
/// one in another layout longer than that takes.
TEST(Charlie, MASK_6_INTEG_1_no_memory_that_is_freed_holds_the_combinations) {
    const Model model({{25, 4}}, Fill::random, 1);
    const CheckFile file(model.weights(), 4);
    const auto drawn = draw_combinations(file.seed, 4, 25);
    const Residues w(drawn.data(), drawn.data() + 25);  // the first combination in the first plane
    freed_unwiped = 0;
    const FreedMemory freed(w);
    {
        const IntegrityCheck check(file.secret(), kernels::shapes_of(model.weights()), 4);
        DavidSession david(model.david);
        RecordingTransport transport(david);
        CharlieSession charlie(model.weights(), check, model.david.set, model.david.digest,
                               transport, small_stock());
        round(charlie, 0, some_columns(model, 2), 25);
    }
    EXPECT_EQ(FreedMemory::holding(), 0);
    EXPECT_EQ(freed_unwiped, 0);
    { const Residues copy(w); }
    EXPECT_EQ(FreedMemory::holding(), 1) << "it would have been seen";
}

/// SESS-5: a session draws its key and nothing else; what the check needs was made with the model.
TEST(Charlie, SESS_5_opening_a_session_multiplies_nothing) {
    const Model model({{300, 200}, {3, 6}}, Fill::random, 1);
    const int before = secrets_alive;
    Connection connection(model);
    EXPECT_EQ(secrets_alive, before + 2) << "room for masks and for cancellations";
    EXPECT_EQ(connection.charlie.statistics().offline_multiplications, 0U);
    EXPECT_EQ(connection.charlie.statistics().offline_seconds, 0);
}

/// Calls that the caller must not make end the session too.
TEST(Charlie, SESS_1_SESS_4_misuse_ends_the_session) {
    const Model model({{5, 4}, {3, 6}}, Fill::random, 1);
    using Misuse = void (*)(CharlieSession&, const Model&);
    const std::vector<Misuse> misuses = {
        [](CharlieSession& charlie, const Model& m) {  // two messages outstanding
            charlie.send(0, some_columns(m).view());
            charlie.send(0, some_columns(m).view());
        },
        [](CharlieSession& charlie, const Model&) {  // nothing outstanding
            Products products(5);
            charlie.receive({products.data(), 1, 5});
        },
        [](CharlieSession& charlie, const Model& m) {  // a reply is outstanding
            charlie.send(0, some_columns(m).view());
            charlie.close();
        },
        [](CharlieSession& charlie, const Model& m) { charlie.send(2, some_columns(m).view()); },
        [](CharlieSession& charlie, const Model& m) { charlie.send(1, some_columns(m).view()); },
        [](CharlieSession& charlie, const Model&) {  // no column
            charlie.send(0, base::MatrixView<const std::int16_t>(nullptr, 0, 4));
        },
        [](CharlieSession& charlie, const Model& m) {  // PARAM-3
            const Columns many(4097, 4, std::vector<std::int16_t>(4097 * 4));
            EXPECT_EQ(charlie.max_columns_of(0), 4096U);
            static_cast<void>(m);
            charlie.send(0, many.view());
        },
        [](CharlieSession& charlie, const Model& m) {  // products of another shape
            charlie.send(0, some_columns(m).view());
            Products products(6);
            charlie.receive({products.data(), 1, 6});
        },
    };
    for (const Misuse misuse : misuses) {
        const int before = secrets_alive;
        freed_unwiped = 0;
        Connection connection(model);
        EXPECT_THROW(misuse(connection.charlie, model), InternalError);
        EXPECT_EQ(connection.transport.sent.back(), abort_frame());
        EXPECT_TRUE(connection.david.finished());
        expect_dead(connection.charlie, connection.transport, model, before);
    }
}

TEST(Charlie, SESS_2_a_refused_HELLO_ends_the_session_and_names_the_reason) {
    const Model model({{5, 4}}, Fill::random, 1);
    for (const Refusal reason : {Refusal::version, Refusal::set, Refusal::digest, Refusal::busy}) {
        const int before = secrets_alive;
        DavidSession david(model.david);
        RecordingTransport transport(david,
                                     [&](const Bytes&) { return wire::encode_refuse(reason); });
        try {
            Charlie(model, transport, small_stock());
            ADD_FAILURE() << "the session was opened";
        } catch (const Refused& error) {
            EXPECT_EQ(error.reason(), reason);
            EXPECT_NE(std::string(error.what()).find(wire::describe(reason)), std::string::npos);
        }
        EXPECT_EQ(transport.sent.size(), 1U);
        EXPECT_EQ(secrets_alive, before);
    }
}

TEST(Charlie, SESS_2_only_READY_opens_a_session) {
    const Model model({{5, 4}}, Fill::random, 1);
    for (const Bytes& answer : {hello_for(model), close_frame(), abort_frame(), Bytes(4),
                                Bytes{std::byte{1}, std::byte{0}}, Bytes{},
                                message(FrameType::reply, {0, 0, 1}, Residues(20, 1))}) {
        DavidSession david(model.david);
        RecordingTransport transport(david, [&](const Bytes&) { return answer; });
        EXPECT_THROW(Charlie(model, transport, small_stock()), ProtocolError);
        EXPECT_EQ(transport.sent.size(), 1U);
    }
}

TEST(Charlie, SESS_2_another_digest_is_refused_by_david) {
    const Model model({{5, 4}}, Fill::random, 1);
    Digest other = model.david.digest;
    other[0] ^= 1;
    DavidSession david(model.david);
    RecordingTransport transport(david);
    EXPECT_THROW(CharlieSession(model.weights(), *model.check, model.david.set, other, transport,
                                small_stock()),
                 ProtocolError);
}

/// Errors of the connection itself.
class BreakingTransport : public RecordingTransport {
public:
    BreakingTransport(DavidSession& david, int good_calls)
        : RecordingTransport(david), left_(good_calls) {}
    void send(std::span<const std::byte> bytes) override {
        count();
        RecordingTransport::send(bytes);
    }
    void receive(std::span<std::byte> bytes) override {
        count();
        RecordingTransport::receive(bytes);
    }

private:
    void count() {
        if (left_-- == 0) throw ProtocolError("the connection broke");
    }
    int left_;
};

TEST(Charlie, SESS_4_a_connection_that_breaks_anywhere_ends_the_session) {
    const Model model({{5, 4}}, Fill::random, 1);
    const Columns columns = some_columns(model);
    for (int good_calls = 3; good_calls < 9; ++good_calls) {  // HELLO and READY are three calls
        const int before = secrets_alive;
        freed_unwiped = 0;
        DavidSession david(model.david);
        BreakingTransport transport(david, good_calls);
        Charlie charlie(model, transport, small_stock());
        EXPECT_THROW(
            {
                for (;;) round(charlie, 0, columns, 5);
            },
            ProtocolError);
        expect_dead(charlie, transport, model, before);
    }
}

TEST(Charlie, statistics_count_rounds_columns_and_bytes) {
    const Model model({{5, 4}}, Fill::random, 1);
    Connection connection(model, stock_of(8));
    connection.charlie.wait_until_ready(8);
    round(connection.charlie, 0, some_columns(model, 2), 5);
    round(connection.charlie, 0, some_columns(model, 3), 5);
    const RunStatistics statistics = connection.charlie.statistics();
    EXPECT_EQ(statistics.rounds, 2U);
    EXPECT_EQ(statistics.checks, 2U);
    EXPECT_EQ(statistics.columns, 5U);
    EXPECT_EQ(statistics.bytes_up, 2 * 21 + 5 * 4 * 4U);
    EXPECT_EQ(statistics.bytes_down, 2 * 21 + 5 * 5 * 4U);
    EXPECT_GT(statistics.offline_seconds, 0);
    EXPECT_GE(statistics.round_times.seconds, 0);
}

}  // namespace
}  // namespace slip::testing

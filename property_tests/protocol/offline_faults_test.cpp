// Offline Davids who fail, and lost files of pairs: spec/offline.md, Faults.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "optimized/protocol/pair_store.hpp"
#include "property_tests/generators/temporary_directory.hpp"
#include "property_tests/protocol/offline_server.hpp"

namespace slip::fixture {
namespace {

using namespace protocol;
namespace fs = std::filesystem;
using kernels::P31;

/// What D2 sends instead of right CANCELLATIONS.
struct NoAnswer {
    const char* name;
    Bytes (*made_of)(Bytes answer);
};

Bytes with_byte(Bytes frame, std::size_t at, int change) {
    frame.at(at) ^= std::byte(static_cast<unsigned char>(change));
    return frame;
}

const NoAnswer no_answers[] = {
    {"the end of the stream", [](Bytes) { return Bytes{}; }},
    {"half an answer", [](Bytes a) { return Bytes(a.begin(), a.begin() + 30); }},
    {"a longer frame", [](Bytes a) { return with_byte(std::move(a), 2, 1); }},
    {"a shorter frame", [](Bytes a) { return with_byte(std::move(a), 0, 1); }},
    {"an unknown type", [](Bytes a) { return with_byte(std::move(a), 4, 0x40); }},
    {"David's REPLY", [](Bytes a) { return with_byte(std::move(a), 4, 0x13 ^ 0x04); }},
    {"another index", [](Bytes a) { return with_byte(std::move(a), 5, 1); }},
    {"another group", [](Bytes a) { return with_byte(std::move(a), 13, 1); }},
    {"fewer columns", [](Bytes a) { return with_byte(std::move(a), 17, 4); }},
    {"a residue that is none",
     [](Bytes a) {
         std::fill_n(a.begin() + wire::columns_header_bytes, 4, std::byte{0xff});
         return a;
     }},
    {"REFUSE", [](Bytes) { return wire::encode_refuse(Refusal::out_of_order); }},
    {"READY", [](Bytes) { return wire::encode_empty(FrameType::ready); }},
};

/// The session goes on with masks of a second connection, under a new key.
TEST(OfflineFaults, OFF_7_OFF_11_an_invalid_answer_ends_the_connection_but_not_the_session) {
    const Model model({{5, 3}}, Fill::random, 1);
    for (const NoAnswer& fault : no_answers) {
        SCOPED_TRACE(fault.name);
        OfflineServer server(
            model, "offline:1", [&](std::size_t connection, std::size_t frame, Bytes answer) {
                return connection == 0 && frame == 3 ? fault.made_of(std::move(answer)) : answer;
            });
        Connection<P31> connection(model, with_offline({&server}));
        EXPECT_TRUE(steps_are_exact(connection.charlie, model, 40));
        EXPECT_EQ(connection.charlie.statistics().supply.lost, 1U);
        EXPECT_EQ(connection.charlie.statistics().checks, 40U);
        connection.charlie.close();
        ASSERT_EQ(server.frames().size(), 2U);
        EXPECT_NE(key_in(server.frames()[0][0]), key_in(server.frames()[1][0]));
    }
}

/// A step as large as the stock is accepted.
TEST(OfflineFaults, OFF_14_a_step_larger_than_the_stock_is_refused_before_any_message) {
    const Model model({{5, 3}, {4, 6}}, Fill::random, 1);
    OfflineServer server(model);
    SessionOptions options = with_offline({&server});
    options.offline.columns_per_row = {1, 2};
    Connection<P31> connection(model, options);
    ASSERT_EQ(connection.charlie.largest_step(), 4U) << "8 masks of two columns per row";
    EXPECT_TRUE(steps_are_exact(connection.charlie, model, 2, 4));
    const std::size_t sent = connection.transport.sent.size();
    EXPECT_THROW(connection.charlie.begin_step(5), InternalError);
    ASSERT_EQ(connection.transport.sent.size(), sent + 1);
    EXPECT_EQ(wire::frame_type(payload_of(connection.transport.sent.back())), FrameType::abort);
}

struct Pairs {
    Pairs() {
        for (const auto& group : model.weights()) subject.groups.push_back(group.shape());
        subject.digest = model.david.digest;
        store().put(Pair::draw(subject, model.weights()));
    }
    PairStore store() const { return {folder.path(), subject}; }
    std::vector<fs::path> files() const {
        std::vector<fs::path> found;
        for (const auto& entry : fs::directory_iterator(folder.path())) found.push_back(entry);
        return found;
    }
    bool session_is_exact(std::shared_ptr<TakenPair> pair) const {
        SessionOptions options = small_pool();
        options.pair = std::move(pair);
        const auto david = make_david_session(model.david);
        RecordingTransport transport(*david);
        CharlieSession<P31> charlie(model.weights(), model.david.digest, transport,
                                    std::exchange(options, {}));
        return gives_exact_products(charlie, model, 3);
    }

    Model model{{{9, 4}}, Fill::random, 1};
    PairSubject subject;
    slip::testing::TemporaryDirectory folder;
};

/// The session has the pair in memory. Afterwards the pair is gone, and no file is left.
TEST(OfflineFaults, OFF_13_a_session_goes_on_if_the_file_of_its_pair_is_lost) {
    const Pairs pairs;
    auto pair = pairs.store().take();
    ASSERT_TRUE(pair);
    for (const fs::path& file : pairs.files()) fs::remove(file);
    EXPECT_TRUE(pairs.session_is_exact(std::move(pair)));
    EXPECT_TRUE(pairs.files().empty());
    EXPECT_EQ(pairs.store().take(), nullptr);
}

TEST(OfflineFaults, OFF_13_a_session_draws_its_own_rho_if_the_file_of_a_free_pair_is_lost) {
    const Pairs pairs;
    const PairStore store = pairs.store();
    for (const fs::path& file : pairs.files()) fs::remove(file);
    EXPECT_EQ(store.take(), nullptr);
    EXPECT_TRUE(pairs.session_is_exact(nullptr));
}

}  // namespace
}  // namespace slip::fixture

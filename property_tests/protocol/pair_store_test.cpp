// The life of a pair: taken by one process, returned or deleted, also when the disk fails.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fstream>
#include <utility>

#include "optimized/protocol/pair_store.hpp"
#include "property_tests/generators/profiles.hpp"
#include "property_tests/generators/temporary_directory.hpp"
#include "property_tests/protocol/faulty_disk.hpp"
#include "property_tests/protocol/session_fixture.hpp"
#include "property_tests/protocol/tampering.hpp"

namespace slip::fixture {
namespace {

using namespace protocol;
namespace fs = std::filesystem;
using kernels::P31;

/// A model, and a state folder for its pairs.
struct Pairs {
    explicit Pairs(std::size_t count = 1) {
        for (const auto& group : model.weights()) subject.groups.push_back(group.shape());
        subject.digest = model.david.digest;
        for (std::size_t i = 0; i < count; ++i) put();
    }
    PairStore store(base::Disk& disk = base::Disk::of_system()) const {
        return {folder.path(), subject, disk};
    }
    void put(base::Disk& disk = base::Disk::of_system()) const {
        store(disk).put(Pair::draw(subject, model.weights()));
    }
    std::vector<std::string> names() const {
        std::vector<std::string> found;
        for (const auto& entry : fs::directory_iterator(folder.path())) {
            if (entry.path().extension() == FaultyDisk::unlinked) continue;
            found.push_back(entry.path().filename().string());
        }
        std::sort(found.begin(), found.end());
        return found;
    }
    /// The name of the only file without its 32 digits, e.g. "-0.free".
    std::string state() const {
        const auto found = names();
        return found.size() == 1 ? found[0].substr(32) : std::to_string(found.size()) + " files";
    }
    fs::path only_file() const { return folder.path() / names().at(0); }

    Model model{{{9, 4}, {3, 8}}, Fill::random, 1};
    PairSubject subject;
    slip::testing::TemporaryDirectory folder;
};

/// A session with `pair` and a David whose first reply may be wrong.
struct PairedSession {
    PairedSession(const Model& model, std::shared_ptr<TakenPair> pair, bool honest = true)
        : david(honest ? make_david_session(model.david)
                       : make_david_session(model.david, tamper_with(0, 0, 1))),
          transport(*david),
          charlie(model.weights(), model.david.digest, transport, options(std::move(pair))) {}

    static SessionOptions options(std::shared_ptr<TakenPair> pair) {
        SessionOptions chosen = small_pool();
        chosen.pair = std::move(pair);
        return chosen;
    }

    std::unique_ptr<DavidSession> david;
    RecordingTransport transport;
    CharlieSession<P31> charlie;
};

// ---- lives

TEST(Store, OFF_13_a_pair_whose_verdicts_were_all_accepted_comes_back) {
    const Pairs pairs;
    EXPECT_EQ(pairs.state(), "-0.free");
    for (int life = 0; life < 3; ++life) {
        std::shared_ptr<TakenPair> pair = pairs.store().take();
        ASSERT_TRUE(pair);
        EXPECT_EQ(pairs.state(), "-" + std::to_string(life) + ".taken");
        PairedSession one(pairs.model, pair), other(pairs.model, pair);
        pair.reset();
        EXPECT_TRUE(gives_exact_products(one.charlie, pairs.model, 2));
        one.charlie.close();
        EXPECT_EQ(pairs.state(), "-" + std::to_string(life) + ".taken") << "the other has it";
        EXPECT_TRUE(gives_exact_products(other.charlie, pairs.model, 2));
        other.charlie.close();
        EXPECT_EQ(pairs.state(), "-" + std::to_string(life + 1) + ".free");
    }
}

TEST(Store, OFF_13_after_a_reject_a_pair_is_deleted_and_no_session_goes_on_with_it) {
    const Pairs pairs;
    std::shared_ptr<TakenPair> pair = pairs.store().take();
    PairedSession one(pairs.model, pair), liar(pairs.model, pair, false);
    pair.reset();
    const Columns columns = some_columns(pairs.model);
    EXPECT_NO_THROW(round(one.charlie, 0, columns, 9));
    EXPECT_THROW(round(liar.charlie, 0, columns, 9), IntegrityError);
    EXPECT_TRUE(pairs.names().empty()) << "although another session has it";
    const std::size_t sent = one.transport.sent.size();
    EXPECT_THROW(round(one.charlie, 0, columns, 9), IntegrityError) << "it is over for every one";
    EXPECT_FALSE(one.charlie.alive());
    ASSERT_EQ(one.transport.sent.size(), sent + 1) << "and nothing else is sent";
    EXPECT_EQ(wire::frame_type(payload_of(one.transport.sent.back())), FrameType::abort);
    EXPECT_EQ(pairs.store().take(), nullptr);
}

TEST(Store, OFF_11_a_pair_is_deleted_before_its_reject_is_counted) {
    const Pairs pairs;
    struct Looking : RejectLimiter {
        explicit Looking(const Pairs& p) : pairs(p) {}
        void require_allowed(const std::string&) const override {}
        void record_reject(const std::string&) noexcept override { found = pairs.names().size(); }
        const Pairs& pairs;
        std::optional<std::size_t> found;
    } limiter(pairs);
    const auto david = make_david_session(pairs.model.david, tamper_with(0, 0, 1));
    RecordingTransport transport(*david);
    SessionOptions options = PairedSession::options(pairs.store().take());
    options.limiter = &limiter;
    CharlieSession<P31> charlie(pairs.model.weights(), pairs.model.david.digest, transport,
                                std::exchange(options, {}));
    EXPECT_EQ(pairs.state(), "-0.taken");
    EXPECT_THROW(round(charlie, 0, some_columns(pairs.model), 9), IntegrityError);
    EXPECT_EQ(limiter.found, 0U);
}

/// While David's reply is under way, a cancellation is rejected: the error names the offline David.
TEST(Store, OFF_11_david_is_not_blamed_for_a_rejected_cancellation) {
    const Pairs pairs;
    const std::shared_ptr<TakenPair> pair = pairs.store().take();
    struct Late : RecordingTransport {
        Late(DavidSession& david, Life& l) : RecordingTransport(david), life(l) {}
        void receive(std::span<std::byte> bytes) override {
            if (sent.size() > 1) Life::Verdict(life).release(1, {"offline:7"});
            RecordingTransport::receive(bytes);
        }
        Life& life;
    };
    const auto david = make_david_session(pairs.model.david);
    Late transport(*david, pair->life());
    CharlieSession<P31> charlie(pairs.model.weights(), pairs.model.david.digest, transport,
                                PairedSession::options(pair));
    try {
        round(charlie, 0, some_columns(pairs.model), 9);
        FAIL() << "the life is over";
    } catch (const IntegrityError& error) {
        EXPECT_NE(std::string(error.what()).find("offline:7"), std::string::npos);
    }
}

TEST(Store, OFF_13_a_lost_connection_returns_the_pair) {
    const Pairs pairs;
    {
        PairedSession session(pairs.model, pairs.store().take());
        handle(*session.david, abort_frame());
        EXPECT_THROW(round(session.charlie, 0, some_columns(pairs.model), 9), ProtocolError);
    }
    EXPECT_EQ(pairs.state(), "-1.free");
}

TEST(Store, OFF_13_a_verdict_that_was_begun_and_not_accepted_ends_the_pair) {
    const Pairs pairs;
    {
        const auto pair = pairs.store().take();
        Life::Verdict accepted(pair->life()), pending(pair->life());
        EXPECT_TRUE(accepted.release(0, {"David"}));
        EXPECT_EQ(pair->life().pending(), 1u);
    }
    EXPECT_TRUE(pairs.names().empty());
}

TEST(Store, OFF_13_the_number_of_returns_is_limited) {
    const Pairs pairs;
    const fs::path file = pairs.only_file();
    const std::string id = file.filename().string().substr(0, 32);
    fs::rename(file, pairs.folder.path() / (id + "-1048575.free"));
    pairs.store().take().reset();
    EXPECT_EQ(pairs.state(), "-1048576.free");
    pairs.store().take().reset();
    EXPECT_TRUE(pairs.names().empty());
}

TEST(Store, RAND_6_a_forked_child_neither_returns_nor_deletes) {
    const Pairs pairs;
    auto pair = pairs.store().take();
    EXPECT_EQ(said_by([&](const auto&) { pair.reset(); }), ".");
    EXPECT_EQ(pairs.state(), "-0.taken");
    EXPECT_EQ(said_by([&](const auto&) {
                  pair->life().end();
                  pair.reset();
              }),
              ".");
    EXPECT_EQ(pairs.state(), "-0.taken");
    pair.reset();
    EXPECT_EQ(pairs.state(), "-1.free");
}

TEST(Store, INTEG_1_a_session_refuses_a_pair_of_another_artifact) {
    const Pairs pairs;
    const Model other({{9, 4}}, Fill::random, 1);
    EXPECT_THROW(PairedSession(other, pairs.store().take()), InternalError);
    EXPECT_EQ(pairs.state(), "-1.free");
}

TEST(Store, OFF_13_pairs_of_the_other_profile_are_left_alone) {
    const Pairs pairs;
    PairSubject other = pairs.subject;
    other.profile = Profile::p61;
    const PairStore store(pairs.folder.path(), other);
    EXPECT_EQ(store.take(), nullptr);
    EXPECT_EQ(pairs.state(), "-0.free");
    store.put(Pair::draw(other, pairs.model.weights()));
    EXPECT_TRUE(store.take());
    EXPECT_TRUE(pairs.store().take());
}

// ---- one owner

TEST(Store, OFF_13_the_pair_of_a_living_process_is_left_alone) {
    const Pairs pairs;
    const auto pair = pairs.store().take();
    for (int opening = 0; opening < 2; ++opening) {
        EXPECT_EQ(pairs.store().take(), nullptr);
        EXPECT_EQ(pairs.state(), "-0.taken") << "it is not deleted either";
    }
}

TEST(Store, OFF_13_the_pair_of_a_dead_process_is_deleted) {
    const Pairs pairs;
    EXPECT_EQ(said_by([&](const auto&) {
                  const auto pair = pairs.store().take();
                  ::_exit(FaultyDisk::ended);
              }),
              "!");
    EXPECT_EQ(pairs.state(), "-0.taken");
    EXPECT_EQ(pairs.store().take(), nullptr);
    EXPECT_TRUE(pairs.names().empty());
}

TEST(Store, OFF_13_processes_that_race_for_pairs_get_one_each) {
    constexpr std::size_t available = 3;
    constexpr std::size_t racers = 8;
    for (int repetition = 0; repetition < 10; ++repetition) {
        const Pairs pairs(available);
        int start[2], results[2], done[2];
        ASSERT_EQ(::pipe(start) | ::pipe(results) | ::pipe(done), 0);
        std::vector<pid_t> children;
        for (std::size_t i = 0; i < racers; ++i) {
            const pid_t child = ::fork();
            if (child == 0) {
                char c = 0;
                ::close(start[1]);
                ::close(done[1]);
                if (::read(start[0], &c, 1) != 0) ::_exit(1);  // all begin when it is closed
                const auto pair = pairs.store().take();
                c = pair ? '1' : '0';
                if (::write(results[1], &c, 1) != 1) ::_exit(1);
                ::_exit(::read(done[0], &c, 1) == 0 ? 0 : 1);
            }
            children.push_back(child);
        }
        ::close(start[1]);
        std::size_t taken = 0;
        for (std::size_t i = 0; i < racers; ++i) {
            char c = 0;
            ASSERT_EQ(::read(results[0], &c, 1), 1);
            taken += c == '1';
        }
        EXPECT_EQ(taken, available);
        ::close(done[1]);
        for (const pid_t child : children) ::waitpid(child, nullptr, 0);
        for (const int end : {start[0], results[0], results[1], done[0]}) ::close(end);
    }
}

/// The message of the error that take() throws.
std::string refused(const Pairs& pairs) {
    try {
        const auto pair = pairs.store().take();
        return pair ? "taken" : "none";
    } catch (const BadInput& error) {
        return error.what();
    }
}

TEST(Store, OFF_13_a_copy_is_refused_under_any_name) {
    const Pairs pairs;
    const fs::path file = pairs.only_file();
    std::string name = file.filename().string();
    const fs::path kept = pairs.folder.path() / "kept";
    fs::copy_file(file, kept);

    name[0] = name[0] == '0' ? '1' : '0';
    fs::rename(file, pairs.folder.path() / name);
    EXPECT_NE(refused(pairs).find("copy under another name"), std::string::npos);
    fs::rename(pairs.folder.path() / name, file);

    const auto pair = pairs.store().take();
    for (const char* state : {"-0.free", "-1.free"}) {
        const fs::path copy =
            pairs.folder.path() / (file.filename().string().substr(0, 32) + state);
        fs::copy_file(kept, copy);
        EXPECT_NE(refused(pairs).find("is a copy of"), std::string::npos) << state;
        fs::remove(copy);
    }
}

TEST(Store, THREAT_2_a_pair_that_other_users_may_read_is_refused) {
    const Pairs pairs;
    const fs::path file = pairs.only_file();
    EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    fs::permissions(file, fs::perms::others_read, fs::perm_options::add);
    EXPECT_NE(refused(pairs).find("mode 0600"), std::string::npos);
    fs::permissions(file, fs::perms::others_read, fs::perm_options::remove);

    const fs::path elsewhere = pairs.folder.path() / "elsewhere";
    fs::rename(file, elsewhere);
    fs::create_symlink(elsewhere, file);
    EXPECT_NE(refused(pairs).find("cannot be opened"), std::string::npos);
}

TEST(Store, INTEG_2_a_damaged_pair_is_refused_and_stays) {
    const Pairs pairs;
    const fs::path file = pairs.only_file();
    std::fstream(file, std::ios::in | std::ios::out).seekp(100).put('x').put('y');
    EXPECT_NE(refused(pairs).find(file.string() + ": SHA-256: expected"), std::string::npos);
    EXPECT_EQ(pairs.state(), "-0.free");
    fs::resize_file(file, 0);
    EXPECT_NE(refused(pairs).find("length: expected"), std::string::npos);
}

TEST(Store, files_with_other_names_are_left_alone) {
    const Pairs pairs(0);
    for (const char* name :
         {"rejects", "0123456789abcdef0123456789abcdef-00.free",
          "0123456789abcdef0123456789abcdef-0.freed", "0123456789abcdef0123456789abcdef-.free",
          "0123.free", "0123456789abcdef0123456789abcdef"}) {
        std::ofstream(pairs.folder.path() / name) << "x";
    }
    EXPECT_EQ(refused(pairs), "none");
    EXPECT_EQ(pairs.names().size(), 6U);
}

/// A process that opens the store may delete a file that another process has just created.
TEST(Store, OFF_13_a_new_pair_that_is_taken_for_abandoned_is_written_again) {
    const Pairs pairs(0);
    struct Deleting : base::Disk {
        explicit Deleting(const Pairs& p) : pairs(p) {}
        int lock(int descriptor, bool wait) override {
            if (std::exchange(done, true)) return Disk::lock(descriptor, wait);
            const fs::path begun = pairs.only_file();
            {
                const base::OpenFile other(Disk::open(begun, O_RDONLY, 0));
                EXPECT_EQ(Disk::lock(other.descriptor(), false), 0);
                EXPECT_EQ(Disk::lock(descriptor, false), -1);
                EXPECT_EQ(Disk::unlink(begun), 0);
            }
            errno = EWOULDBLOCK;
            return wait ? Disk::lock(descriptor, true) : -1;
        }
        const Pairs& pairs;
        bool done = false;
    } disk(pairs);
    EXPECT_NO_THROW(pairs.put(disk));
    EXPECT_EQ(pairs.state(), "-0.free");
}

// ---- a fault at every call

constexpr Fault endings[] = {Fault::end_before, Fault::end_after, Fault::power_loss};
constexpr Fault failures[] = {Fault::no_space, Fault::broken};

/// Takes a pair ('T'), uses it, and returns it ('R'), with a fault of the disk. With `rejected` the
/// pair is deleted instead.
std::string life(const Pairs& pairs, Fault fault, std::size_t at, bool rejected) {
    return said_by([&](const auto& say) {
        FaultyDisk disk(fault, at);
        auto pair = pairs.store(disk).take();
        say('T');
        if (rejected) pair->life().end();
        pair.reset();
        say('R');
        if (!disk.happened()) say('-');
    });
}

TEST(StoreFaults, OFF_13_no_pair_that_was_in_use_is_used_again_after_any_end) {
    for (const Fault fault : endings) {
        for (const bool rejected : {false, true}) {
            for (std::size_t at = 0;; ++at) {
                const Pairs pairs;
                const std::string said = life(pairs, fault, at, rejected);
                SCOPED_TRACE(::testing::Message() << static_cast<int>(fault) << " at " << at << ": "
                                                  << said << " " << pairs.state());
                ASSERT_EQ(said.back(), said.find('-') == std::string::npos ? '!' : '.');
                const std::string found = pairs.state();
                const auto after = pairs.store().take();
                if (said[0] == 'T') {  // it may have been used
                    EXPECT_NE(found, "-0.free");
                    EXPECT_EQ(after != nullptr, found == "-1.free");
                    EXPECT_FALSE(rejected && after);
                } else {  // lost only while it was being taken
                    EXPECT_EQ(after != nullptr, found == "-0.free");
                    EXPECT_TRUE(after || found == "-0.taken");
                }
                if (said.find('-') != std::string::npos) break;
            }
        }
    }
}

/// The number of free pairs in a store, all of which must be complete.
std::size_t takeable(const Pairs& pairs) {
    const PairStore store = pairs.store();
    std::vector<std::unique_ptr<TakenPair>> taken;
    while (auto pair = store.take()) taken.push_back(std::move(pair));
    return taken.size();
}

TEST(StoreFaults, INTEG_2_a_new_pair_is_there_whole_or_not_at_all) {
    for (const Fault fault : endings) {
        for (std::size_t at = 0;; ++at) {
            const Pairs pairs(0);
            const std::string said = said_by([&](const auto& say) {
                FaultyDisk disk(fault, at);
                pairs.put(disk);
                say('P');
                if (!disk.happened()) say('-');
            });
            SCOPED_TRACE(::testing::Message() << static_cast<int>(fault) << " at " << at << said);
            ASSERT_EQ(said.back(), said.find('-') == std::string::npos ? '!' : '.');
            const std::size_t found = takeable(pairs);
            EXPECT_TRUE(said[0] == 'P' ? found == 1 : found <= 1);
            EXPECT_EQ(pairs.names().size(), found) << "nothing half made is left";
            if (said.find('-') != std::string::npos) break;
        }
    }
}

TEST(StoreFaults, OFF_13_no_pair_in_use_is_free_after_a_disk_error) {
    for (const Fault fault : failures) {
        for (std::size_t at = 0;; ++at) {
            const Pairs pairs;
            FaultyDisk disk(fault, at);
            std::unique_ptr<TakenPair> pair;
            bool in_use = false;
            try {
                pair = pairs.store(disk).take();
                in_use = pair != nullptr;
                EXPECT_EQ(takeable(pairs), 0U) << at << ": no second owner";
                EXPECT_TRUE(in_use || disk.happened());
            } catch (const BadInput& error) {
                EXPECT_NE(std::string(error.what()).find("cannot be"), std::string::npos);
                EXPECT_EQ(takeable(pairs), 1U) << at << ": it has judged nothing";
                continue;
            }
            pair.reset();
            const std::string found = pairs.state();
            EXPECT_TRUE(found == "-1.free" || found == "-0.taken") << at << " " << found;
            EXPECT_EQ(takeable(pairs), found == "-1.free" ? 1U : 0U);
            if (!disk.happened()) break;
        }
    }
}

TEST(StoreFaults, INTEG_2_a_pair_that_cannot_be_written_leaves_nothing) {
    for (const Fault fault : failures) {
        for (std::size_t at = 0;; ++at) {
            const Pairs pairs(0);
            FaultyDisk disk(fault, at);
            try {
                pairs.put(disk);
                EXPECT_EQ(takeable(pairs), 1U);
                if (!disk.happened()) break;
            } catch (const BadInput&) {
                EXPECT_EQ(takeable(pairs), 0U) << at;
                EXPECT_TRUE(pairs.names().empty()) << at;
            }
        }
    }
}

}  // namespace
}  // namespace slip::fixture

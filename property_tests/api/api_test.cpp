// SLIP as a library: the public headers, used as a program outside this tree uses them.
// test: threads
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "property_tests/api/small_network.hpp"
#include "property_tests/generators/refusal.hpp"
#include "property_tests/generators/synthetic_model.hpp"
#include "property_tests/generators/temporary_folder.hpp"
#include "slip/slip.hpp"

namespace slip::testing {
namespace {

/// A checkpoint on disk and its split; gone with the test.
class Deployment {
public:
    explicit Deployment(const SyntheticModel& synthetic, Attention attention = Attention::fused)
        : vocabulary(synthetic.config.vocab_size) {
        write_checkpoint(synthetic, model);
        options.plan = uniform_plan(model, 2);
        options.out = artifact;
        options.attention = attention;
        options.progress = [this](const SplitProgress& now) { progress.push_back(now); };
        split_checkpoint(model, options);
    }

    TemporaryFolder folder;
    const std::filesystem::path model = folder / "model";
    const std::filesystem::path artifact = folder / "artifact";
    const std::size_t vocabulary;
    SplitOptions options;
    std::vector<SplitProgress> progress;
};

const Deployment& small() {
    static const Deployment deployment(random_llama(5));
    return deployment;
}

std::vector<TokenId> prompt() { return random_ids(3, 6, small().vocabulary); }

const std::vector<std::uint32_t>& expected_logits() {
    static const auto logits =
        bits_of(open_unsplit<LanguageModel>(small().artifact).forward(prompt()));
    return logits;
}

/// A transport of the user's own: two queues of bytes in memory.
class Queue {
public:
    void push(std::span<const std::byte> bytes) {
        const std::lock_guard lock(mutex_);
        bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
        changed_.notify_all();
    }
    void close() {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        changed_.notify_all();
    }
    void pop(std::span<std::byte> bytes) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return closed_ || bytes_.size() >= bytes.size(); });
        if (bytes_.size() < bytes.size()) throw ProtocolError("the queue was closed");
        std::copy_n(bytes_.begin(), bytes.size(), bytes.begin());
        bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(bytes.size()));
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::byte> bytes_;
    bool closed_ = false;
};

class QueueTransport : public Transport {
public:
    QueueTransport(std::shared_ptr<Queue> in, std::shared_ptr<Queue> out)
        : in_(std::move(in)), out_(std::move(out)) {}
    ~QueueTransport() override {
        in_->close();
        out_->close();
    }
    void send(std::span<const std::byte> bytes) override { out_->push(bytes); }
    void receive(std::span<std::byte> bytes) override { in_->pop(bytes); }

private:
    std::shared_ptr<Queue> in_;
    std::shared_ptr<Queue> out_;
};

/// Flips the lowest bit of the last residue of the reply after `honest` honest ones.
class DishonestTransport : public Transport {
public:
    DishonestTransport(std::unique_ptr<Transport> inner, int honest, std::string name)
        : inner_(std::move(inner)), left_(honest), name_(std::move(name)) {}
    void send(std::span<const std::byte> bytes) override { inner_->send(bytes); }
    void receive(std::span<std::byte> bytes) override {
        inner_->receive(bytes);
        if (bytes.size() <= 4 || left_-- > 0) return;  // the field of a length
        auto& residue = bytes[bytes.size() - sizeof(std::uint32_t)];
        residue = residue == std::byte{0}  // another one below every prime
                      ? std::byte{1}
                      : std::byte(std::to_integer<int>(residue) - 1);
    }
    std::string peer_name() const override { return name_; }

private:
    std::unique_ptr<Transport> inner_;
    int left_;
    std::string name_;
};

/// A David of one session, on a thread of his own.
class ServingThread {
public:
    explicit ServingThread(std::unique_ptr<Transport> charlie)
        : thread_([charlie = std::move(charlie)]() mutable {
              try {
                  David(small().artifact / "david").serve(*charlie);
              } catch (const ProtocolError&) {  // Charlie is gone
              }
          }) {}
    ~ServingThread() { thread_.join(); }

private:
    std::thread thread_;
};

TEST(Embedding, LIN_4_charlie_in_one_process_equals_the_unsplit_model) {
    for (const Attention attention : {Attention::fused, Attention::paper}) {
        const Deployment deployment(random_model(7), attention);
        const auto ids = random_ids(3, 5, deployment.vocabulary);
        auto unsplit = open_unsplit<LanguageModel>(deployment.artifact);
        auto charlie = open_charlie_in_process<LanguageModel>(deployment.artifact);
        EXPECT_EQ(charlie.vocabulary_size(), deployment.vocabulary);
        const auto logits = charlie.forward(ids);
        EXPECT_EQ(logits.size(), ids.size() * deployment.vocabulary);
        EXPECT_EQ(bits_of(logits), bits_of(unsplit.forward(ids)));
    }
}

TEST(Embedding, LIN_4_charlie_over_a_transport_of_the_users_own) {
    const auto up = std::make_shared<Queue>();
    const auto down = std::make_shared<Queue>();
    const ServingThread david(std::make_unique<QueueTransport>(up, down));
    auto charlie =
        open_charlie<LanguageModel>(small().artifact, std::make_unique<QueueTransport>(down, up));
    charlie.wait_for_masks(100);
    EXPECT_EQ(bits_of(charlie.forward(prompt())), expected_logits());
}

TEST(Embedding, SESS_6_one_david_serves_many_threads) {
    const David david(small().artifact / "david");
    std::vector<std::thread> threads;
    std::array<bool, 4> equal{};
    for (bool& good : equal) {
        auto [to_david, to_charlie] = make_transport_pair();
        threads.emplace_back(
            [&david, end = std::move(to_charlie)]() mutable { david.serve(*end); });
        threads.emplace_back([&good, end = std::move(to_david)]() mutable {
            auto charlie = open_charlie<LanguageModel>(small().artifact, std::move(end));
            good = bits_of(charlie.forward(prompt())) == expected_logits();
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (const bool good : equal) EXPECT_TRUE(good);
}

TEST(Embedding, SESS_7_charlie_and_david_over_tls) {
    const TemporaryFolder folder;
    make_keys(folder / "tls");
    const David david(small().artifact / "david");
    std::vector<std::string> lines;
    TlsServer server(
        parse_endpoint("127.0.0.1:0", "listen"), folder / "tls/david", {.max_sessions = 4},
        [&](Transport& charlie) { david.serve(charlie); },
        [&](const std::string& line) { lines.push_back(line); });
    std::thread thread([&] { server.run(); });
    const Endpoint endpoint{"127.0.0.1", std::to_string(server.port())};
    {
        auto charlie = open_charlie<LanguageModel>(
            small().artifact, [&] { return connect_tls(endpoint, folder / "tls/charlie"); });
        EXPECT_EQ(bits_of(charlie.forward(prompt())), expected_logits());
    }
    server.stop();
    thread.join();
    EXPECT_EQ(lines, std::vector<std::string>());
}

/// As one in a folder that may not be searched.
TEST(Embedding, MODEL_7_a_half_that_cannot_be_looked_at_is_bad_input_and_named) {
    const TemporaryFolder folder;
    std::filesystem::copy(small().artifact / "charlie", folder / "charlie",
                          std::filesystem::copy_options::recursive);
    std::filesystem::create_symlink("david", folder / "david");  // to itself
    const std::string said =
        refusal([&] { static_cast<void>(open_unsplit<LanguageModel>(folder.path())); });
    EXPECT_NE(said.find((folder / "david").string() + ": cannot be looked at"), std::string::npos)
        << said;
}

/// Charlie's half is enough where he makes his cancellations from hints.
TEST(Embedding, MODEL_7_charlie_needs_davids_half_for_uniform_masks_alone) {
    const TemporaryFolder folder;
    std::filesystem::copy(small().artifact / "charlie", folder / "charlie",
                          std::filesystem::copy_options::recursive);
    auto [to_david, to_charlie] = make_transport_pair();
    const ServingThread david(std::move(to_charlie));
    EXPECT_EQ(
        bits_of(open_charlie<LanguageModel>(folder.path(), std::move(to_david)).forward(prompt())),
        expected_logits());

    SplitOptions uniform = small().options;
    uniform.set = "paper";
    uniform.out = folder / "uniform";
    split_checkpoint(small().model, uniform);
    std::filesystem::remove_all(uniform.out / "david");
    const std::string said = refusal([&] {
        static_cast<void>(open_charlie<LanguageModel>(
            uniform.out, std::make_unique<QueueTransport>(std::make_shared<Queue>(),
                                                          std::make_shared<Queue>())));
    });
    EXPECT_NE(said.find((uniform.out / "david").string() + ": is missing"), std::string::npos)
        << said;
}

/// What sizes the stock of one kind of masks is refused where there are only masks of the other
/// kind, before David is called.
TEST(Embedding, what_sizes_masks_that_a_model_does_not_have_is_refused) {
    const TemporaryFolder folder;
    SplitOptions uniform = small().options;
    uniform.set = "paper";
    uniform.out = folder / "uniform";
    split_checkpoint(small().model, uniform);
    CharlieOptions number;
    number.masks_ready = 100;
    CharlieOptions memory;
    memory.mask_memory = std::size_t{1} << 28;

    open_charlie_in_process<LanguageModel>(uniform.out, number).wait_for_masks(100);
    open_charlie_in_process<LanguageModel>(small().artifact, memory).wait_for_masks(100);
    const auto expect_refused = [](const std::filesystem::path& artifact,
                                   const CharlieOptions& options, const std::string& instead) {
        const Connect nobody = []() -> std::unique_ptr<Transport> {
            ADD_FAILURE() << "David was called";
            return nullptr;
        };
        for (const auto& open : std::vector<std::function<void()>>{
                 [&] { open_charlie_in_process<LanguageModel>(artifact, options); },
                 [&] { open_charlie<LanguageModel>(artifact, nobody, options); }}) {
            const std::string said = refusal(open);
            EXPECT_NE(said.find((artifact / "charlie").string() + ": has only "), std::string::npos)
                << said;
            EXPECT_NE(said.find(instead), std::string::npos) << said;
        }
    };
    expect_refused(small().artifact, number, "but the memory for them (mask_memory");
    expect_refused(uniform.out, memory, "but a number of masks that are kept ready (masks_ready");
}

/// No number stands for another one, but for 0.
TEST(Embedding, as_many_uniform_masks_are_kept_ready_as_were_asked_for) {
    const TemporaryFolder folder;
    SplitOptions uniform = small().options;
    uniform.set = "paper";
    uniform.out = folder / "uniform";
    split_checkpoint(small().model, uniform);
    auto unsplit = open_unsplit<LanguageModel>(uniform.out);
    const SamplingOptions greedy{8};
    const auto expected = unsplit.generate(prompt(), greedy);
    CharlieOptions options;
    using Numbers = std::pair<std::size_t, std::size_t>;
    for (const auto& [asked, kept] : {Numbers{0, 64}, {1, 1}, {7, 7}, {100, 100}}) {
        options.masks_ready = asked;
        auto charlie = open_charlie_in_process<LanguageModel>(uniform.out, options);
        EXPECT_EQ(charlie.generate(prompt(), greedy), expected) << asked;
        EXPECT_EQ(Scheduler(std::move(charlie)).statistics().full_stock_tokens, kept) << asked;
    }
    options.masks_ready = most_masks_ready + 1;
    const std::string said = refusal(
        [&] { static_cast<void>(open_charlie_in_process<LanguageModel>(uniform.out, options)); });
    EXPECT_EQ(said, "masks_ready is 65537: expected 1 to 65536 masks per group, or 0 for 64");
}

TEST(Embedding, generation_is_the_same_with_and_without_the_protocol) {
    auto unsplit = open_unsplit<LanguageModel>(small().artifact);
    auto charlie = open_charlie_in_process<LanguageModel>(small().artifact);
    const SamplingOptions sampling{8, 0.9, 11};
    std::vector<TokenId> seen;
    const auto ids = charlie.generate(prompt(), sampling, [&](TokenId id, auto logits) {
        seen.push_back(id);
        EXPECT_EQ(logits.size(), small().vocabulary);
        return true;
    });
    EXPECT_EQ(ids, seen);
    EXPECT_EQ(ids, unsplit.generate(prompt(), sampling));

    const RunStatistics cost = charlie.statistics();
    EXPECT_GT(cost.rounds, 0U);
    EXPECT_EQ(cost.checks, cost.rounds);
    EXPECT_GT(cost.david_multiplications, 0U);
    EXPECT_EQ(unsplit.statistics().rounds, 0U);
    EXPECT_EQ(open_checkpoint<LanguageModel>(small().model).forward(prompt()).size(),
              prompt().size() * small().vocabulary);
}

TEST(Embedding, INTEG_3_a_wrong_reply_is_an_integrity_error_and_the_session_is_dead) {
    auto [to_david, to_charlie] = make_transport_pair();
    const ServingThread david(std::move(to_charlie));
    auto charlie = open_charlie<LanguageModel>(
        small().artifact, std::make_unique<DishonestTransport>(std::move(to_david), 4, "INTEG_3"));
    EXPECT_THROW(charlie.forward(prompt()), IntegrityError);
    EXPECT_THROW(charlie.forward(prompt()), ProtocolError);
}

/// One session over descriptors, which name no peer unless `name` does, with a David who is honest
/// or not.
void infer_once(bool honest, const std::string& name = Transport::unnamed) {
    auto [to_david, to_charlie] = make_transport_pair();
    const ServingThread david(std::move(to_charlie));
    constexpr int always = 1 << 20;
    auto charlie = open_charlie<LanguageModel>(
        small().artifact,
        std::make_unique<DishonestTransport>(std::move(to_david), honest ? always : 0, name));
    EXPECT_EQ(bits_of(charlie.forward(prompt())), expected_logits());
}

/// In a process of its own, as this one goes on with peers who have no name.
TEST(Embedding, INTEG_7_a_process_does_not_go_back_to_a_peer_without_a_name_who_was_wrong) {
    const auto process = [] {
        infer_once(true);
        EXPECT_THROW(infer_once(false), IntegrityError);
        for (int attempt = 0; attempt < 3; ++attempt) EXPECT_THROW(infer_once(true), Distrusted);
        infer_once(true, "INTEG-7 somebody else");
        auto alone = open_charlie_in_process<LanguageModel>(small().artifact);
        EXPECT_EQ(bits_of(alone.forward(prompt())), expected_logits())
            << "a David inside the model is no peer";
        std::_Exit(::testing::Test::HasFailure() ? 1 : 0);  // the folders are the parent's
    };
    EXPECT_EXIT(process(), ::testing::ExitedWithCode(0), "");
}

TEST(Embedding, SESS_1_a_david_who_is_gone_is_a_protocol_error) {
    auto [to_david, to_charlie] = make_transport_pair();
    to_charlie.reset();
    EXPECT_THROW(open_charlie(small().artifact, std::move(to_david)), ProtocolError);
}

TEST(Embedding, bad_input_is_named) {
    const auto& artifact = small().artifact;
    EXPECT_THROW(open_charlie_in_process(small().folder / "nothing"), BadInput);
    EXPECT_THROW(open_unsplit(small().model), BadInput);
    EXPECT_THROW(open_checkpoint(artifact), BadInput);
    EXPECT_THROW(David{artifact / "charlie"}, BadInput);
    EXPECT_THROW(David(artifact / "david", {.threads = 1025}), BadInput);
    EXPECT_THROW(open_charlie(artifact, std::unique_ptr<Transport>()), InternalError);
    EXPECT_THROW(open_charlie(artifact, Connect()), InternalError);

    auto charlie = open_charlie_in_process<LanguageModel>(artifact);
    EXPECT_FALSE(charlie.has_tokenizer());
    EXPECT_THROW(charlie.encode("text"), BadInput);
    EXPECT_THROW(charlie.encode_prompt("text"), BadInput);
    EXPECT_THROW(charlie.decode(prompt()), BadInput);
    EXPECT_THROW(charlie.continuation(prompt(), prompt()), BadInput);
    EXPECT_THROW(charlie.generate({}, {1}), BadInput);
    EXPECT_THROW(charlie.generate(prompt(), {1, -1}), BadInput);
    EXPECT_THROW(charlie.generate(prompt(), {charlie.max_positions()}), BadInput);
    const TokenId outside = static_cast<TokenId>(charlie.vocabulary_size());
    EXPECT_THROW(charlie.forward(std::array{outside}), BadInput);
    EXPECT_THROW(charlie.forward({}), BadInput);
    EXPECT_THROW(perplexity(charlie, {}, {1, 1}), BadInput);
    EXPECT_THROW(perplexity(charlie, prompt(), {1, 2}), BadInput);
    EXPECT_THROW(perplexity(charlie, prompt(), {charlie.max_positions() + 1, 1}), BadInput);
    EXPECT_THROW(log_likelihoods(charlie, "text", {}), BadInput);
    EXPECT_EQ(bits_of(charlie.forward(prompt())), expected_logits()) << "it goes on";
}

TEST(Embedding, DECO_6_splitting_reports_progress_and_leaves_what_exists_alone) {
    const Deployment& deployment = small();
    ASSERT_GT(deployment.progress.size(), 1U);
    EXPECT_EQ(deployment.progress.front().finished, 0U);
    EXPECT_EQ(deployment.progress.back().finished, deployment.progress.back().matrices);
    EXPECT_THROW(split_checkpoint(deployment.model, deployment.options), BadInput);

    SplitOptions options = deployment.options;
    options.out = deployment.folder / "other";
    struct Enough {};
    options.progress = [](const SplitProgress& now) {
        if (now.finished == 2) throw Enough();
    };
    const auto entries = [&] {
        return std::distance(std::filesystem::directory_iterator(deployment.folder.path()), {});
    };
    const auto before = entries();
    EXPECT_THROW(split_checkpoint(deployment.model, options), Enough);
    EXPECT_EQ(entries(), before) << "a split that was cancelled leaves nothing";
    options.progress = {};
    options.plan = {{std::size_t{0}, "no_such_layer", 1}};
    EXPECT_THROW(split_checkpoint(deployment.model, options), BadInput);
    EXPECT_FALSE(std::filesystem::exists(options.out));
}

TEST(Embedding, CNN_5_LIN_4_a_convolutional_network_equals_the_unsplit_one) {
    const TemporaryFolder folder;
    base::write_file(folder / "net.onnx", network_file(), 0600);
    SplitOptions options;
    options.plan = uniform_plan(folder / "net.onnx", 2);
    options.out = folder / "out";
    split_checkpoint(folder / "net.onnx", options);

    auto charlie = open_charlie_in_process<ImageClassifier>(options.out);
    auto unsplit = open_unsplit<ImageClassifier>(options.out);
    EXPECT_EQ(charlie.image_shape(), (ImageShape{4, 3, 2}));
    EXPECT_EQ(charlie.image_size(), 24U);
    EXPECT_EQ(charlie.class_count(), 4U);
    EXPECT_EQ(charlie.images_at_once(), 64U);
    std::vector<float> images(3 * charlie.image_size());
    for (std::size_t i = 0; i < images.size(); ++i) images[i] = static_cast<float>(i % 7) - 3;
    const auto logits = charlie.classify(images);
    EXPECT_EQ(logits.size(), 12U);
    EXPECT_EQ(bits_of(logits), bits_of(unsplit.classify(images)));
    EXPECT_EQ(charlie.statistics().rounds, 2U);

    images.pop_back();
    EXPECT_THROW(charlie.classify(images), BadInput);
    EXPECT_THROW(charlie.classify({}), BadInput);
}

/// Checks that `open` throws BadInput, naming `path` and what was expected.
void expect_wrong_kind(const std::function<void()>& open, const std::filesystem::path& path,
                       const std::string& expected) {
    try {
        open();
        ADD_FAILURE() << path << " was opened as a " << expected;
    } catch (const BadInput& error) {
        const std::string said = error.what();
        EXPECT_TRUE(said.starts_with(path.string() + ": ")) << said;
        EXPECT_NE(said.find("expected a " + expected), std::string::npos) << said;
    }
}

/// Without a plan a split is the hidden one, also where that cannot be made: David does not get a
/// whole model because nobody has said what Charlie keeps.
TEST(Embedding, HIDE_1_the_papers_split_is_made_only_where_it_is_asked_for) {
    const TemporaryFolder folder;
    base::write_file(folder / "net.onnx", network_file(), 0600);
    SplitOptions options;
    options.out = folder / "out";
    std::string said = refusal([&] { split_checkpoint(folder / "net.onnx", options); });
    EXPECT_NE(said.find("a convolution cannot be hidden: expected a language model, a plan"),
              std::string::npos)
        << said;
    options.strategy = Strategy::rcs;
    said = refusal([&] { split_checkpoint(small().model, options); });
    EXPECT_NE(said.find("expected no rank, plan or strategy"), std::string::npos) << said;
    for (const std::string set : {"paper", "paper-lattice"}) {
        options.set = set;
        said = refusal([&] { split_checkpoint(small().model, options); });
        EXPECT_NE(said.find("set " + set + ": expected a plan"), std::string::npos) << said;
    }
    EXPECT_FALSE(std::filesystem::exists(options.out));
}

TEST(Embedding, a_model_is_opened_as_the_kind_that_it_is_and_as_no_other) {
    const TemporaryFolder folder;
    const auto network = folder / "net.onnx";
    base::write_file(network, network_file(), 0600);
    SplitOptions options;
    options.plan = uniform_plan(network, 2);
    options.out = folder / "out";
    split_checkpoint(network, options);

    EXPECT_TRUE(std::holds_alternative<ImageClassifier>(open_checkpoint(network)));
    EXPECT_TRUE(std::holds_alternative<ImageClassifier>(open_unsplit(options.out)));
    EXPECT_TRUE(std::holds_alternative<ImageClassifier>(open_charlie_in_process(options.out)));
    EXPECT_TRUE(std::holds_alternative<LanguageModel>(open_checkpoint(small().model)));
    EXPECT_TRUE(std::holds_alternative<LanguageModel>(open_unsplit(small().artifact)));
    EXPECT_TRUE(std::holds_alternative<LanguageModel>(open_charlie_in_process(small().artifact)));

    const auto never = []() -> std::unique_ptr<Transport> {
        ADD_FAILURE() << "David was called for a model of the wrong kind";
        return nullptr;
    };
    const std::string language = "language model", images = "convolutional network";
    expect_wrong_kind([&] { open_checkpoint<LanguageModel>(network); }, network, language);
    expect_wrong_kind([&] { open_unsplit<LanguageModel>(options.out); }, options.out, language);
    expect_wrong_kind([&] { open_charlie<LanguageModel>(options.out, never); }, options.out,
                      language);
    const auto& model = small().model;
    const auto& artifact = small().artifact;
    expect_wrong_kind([&] { open_checkpoint<ImageClassifier>(model); }, model, images);
    expect_wrong_kind([&] { open_unsplit<ImageClassifier>(artifact); }, artifact, images);
    expect_wrong_kind([&] { open_charlie<ImageClassifier>(artifact, never); }, artifact, images);
    expect_wrong_kind([&] { open_charlie_in_process<ImageClassifier>(artifact); }, artifact,
                      images);
}

TEST(Embedding, SESS_3_a_generation_that_is_stopped_leaves_the_session_in_order) {
    auto [to_david, to_charlie] = make_transport_pair();
    const ServingThread david(std::move(to_charlie));
    auto charlie = open_charlie<LanguageModel>(small().artifact, std::move(to_david));
    const auto all = charlie.generate(prompt(), {6});
    ASSERT_GE(all.size(), 3U);

    std::size_t seen = 0;
    const auto two = charlie.generate(prompt(), {6}, [&](TokenId, auto) { return ++seen < 2; });
    EXPECT_EQ(two, std::vector<TokenId>(all.begin(), all.begin() + 2));
    const std::uint64_t rounds = charlie.statistics().rounds;
    struct Enough {};
    EXPECT_THROW(charlie.generate(prompt(), {6}, [](TokenId, auto) -> bool { throw Enough(); }),
                 Enough);
    EXPECT_GT(charlie.statistics().rounds, rounds);
    EXPECT_EQ(bits_of(charlie.forward(prompt())), expected_logits());
}

TEST(Embedding, MODEL_3_a_sequence_sends_only_what_a_prompt_adds) {
    LanguageModel model = open_charlie_in_process<LanguageModel>(small().artifact);
    LanguageModel alone = open_charlie_in_process<LanguageModel>(small().artifact);
    Sequence sequence(model);
    SamplingOptions options;
    options.max_tokens = 1;
    const auto multiplications = [&](LanguageModel& of, const auto& generate) {
        const std::uint64_t before = of.statistics().david_multiplications;
        generate();
        return of.statistics().david_multiplications - before;
    };
    const std::vector<TokenId> first = prompt();
    ASSERT_EQ(first.size(), 6U);
    std::vector<TokenId> second = first;
    second.insert(second.end(), {1, 2});
    std::vector<TokenId> found;
    std::vector<TokenId> expected;
    const auto six = multiplications(model, [&] { sequence.generate(first, options); });
    const auto two = multiplications(model, [&] { found = sequence.generate(second, options); });
    const auto eight = multiplications(alone, [&] { expected = alone.generate(second, options); });
    EXPECT_EQ(found, expected);
    // Each takes the head once; the blocks take a multiple of the tokens that are computed.
    EXPECT_GT(six, two);
    EXPECT_EQ(2 * (eight - two), 3 * (six - two));
}

TEST(Embedding, models_can_be_moved) {
    auto charlie = open_charlie_in_process<LanguageModel>(small().artifact);
    LanguageModel other(std::move(charlie));
    EXPECT_EQ(bits_of(other.forward(prompt())), expected_logits());
    David david(small().artifact / "david");
    david = David(small().artifact / "david");
    auto [to_david, to_charlie] = make_transport_pair();
    std::thread serving([&, end = std::move(to_charlie)] { david.serve(*end); });
    {
        auto over_him = open_charlie<LanguageModel>(small().artifact, std::move(to_david));
        EXPECT_EQ(bits_of(over_him.forward(prompt())), expected_logits());
    }
    serving.join();
}

}  // namespace
}  // namespace slip::testing

// What the online path reserves once it is warm: nothing, on either side (MODEL-6). This executable
// counts every allocation of the C library, which operator new uses too, and the pages of secrets.
// test: alone, counts
// links: slip_engines slip_graph slip_split
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "optimized/masks/cancellation.hpp"
#include "property_tests/generators/synthetic_model.hpp"

#if !defined(__GLIBC__)
#define SLIP_COUNTS_ALLOCATIONS 0
#else
#define SLIP_COUNTS_ALLOCATIONS 1
#endif

namespace {

std::atomic<bool> counting = false;
std::atomic<std::size_t> allocations = 0;

/// Allocations of the thread that asks. Initialised without code, so that malloc() may use it.
thread_local std::size_t allocations_here = 0;

[[maybe_unused]] void count() {
    ++allocations_here;
    if (counting) ++allocations;
}

}  // namespace

#if SLIP_COUNTS_ALLOCATIONS
extern "C" {
void* __libc_malloc(std::size_t);                 // NOLINT(bugprone-reserved-identifier)
void* __libc_calloc(std::size_t, std::size_t);    // NOLINT(bugprone-reserved-identifier)
void* __libc_realloc(void*, std::size_t);         // NOLINT(bugprone-reserved-identifier)
void* __libc_memalign(std::size_t, std::size_t);  // NOLINT(bugprone-reserved-identifier)

void* malloc(std::size_t size) noexcept {
    count();
    return __libc_malloc(size);
}
void* calloc(std::size_t elements, std::size_t size) noexcept {
    count();
    return __libc_calloc(elements, size);
}
void* realloc(void* old, std::size_t size) noexcept {
    count();
    return __libc_realloc(old, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
    count();
    return __libc_memalign(alignment, size);
}
}

void* slip::base::allocate_secret(std::size_t size, Children /*children*/) {
    void* const memory = ::aligned_alloc(64, (size + 63) / 64 * 64);
    if (memory == nullptr) throw std::bad_alloc();
    return std::memset(memory, 0, size);
}
void slip::base::free_secret(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }
#endif

namespace slip::engines {
namespace {

using namespace graph;
using namespace masks;
using namespace protocol;

/// The allocations of the whole process, its background threads' too, while `work` runs.
template <class Work>
std::size_t allocations_of(const Work& work) {
    allocations = 0;
    counting = true;
    work();
    counting = false;
    return allocations;
}

/// Those of the calling thread alone.
template <class Work>
std::size_t allocations_of_this_thread(const Work& work) {
    const std::size_t before = allocations_here;
    work();
    return allocations_here - before;
}

/// One token through every group, as decoding does. The outputs are reserved before.
class Decoder {
public:
    Decoder(const testing::SplitLlama& split, base::Engine& engine) : engine_(engine) {
        for (const artifact::CharlieGroup& group : split.charlie.groups()) {
            Shape& shape = shapes_.emplace_back();
            shape.input.assign(group.product().inputs(), 0.25F);
            for (std::size_t i = 0; i < group.members.size(); ++i) {
                shape.results.emplace_back(group.product(i).outputs());
            }
            for (auto& result : shape.results) {
                shape.outputs.emplace_back(result.data(), 1, result.size());
            }
        }
    }
    void token() {
        for (base::GroupId group = 0; group < shapes_.size(); ++group) {
            const Shape& shape = shapes_[group];
            engine_.apply(group, {shape.input.data(), 1, shape.input.size()}, shape.outputs);
        }
    }

private:
    struct Shape {
        std::vector<float> input;
        std::vector<std::vector<float>> results;
        std::vector<base::MatrixView<float>> outputs;
    };
    base::Engine& engine_;
    std::vector<Shape> shapes_;
};

/// Masks ready, running out, and made on demand; Charlie, David and the thread that makes masks.
TEST(OnlineMemory, MODEL_6_a_warm_decode_step_allocates_nothing) {
    if (SLIP_COUNTS_ALLOCATIONS == 0) GTEST_SKIP() << "this C library's cannot be counted";
    const testing::SyntheticModel llama = testing::random_llama(5);
    const testing::SplitLlama split(llama, testing::plan_for_all(llama.config, 3));
    for (const std::size_t depth : {0U, 1U, 4U, 64U}) {
        base::WorkerTeam team(depth == 4 ? 3 : 1);
        const DavidModel model{split.david.weights(), split.david.set(), split.david.digest(),
                               &team};
        DavidSession david(model);
        InProcessTransport transport(david);
        const IntegrityCheck check(split.charlie.check_secret(), kernels::shapes_of(model.weights),
                                   model.set.planes);
        SessionOptions options;
        options.stock.depth = depth;
        options.stock.batch = 2;
        HybridEngine engine(split.charlie, model.weights, check, transport, options);
        Decoder decoder(split, engine);
        const auto tokens = [&](std::size_t count) {
            for (std::size_t t = 0; t < count; ++t) decoder.token();
        };
        engine.wait_until_ready(depth);
        tokens(100);
        EXPECT_EQ(allocations_of([&] { tokens(300); }), 0U) << "a stock of " << depth;
    }
}

/// More masks at once than are ready, for the first time: what the thread that takes them lends for
/// the last one was reserved before. Memory is the stock's own, so other threads are not counted.
TEST(OnlineMemory, MODEL_6_the_first_underrun_of_a_stock_allocates_nothing) {
    if (SLIP_COUNTS_ALLOCATIONS == 0) GTEST_SKIP() << "this C library's cannot be counted";
    const std::vector<std::int8_t> weights(6, 3);
    kernels::OffloadedWeights group;
    group.emplace_back(weights.data(), std::size_t{2}, std::size_t{3});
    group[0].prepare();
    for (const std::size_t depth : {1U, 4U, 64U}) {
        Keystream keys;
        CancellationStock stock(group, 4, keys, {.depth = depth, .batch = 2});
        std::vector<Mask> masks;
        masks.reserve(depth + 1);
        stock.wait_until_ready(depth);
        EXPECT_EQ(allocations_of_this_thread([&] { stock.take(0, depth + 1, masks); }), 0U)
            << "a stock of " << depth;
        EXPECT_EQ(masks.size(), depth + 1);
    }
}

/// Three sequences per step: one reads four tokens of a prompt, two decode.
class Batches {
public:
    Batches(const testing::SplitLlama& split, base::Engine& engine)
        : split_(split), engine_(engine) {
        start();
    }
    /// New sequences, with room for all their positions.
    void start() {
        caches_.clear();  // not assigned to: that would keep the old ones' memory
        for (int i = 0; i < 3; ++i) {
            caches_.emplace_back(split_.graph.config())
                .reserve(split_.graph.config().max_position_embeddings);
        }
    }
    void step() {
        batch_.clear();
        batch_.push_back({caches_[0], ids_, Logits::none});
        batch_.push_back({caches_[1], std::span(ids_).first(1), Logits::last_position});
        batch_.push_back({caches_[2], std::span(ids_).last(1), Logits::every_position});
        split_.graph.forward(engine_, workspace_, batch_, logits_);
    }

private:
    const testing::SplitLlama& split_;
    base::Engine& engine_;
    const std::vector<TokenId> ids_{1, 2, 3, 4};
    std::vector<KvCache> caches_;
    Workspace workspace_;
    std::vector<BatchEntry> batch_;
    std::vector<float> logits_;
};

/// The whole graph, in both orders of attention. Masks are made between the runs only, so nothing
/// depends on how fast.
TEST(OnlineMemory, MODEL_6_warm_batches_of_several_sequences_allocate_nothing) {
    if (SLIP_COUNTS_ALLOCATIONS == 0) GTEST_SKIP() << "this C library's cannot be counted";
    for (const auto draw : {testing::draw_llama, testing::draw_gpt2, testing::draw_phi}) {
        for (const Attention order : {Attention::fused, Attention::paper}) {
            testing::SyntheticModel model = draw(testing::draws_from(5));
            model.config.attention = order;
            const testing::SplitLlama split(model, testing::plan_for_all(model.config, 3));
            const std::size_t steps = model.config.max_position_embeddings / 4;
            SessionOptions options;
            options.stock.depth = steps * 6 * model.config.num_attention_heads + 1;
            options.stock.batch = options.stock.depth;  // none is made before all are spent
            const DavidModel david_model{split.david.weights(), split.david.set(),
                                         split.david.digest()};
            DavidSession david(david_model);
            InProcessTransport transport(david);
            const IntegrityCheck check(split.charlie.check_secret(),
                                       kernels::shapes_of(david_model.weights),
                                       david_model.set.planes);
            HybridEngine engine(split.charlie, david_model.weights, check, transport, options);
            Batches batches(split, engine);
            const auto steps_to_the_end = [&] {
                for (std::size_t i = 0; i < steps; ++i) batches.step();
            };
            engine.wait_until_ready(options.stock.depth);
            steps_to_the_end();
            batches.start();
            engine.wait_until_ready(options.stock.depth);
            EXPECT_EQ(allocations_of(steps_to_the_end), 0U);
        }
    }
}

/// The counter counts.
TEST(OnlineMemory, a_first_step_allocates) {
    if (SLIP_COUNTS_ALLOCATIONS == 0) GTEST_SKIP() << "this C library's cannot be counted";
    const testing::SyntheticModel llama = testing::random_llama(5);
    const testing::SplitLlama split(llama, testing::plan_for_all(llama.config, 3));
    testing::HybridRun run(split);
    Decoder decoder(split, run.engine);
    EXPECT_GT(allocations_of([&] { decoder.token(); }), 0U);
}

}  // namespace
}  // namespace slip::engines

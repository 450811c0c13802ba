// Blocks of lattice masks: what a stock hands out is what the reference makes, once, to all
// sessions of a process; and what a product that fails Charlie's own check does.
// test: threads, alone
// links: slip_split slip_protocol slip_reference
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "property_tests/generators/sanitizers.hpp"
#include "property_tests/masks/lattice_fixture.hpp"
#include "reference/lattice.hpp"
#include "reference/planes.hpp"

namespace slip::testing {
namespace {

using namespace masks;
using namespace protocol;
using base::GroupId;

TEST(LatticeStock, MASK_7_a_hint_is_the_product_of_the_weights_and_T_over_tau) {
    const LatticeModel model({{3, 7}});
    const reference::ParameterSet set = reference::paper_lattice();
    const reference::NegacyclicRing R(set.ring(), block);
    const auto T = reference::public_matrix(set, to_key(public_seed()), 7);
    const auto H = reference::multiply(R, model.matrices[0], T);
    const std::vector<std::uint8_t>& bytes = model.hints[0];
    ASSERT_EQ(bytes.size(), 3 * 8 * block * lattice_planes);
    for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t l = 0; l < 8; ++l) {
            for (std::size_t a = 0; a < block; ++a) {
                const std::size_t at = ((i * 8 + l) * block + a) * lattice_planes;
                const reference::Bytes entry(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                                             bytes.begin() + static_cast<std::ptrdiff_t>(at) + 5);
                const reference::Integer residue = reference::little_endian(entry);
                ASSERT_EQ(set.ring().multiply(residue, set.lattice->tau), H[i][l][a]);
            }
        }
    }
}

/// The masks of one block of a group are those of the reference, in what is sent and what is left.
void expect_reference_block(const LatticeModel& model, GroupId group,
                            const std::vector<std::uint8_t>& key, std::vector<Mask>&& masks) {
    const reference::ParameterSet set = reference::paper_lattice();
    const reference::NegacyclicRing R(set.ring(), block);
    const std::size_t n = model.weights()[group].cols(), m = model.weights()[group].rows();
    const auto T = reference::public_matrix(set, to_key(public_seed()), n);
    const auto H = reference::multiply(R, model.matrices[group], T);
    ASSERT_FALSE(masks.empty());
    const std::uint64_t number = masks.front().index() / block;
    auto expected = reference::lattice_block(set, T, H, to_key(key), number);
    for (Mask::Spent& spent : spend(std::move(masks))) {
        const std::uint64_t place = spent.index - number * block;
        ASSERT_LT(place, block);
        reference::OneTimeMask& own = expected.at(place);
        ASSERT_TRUE(own.fresh()) << "a mask that was handed out twice";
        EXPECT_EQ(residues_to_reference(spent.mask.span(), 1, lattice_planes).column(0),
                  own.mask(set.ring(), reference::Vector(n, 0)));
        // Whatever is added to the cancellation is seen in the product, if not modulo tau.
        const auto c = residues_to_reference(spent.cancellation.span(), 1, lattice_planes);
        EXPECT_EQ(own.unmask(set.ring(), c.column(0)), reference::Vector(m, 0));
    }
}

TEST(LatticeStock, MASK_7_equals_the_reference) {
    const LatticeModel model({{3, 7}, {2, 5}});
    LatticeOptions options = on_demand();
    const auto key = counting_key(9);
    options.keys.given_keys = key;
    const auto stock = model.stock(options);
    std::uint64_t number = 0;
    for (const GroupId group : {1U, 0U}) {
        std::vector<Mask> masks;
        stock->take(group, 20, masks);
        ASSERT_EQ(masks.front().index() / block, number++);
        expect_reference_block(model, group, key, std::move(masks));
    }
}

/// A hint that is opened chunk by chunk: `reads` counts, and chunks from `broken` on do not open.
LatticeGroup sealed(const LatticeModel& model, std::size_t g, std::atomic<std::size_t>& reads,
                    const std::atomic<std::size_t>& broken) {
    LatticeGroup group = model.groups()[g];
    const std::span<const std::uint8_t> plain = group.hint;
    static const std::vector<std::uint8_t> ciphertext(plain.size(), 0xa5);
    group.hint = std::span(ciphertext).first(plain.size());
    group.chunk_rows = 3;
    const std::size_t chunk = plain.size() / group.shape.rows * group.chunk_rows;
    group.open_hint = [=, &reads, &broken](std::size_t c, std::span<std::uint8_t> rows) {
        ++reads;
        if (c >= broken) throw BadInput("rows that do not open");
        const auto own = plain.subspan(c * chunk, std::min(chunk, plain.size() - c * chunk));
        ASSERT_EQ(rows.size(), own.size());
        std::copy(own.begin(), own.end(), rows.begin());
    };
    return group;
}

TEST(LatticeStock, MODEL_20_a_sealed_hint_gives_the_masks_of_the_open_one) {
    const LatticeModel model({{8, 7}});
    std::atomic<std::size_t> reads = 0, broken = 3;
    for (const std::size_t threads : {1U, 2U, 5U}) {
        LatticeOptions options = on_demand();
        options.threads = threads;
        const auto key = counting_key(9);
        options.keys.given_keys = key;
        LatticeStock stock(lattice_set, public_seed(), {sealed(model, 0, reads, broken)}, options);
        reads = 0;
        std::vector<Mask> masks;
        stock.take(0, 20, masks);
        EXPECT_EQ(reads, 3U);
        expect_reference_block(model, 0, key, std::move(masks));
    }
}

TEST(LatticeStock, MODEL_20_no_mask_of_a_hint_that_does_not_open_is_handed_out) {
    const LatticeModel model({{8, 7}});
    std::atomic<std::size_t> reads = 0, broken = 2;
    for (const std::size_t threads : {1U, 5U}) {
        LatticeOptions options;
        options.threads = threads;
        for (const bool ahead : {false, true}) {
            options.ahead = ahead;
            broken = 2;
            LatticeStock stock(lattice_set, public_seed(), {sealed(model, 0, reads, broken)},
                               options);
            std::vector<Mask> masks;
            EXPECT_THROW(stock.wait_until_ready(1), BadInput);
            EXPECT_THROW(stock.take(0, 1, masks), BadInput);
            EXPECT_TRUE(masks.empty());
            EXPECT_EQ(stock.stock().ready, 0U);
            broken = 3;  // the disk is there again
            stock.take(0, 1, masks);
            EXPECT_EQ(masks.size(), 1U);
        }
    }
}

TEST(LatticeStock, MASK_7_blocks_that_share_a_pass_equal_the_reference) {
    const LatticeModel model({{3, 7}, {2, 5}, {2, 7}, {4, 7}, {1, 7}, {5, 7}, {2, 5}});
    LatticeOptions options;
    const auto key = counting_key(9);
    options.keys.given_keys = key;
    const auto stock = model.stock(options);
    stock->wait_until_ready(20);
    EXPECT_EQ(stock->statistics().waited_for, 0U);
    for (GroupId group = 0; group < model.matrices.size(); ++group) {
        std::vector<Mask> masks;
        stock->take(group, 20, masks);
        expect_reference_block(model, group, key, std::move(masks));
    }
}

TEST(LatticeStock, MASK_8_products_are_exact_whatever_the_number_of_columns) {
    const LatticeModel model({{9, 30}, {4, 17}, {1, 1}});
    const auto stock = model.stock(on_demand());
    Connection connection(model, options_for(model, *stock));
    Random random(3);
    for (const std::size_t columns : {1U, 3U, 255U, 256U, 257U, 700U, 2U}) {
        for (GroupId group = 0; group < model.matrices.size(); ++group) {
            const reference::Matrix& w = model.matrices[group];
            Columns q = random_columns(w, columns, Fill::random, random, lattice_planes);
            for (std::int16_t& entry : q.q) entry = static_cast<std::int16_t>(entry % 880);
            ASSERT_EQ(to_reference(round(connection.charlie, group, q, w.rows())),
                      exact_products(w, q));
        }
    }
    const SupplyStatistics statistics = stock->statistics();
    EXPECT_EQ(statistics.used, 3U * (1 + 3 + 255 + 256 + 257 + 700 + 2));
    EXPECT_GE(statistics.made, statistics.used);
}

TEST(LatticeStock, MASK_9_sessions_share_blocks_and_no_index_is_used_twice) {
    const LatticeModel model({{3, 7}, {2, 5}});
    LatticeOptions options;
    options.threads = 2;
    const auto stock = model.stock(options);
    constexpr std::size_t threads = 3, takes = 40;
    std::vector<std::vector<std::uint64_t>> indices(threads);
    std::vector<std::thread> sessions;
    for (std::size_t t = 0; t < threads; ++t) {
        sessions.emplace_back([&, t] {
            Random random(t);
            for (std::size_t i = 0; i < takes; ++i) {
                std::vector<Mask> masks;
                const auto group = static_cast<GroupId>(random() % 2);
                stock->take(group, 1 + random() % (i % 10 == 0 ? 600 : 40), masks);
                for (Mask::Spent& spent : spend(std::move(masks))) {
                    indices[t].push_back(spent.index);
                    stock->recycle(group, std::move(spent));
                }
            }
        });
    }
    for (std::thread& session : sessions) session.join();
    std::set<std::uint64_t> all;
    std::size_t count = 0;
    for (const auto& own : indices) {
        all.insert(own.begin(), own.end());
        count += own.size();
    }
    EXPECT_EQ(all.size(), count);
    EXPECT_EQ(stock->statistics().used, count);
}

/// Whether anything is left of a mask that was made before a fork.
bool remembered(Mask&& mask) {
    const Mask::Spent spent = std::move(mask).spend();
    const auto set = [](std::uint8_t byte) { return byte != 0; };
    return std::ranges::any_of(spent.mask.span(), set) ||
           std::ranges::any_of(spent.cancellation.span(), set);
}

TEST(LatticeStock, MASK_9_a_forked_child_gets_no_mask) {
    const LatticeModel model({{3, 7}});
    const auto stock = model.stock({});
    std::vector<Mask> before;
    stock->take(0, 1, before);
    const std::uint64_t index = before[0].index();
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        int status = 1;
        try {
            std::vector<Mask> masks;
            stock->take(0, 1, masks);
        } catch (const InternalError&) {
            // AddressSanitizer's allocator has the pages: a child sees what was there.
            const bool own_pages = !under_address_sanitizer();
            status = remembered(std::move(before[0])) && own_pages ? 2 : 0;
        }
        ::_exit(status);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(remembered(std::move(before[0])));
    std::vector<Mask> after;
    stock->take(0, 1, after);
    EXPECT_NE(index, after[0].index());
}

TEST(LatticeStock, MASK_9_memory_is_bounded_and_too_little_of_it_is_refused) {
    const LatticeModel model({{3, 7}, {2, 5}, {4, 7}});
    LatticeOptions options = on_demand();
    options.memory = LatticeStock::least_memory(lattice_set, model.groups());
    EXPECT_EQ(options.memory, (10 + 7 + 11) * 5 * block / 2 + 11 * 5 * block);
    const auto stock = model.stock(options);
    for (int round = 0; round < 700; ++round) {
        for (const GroupId group : {0U, 1U, 2U}) {
            std::vector<Mask> masks;
            stock->take(group, 1, masks);
            for (Mask::Spent& spent : spend(std::move(masks))) {
                stock->recycle(group, std::move(spent));
            }
        }
        EXPECT_LE(stock->memory(), options.memory);
    }
    options.memory -= 1;
    EXPECT_THROW(model.stock(options), BadInput);
}

TEST(LatticeStock, MASK_9_a_thread_fills_the_stock) {
    const LatticeModel model({{3, 7}, {2, 5}});
    const auto stock = model.stock({});
    stock->wait_until_ready(64);
    EXPECT_GE(stock->stock().ready, 64U);
    EXPECT_EQ(stock->stock().full, block);
    std::vector<Mask> masks;
    stock->take(0, 10, masks);
    EXPECT_EQ(stock->statistics().waited_for, 0U);
}

TEST(LatticeStock, MASK_9_without_a_thread_whoever_waits_fills_the_stock) {
    const LatticeModel model({{3, 7}, {2, 5}, {4, 7}});
    LatticeOptions options = on_demand();
    options.memory = 4 * LatticeStock::least_memory(lattice_set, model.groups());
    const auto stock = model.stock(options);
    stock->wait_until_ready(100);
    EXPECT_GE(stock->stock().ready, 100U);
    const std::uint64_t made = stock->statistics().made;
    std::vector<Mask> masks;
    for (const GroupId group : {0U, 1U, 2U}) stock->take(group, 100, masks);
    EXPECT_EQ(stock->statistics().waited_for, 0U);
    EXPECT_EQ(stock->statistics().made, made);
}

/// Columns of the first group, within the norm of activations: enough for a damaged entry to meet
/// an entry of the secret that is not zero, but for a chance of (3/8)^30.
Columns small_columns(const LatticeModel& model) {
    Random random(7);
    Columns columns = random_columns(model.matrices[0], 30, Fill::random, random, lattice_planes);
    for (std::int16_t& entry : columns.q) entry = static_cast<std::int16_t>(entry % 880);
    return columns;
}

/// A round of the first group with the hints as they are.
Products products_with(const LatticeModel& model, LatticeStock& stock) {
    Connection connection(model, options_for(model, stock));
    try {
        return round(connection.charlie, 0, small_columns(model), model.weights()[0].rows());
    } catch (...) {
        EXPECT_FALSE(connection.charlie.alive());
        throw;
    }
}

/// Where the hint is what was split, something else is damaged.
TEST(LatticeStock, MODEL_7_MASK_10_a_hint_is_examined_when_a_product_is_wrong) {
    LatticeModel model({{3, 7}});
    std::vector<LatticeGroup> groups = model.groups();
    int examined = 0;
    bool damaged = false;
    groups[0].require_hint = [&] {
        ++examined;
        if (damaged) throw BadInput("rows 0 to 2 are not what was split");
    };
    const auto round_of_a_new_stock = [&] {
        LatticeStock stock(lattice_set, public_seed(), groups, on_demand());
        products_with(model, stock);
    };
    round_of_a_new_stock();
    EXPECT_EQ(examined, 0);
    model.hints[0][4] ^= 0x40;
    EXPECT_THROW(round_of_a_new_stock(), InternalError);
    damaged = true;
    EXPECT_THROW(round_of_a_new_stock(), BadInput);
    EXPECT_EQ(examined, 2);
}

/// Changes of the lower bytes may add so small a multiple of tau that it vanishes, as noise does.
TEST(LatticeStock, MASK_10_a_product_that_a_damaged_hint_changes_is_refused) {
    LatticeModel model({{3, 7}});
    const auto exact = exact_products(model.matrices[0], small_columns(model));
    Random random(5);
    int noticed = 0;
    for (std::size_t trial = 0; trial < 60; ++trial) {
        const std::size_t byte = trial % 5;  // of an integer
        const std::size_t at = random() % (model.hints[0].size() / 5) * 5 + byte;
        const auto bit = static_cast<std::uint8_t>(1U << (random() % 7));
        model.hints[0][at] ^= bit;
        const auto stock = model.stock(on_demand());
        try {
            EXPECT_EQ(to_reference(products_with(model, *stock)), exact);
            EXPECT_LT(byte, 3U);
        } catch (const InternalError&) {
            ++noticed;
        }
        model.hints[0][at] ^= bit;
    }
    EXPECT_GE(noticed, 24);
}

TEST(LatticeStock, MASK_10_a_wrong_reply_is_rejected_before_products_are_checked) {
    const LatticeModel model({{3, 7}});
    const auto stock = model.stock(on_demand());
    Connection connection(model, options_for(model, *stock), [](Bytes answer) {
        if (answer.size() > 12) answer.back() ^= std::byte{1};
        return answer;
    });
    EXPECT_THROW(round(connection.charlie, 0, some_columns(model), 3), IntegrityError);
}

}  // namespace
}  // namespace slip::testing

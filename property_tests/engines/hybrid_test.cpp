// The integer engines (LIN-2 to LIN-4): hybrid, unsplit and the integer model over Z give the same.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "optimized/engines/engines.hpp"
#include "optimized/engines/hybrid_engine.hpp"
#include "optimized/engines/low_rank_factors.hpp"
#include "optimized/graph/generate.hpp"
#include "optimized/protocol/frames.hpp"
#include "property_tests/generators/left_factor.hpp"
#include "property_tests/generators/product_fixture.hpp"
#include "property_tests/generators/synthetic_model.hpp"
#include "property_tests/generators/values.hpp"
#include "reference/encoding.hpp"
#include "reference/linear.hpp"

namespace slip::testing {
namespace {

using namespace artifact;
using namespace base;
using namespace engines;
using namespace protocol;
using base::Engine;

namespace ref = reference;

/// Applies one group to `input` and returns the members' outputs.
std::vector<std::vector<float>> apply_group(base::Engine& engine, const CharlieGroup& group,
                                            GroupId id, MatrixView<const float> input) {
    std::vector<std::vector<float>> outputs;
    std::vector<MatrixView<float>> views;
    for (const CharlieMember& member : group.members) {
        outputs.emplace_back(input.rows() * member.shape.m, -1.0F);
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        views.emplace_back(outputs[i].data(), input.rows(), group.members[i].shape.m);
    }
    engine.apply(id, input, views);
    return outputs;
}

RC_GTEST_PROP(Model, LIN_4_hybrid_logits_equal_unsplit_logits_bit_for_bit, ()) {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>().as("seed of the model");
    const SyntheticModel model = random_model(seed);
    const auto rank = *rc::gen::element<std::size_t>(0, 1, 2, 7, 1000).as("rank");
    const SplitLlama split(model, plan_for_all(model.config, rank));
    const auto ids = random_ids(seed, 8, model.config.vocab_size);
    HybridRun hybrid(split);
    UnsplitEngine unsplit(split.charlie, split.david);

    const auto found = logits_in_calls(split.graph, hybrid.engine, ids, 5);

    RC_ASSERT(bits_of(found) == bits_of(logits_in_calls(split.graph, unsplit, ids, 5)));
    // MODEL-5: nor does it matter how the tokens are batched.
    RC_ASSERT(bits_of(found) == bits_of(logits_in_calls(split.graph, hybrid.engine, ids, 1)));
}

/// Inputs of one token: zeros, one-hot, extremes, random.
std::vector<float> input_of_kind(int kind, std::size_t n, std::mt19937_64& bits) {
    std::vector<float> x(n, 0.0F);
    std::normal_distribution<float> normal;
    if (kind == 1) x[bits() % n] = -2.5F;
    if (kind == 2) {
        for (float& value : x) value = bits() % 2 == 0 ? 3.0e38F : -3.0e38F;
    }
    if (kind == 3) {
        for (float& value : x) value = normal(bits);
    }
    return x;
}

RC_GTEST_PROP(Model, LIN_2_LIN_3_hybrid_equals_the_integer_model_over_Z, ()) {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>().as("seed of the model");
    const SyntheticModel model = random_model(seed);
    const auto rank = *any_size(0, 5).as("rank");
    const SplitLlama split(model, plan_for_all(model.config, rank));
    HybridRun hybrid(split);
    const auto id =
        static_cast<GroupId>(*any_size(0, split.charlie.groups().size() - 1).as("group"));
    const CharlieGroup& group = split.charlie.groups()[id];
    std::mt19937_64 bits(seed);
    std::vector<float> input;
    for (const int kind : {0, 1, 2, 3}) {
        const auto token = input_of_kind(kind, group.n, bits);
        input.insert(input.end(), token.begin(), token.end());
    }

    const MatrixView<const float> tokens(input.data(), 4, group.n);
    const auto outputs = apply_group(hybrid.engine, group, id, tokens);

    std::size_t first_row = 0;
    for (std::size_t i = 0; i < group.members.size(); ++i) {
        const CharlieMember& member = group.members[i];
        const std::size_t m = member.shape.m;
        const ref::IntegerModel integers{
            matrix_of(member.a),
            to_reference(member.b),
            to_reference(split.david.weights()[id].rows_from(first_row, m)),
            {member.row_scale.begin(), member.row_scale.end()}};
        for (std::size_t t = 0; t < 4; ++t) {
            const auto quantised = ref::quantise(tokens.row(t), group.activation_norm);
            const auto y = ref::unsplit_output(integers, quantised.q);
            const auto expected = ref::dequantise(y, integers.row_scale, quantised.scale);
            const std::vector<float> found(
                outputs[i].begin() + static_cast<std::ptrdiff_t>(t * m),
                outputs[i].begin() + static_cast<std::ptrdiff_t>((t + 1) * m));
            RC_ASSERT(bits_of(found) == bits_of(expected));
        }
        first_row += m;
    }
}

TEST(Model, ATTN_1_LIN_4_hybrid_equals_unsplit_in_the_papers_order) {
    for (SyntheticModel model : {random_llama(11), random_gpt2(12), random_phi(13)}) {
        model.config.attention = Attention::paper;
        const SplitLlama split(model, plan_for_all(model.config, 2));
        EXPECT_EQ(split.charlie.config().attention, Attention::paper);
        UnsplitEngine unsplit(split.charlie, split.david);
        HybridRun hybrid(split);
        const auto ids = random_ids(11, 6, model.config.vocab_size);

        const auto expected = logits_in_calls(split.graph, unsplit, ids, 4);
        const auto found = logits_in_calls(split.graph, hybrid.engine, ids, 4);

        EXPECT_EQ(bits_of(found), bits_of(expected));
        // ATTN-3: every masked copy is a column with a mask of its own.
        std::uint64_t columns = 0;
        for (const GroupShape& group : graph::groups_of(model.config)) {
            columns += group.columns_per_token * ids.size();
        }
        EXPECT_EQ(hybrid.engine.statistics().columns, columns);
    }
}

TEST(Model, LIN_4_is_sensitive_to_the_low_rank_part) {
    // The comparison would notice a wrong A: the mutant drops the last component of one row.
    const SyntheticModel model = random_llama(5);
    const SplitLlama split(model, plan_for_all(model.config, 3));
    UnsplitEngine unsplit(split.charlie, split.david);
    const CharlieGroup& group = split.charlie.groups()[0];
    std::mt19937_64 bits(5);
    const auto input = input_of_kind(3, group.n, bits);
    const auto outputs = apply_group(unsplit, group, 0, {input.data(), 1, group.n});

    const CharlieMember& member = group.members[0];
    const auto w = split.david.weights()[0].rows_from(0, member.shape.m);
    ref::IntegerModel mutant{matrix_of(member.a),
                             to_reference(member.b),
                             to_reference(w),
                             {member.row_scale.begin(), member.row_scale.end()}};
    mutant.A(0, member.rank - 1) = 0;
    const auto quantised = ref::quantise(input, group.activation_norm);
    const auto y = ref::unsplit_output(mutant, quantised.q);
    const auto expected = ref::dequantise(y, mutant.row_scale, quantised.scale);
    EXPECT_NE(outputs[0][0], expected[0]);
    EXPECT_EQ(outputs[0][1], expected[1]);
}

TEST(Model, ENC_1_an_activation_that_is_not_finite_is_refused_before_anything_is_sent) {
    const SyntheticModel model = random_llama(2);
    const SplitLlama split(model, plan_for_all(model.config, 2));
    HybridRun hybrid(split);
    const std::size_t sent = hybrid.transport.sent.size();
    const CharlieGroup& group = split.charlie.groups()[0];
    std::vector<float> input(2 * group.n, 1.0F);
    input.back() = NAN;
    try {
        apply_group(hybrid.engine, group, 0, {input.data(), 2, group.n});
        FAIL() << "a NaN was accepted";
    } catch (const BadInput& error) {
        EXPECT_NE(std::string(error.what()).find("activation is not finite"), std::string::npos);
    }
    EXPECT_EQ(hybrid.transport.sent.size(), sent);
    EXPECT_TRUE(hybrid.engine.alive());
}

TEST(Model, MODEL_1_every_product_is_masked_even_of_rank_0) {
    const SyntheticModel model = random_llama(3);
    const SplitLlama split(model, {});  // every K is 0
    HybridRun hybrid(split);
    const auto ids = random_ids(3, 1, model.config.vocab_size);
    logits_in_calls(split.graph, hybrid.engine, ids, 1);

    const auto headers = applies_in(hybrid.transport);
    ASSERT_EQ(headers.size(), split.charlie.groups().size());
    for (GroupId group = 0; group < headers.size(); ++group) {
        EXPECT_EQ(headers[group].group, group);
        EXPECT_EQ(headers[group].columns, 1U);
    }
    // The zero token's column is its mask: uniform below every prime, so a byte is 0 with odds of
    // one in at least 233.
    const CharlieGroup& group = split.charlie.groups()[0];
    const std::vector<float> zeros(group.n, 0.0F);
    apply_group(hybrid.engine, group, 0, {zeros.data(), 1, group.n});
    const auto payload = std::span(hybrid.transport.sent.back()).subspan(wire::length_bytes);
    const auto header = wire::decode_columns_header(wire::FrameType::apply, payload);
    const auto residues =
        wire::decode_residues(payload, header, split.charlie.set().planes, group.n);
    EXPECT_LE(std::count(residues.begin(), residues.end(), 0),
              static_cast<std::ptrdiff_t>(4 + residues.size() / 16));
}

TEST(Model, MODEL_3_prefill_sends_one_column_per_token_each_with_its_own_mask) {
    const SyntheticModel model = random_llama(4);
    const SplitLlama split(model, plan_for_all(model.config, 2));
    HybridRun hybrid(split);
    const std::vector<TokenId> ids(6, 3);  // equal tokens: equal columns but for their masks
    logits_in_calls(split.graph, hybrid.engine, ids, ids.size());

    const auto headers = applies_in(hybrid.transport);
    ASSERT_EQ(headers.size(), split.charlie.groups().size());
    for (const auto& header : headers) EXPECT_EQ(header.columns, ids.size());

    const std::size_t n = split.charlie.groups()[0].n;
    const auto payload = std::span(hybrid.transport.sent[1]).subspan(wire::length_bytes);
    const std::size_t planes = split.charlie.set().planes;
    const auto residues = wire::decode_residues(payload, headers[0], planes, n);
    const MatrixView<const std::uint8_t> columns(residues.data(), ids.size(), planes * n);
    for (std::size_t a = 0; a < ids.size(); ++a) {
        for (std::size_t b = 0; b < a; ++b) {
            EXPECT_FALSE(
                std::equal(columns.row(a).begin(), columns.row(a).end(), columns.row(b).begin()));
        }
    }
}

/// Over the protocol the answer is that of the unsplit model, with guesses and without; and each of
/// David's messages has one column or four, as every token but the last few has room for.
TEST(Model, MODEL_21_LIN_4_guesses_change_messages_and_no_bit) {
    SyntheticModel model = random_llama(8);
    model.config.max_position_embeddings = 60;
    const SplitLlama split(model, plan_for_all(model.config, 2));
    UnsplitEngine unsplit(split.charlie, split.david);
    HybridRun hybrid(split);
    SamplingOptions options;
    options.max_tokens = 40;
    options.logit_bias = {{split.charlie.config().eos_token_id.value(), -1e6}};
    const auto answer = [&](base::Engine& engine) {
        std::vector<float> all;
        const auto ids =
            graph::generate(split.graph, engine, std::vector<TokenId>{1, 2, 1, 2, 1, 2}, options,
                            [&](TokenId, std::span<const float> logits) {
                                all.insert(all.end(), logits.begin(), logits.end());
                                return true;
                            });
        EXPECT_EQ(ids.size(), 40U);
        return std::pair(ids, bits_of(all));
    };
    const auto expected = answer(unsplit);
    options.guesses = 3;
    EXPECT_EQ(answer(hybrid.engine), expected);
    std::size_t messages = 0;
    std::size_t of_four = 0;
    for (const auto& header : applies_in(hybrid.transport)) {
        if (header.group != 0) continue;
        ++messages;
        of_four += static_cast<std::size_t>(header.columns == 4);
        EXPECT_TRUE(messages == 1 || header.columns <= 4) << header.columns;
    }
    EXPECT_LT(messages, 40U)
        << "a small model that is always asked for the likeliest token repeats";
    EXPECT_GT(of_four, 0U);
}

TEST(Model, MODEL_3_a_batch_that_outgrows_a_message_is_cut_into_several) {
    const SyntheticModel model = random_llama(6);
    const SplitLlama split(model, plan_for_all(model.config, 1));
    HybridRun hybrid(split);
    UnsplitEngine unsplit(split.charlie, split.david);
    const CharlieGroup& group = split.charlie.groups()[1];
    const std::size_t largest = hybrid.engine.max_columns_of(1);
    std::mt19937_64 bits(6);
    std::normal_distribution<float> normal;
    std::vector<float> input((largest + 3) * group.n);
    for (float& value : input) value = normal(bits);
    const MatrixView<const float> tokens(input.data(), largest + 3, group.n);

    const auto found = apply_group(hybrid.engine, group, 1, tokens);

    const auto headers = applies_in(hybrid.transport);
    ASSERT_EQ(headers.size(), 2U);
    EXPECT_EQ(headers[0].columns, largest);
    EXPECT_EQ(headers[1].columns, 3U);
    EXPECT_EQ(bits_of(found[0]), bits_of(apply_group(unsplit, group, 1, tokens)[0]));
}

TEST(Model, MODEL_6_the_online_path_does_not_read_the_offloaded_weights) {
    const SyntheticModel model = random_llama(7);
    const SplitLlama split(model, plan_for_all(model.config, 2));
    // Charlie's work ahead of use gets a copy of W_D, which the test ruins once the masks are
    // ready: the bytes, and what the products read.
    std::vector<std::vector<std::int8_t>> copies;
    for (const auto& w : split.david.weights()) {
        copies.emplace_back(w.elements().begin(), w.elements().end());
    }
    kernels::OffloadedWeights weights;
    for (std::size_t g = 0; g < copies.size(); ++g) {
        const auto w = split.david.weights()[g];
        weights.emplace_back(copies[g].data(), w.rows(), w.cols());
    }
    SessionOptions options;
    options.stock.depth = 4;
    HybridRun hybrid(split, weights, options);
    UnsplitEngine unsplit(split.charlie, split.david);
    hybrid.engine.wait_until_ready(options.stock.depth);
    for (auto& copy : copies) std::fill(copy.begin(), copy.end(), std::int8_t{1});
    for (const kernels::WeightMatrix& w : weights) {
        const auto packed = w.packed();
        std::fill_n(const_cast<std::int8_t*>(packed.data()), packed.size(), std::int8_t{1});
    }

    const auto ids = random_ids(7, options.stock.depth, model.config.vocab_size);
    const auto expected = logits_in_calls(split.graph, unsplit, ids, 1);
    EXPECT_EQ(bits_of(logits_in_calls(split.graph, hybrid.engine, ids, 1)), bits_of(expected));
    // Masks made from the ruined copy show that it was the one that the session had.
    EXPECT_NE(bits_of(logits_in_calls(split.graph, hybrid.engine, ids, 1)), bits_of(expected));
}

TEST(Model, INTEG_5_no_output_is_written_from_a_rejected_reply) {
    const SyntheticModel model = random_llama(8);
    const SplitLlama split(model, plan_for_all(model.config, 2));
    const auto flip = [](const wire::ColumnsHeader&, std::span<std::uint8_t> residues) {
        residues.back() = residues.back() == 0 ? 1 : 0;
    };
    HybridRun hybrid(split, {}, flip);
    const CharlieGroup& group = split.charlie.groups()[0];
    const std::vector<float> input(group.n, 1.0F);
    std::vector<std::vector<float>> outputs;
    std::vector<MatrixView<float>> views;
    for (const CharlieMember& member : group.members) outputs.emplace_back(member.shape.m, 7.0F);
    for (auto& output : outputs) views.emplace_back(output.data(), 1, output.size());

    EXPECT_THROW(hybrid.engine.apply(0, {input.data(), 1, group.n}, views), IntegrityError);

    for (const auto& output : outputs) {
        EXPECT_EQ(output, std::vector<float>(output.size(), 7.0F));
    }
    EXPECT_FALSE(hybrid.engine.alive());
    EXPECT_EQ(hybrid.engine.statistics().checks, 0U);
    EXPECT_THROW(hybrid.engine.apply(0, {input.data(), 1, group.n}, views), ProtocolError);
}

TEST(Model, MODEL_4_engines_refuse_shapes_that_are_not_the_groups) {
    const SyntheticModel model = random_llama(9);
    const SplitLlama split(model, plan_for_all(model.config, 1));
    HybridRun hybrid(split);
    UnsplitEngine unsplit(split.charlie, split.david);
    FloatEngine in_float(graph::groups_of(model.config), model.lookup());
    const std::size_t n = split.charlie.groups()[0].n;
    std::vector<float> input(n + 1, 1.0F);
    for (base::Engine* engine :
         std::initializer_list<base::Engine*>{&hybrid.engine, &unsplit, &in_float}) {
        EXPECT_THROW(engine->apply(0, {input.data(), 1, n + 1}, {}), InternalError);
        EXPECT_THROW(engine->apply(0, {input.data(), 1, n}, {}), InternalError);
        EXPECT_THROW(engine->apply(1000, {input.data(), 1, n}, {}), InternalError);
    }
}

/// z has as many limbs as the activations make of B, and not only B's own norm: of rows this wide,
/// three are too few. What the uppermost limb loses is a multiple of 2^44: an exponent of 20 would
/// hide it, mod 2^64.
TEST(LowRank, DECO_7_LIN_2_wide_rows_take_the_limbs_that_the_largest_activations_need) {
    constexpr unsigned exponent = 10;
    for (const std::size_t n : {std::size_t{1} << 18, std::size_t{1} << 20}) {
        const std::vector<std::int16_t> b(n, parameters::largest_factor);
        const std::vector<std::int16_t> a{parameters::largest_factor};
        const std::vector<std::int8_t> exponents{exponent};
        const std::vector<std::int16_t> q(n, parameters::largest_activation_norm);
        CharlieGroup group{
            .n = n, .activation_norm = parameters::largest_activation_norm, .members = {}};
        CharlieMember& member = group.members.emplace_back();
        member.shape.m = 1;
        member.rank = 1;
        member.a = {{a.data(), 1, 1}, exponents};
        member.b = {b.data(), 1, n};
        const LowRankFactors factors({group});
        const std::int64_t y_david = 5;
        std::int64_t z = 0;
        std::int64_t y = 0;
        factors.inner(0, 0, q.data(), &z);
        factors.outer(0, 0, &z, &y_david, &y);
        const std::int64_t exact_z = std::int64_t{b[0]} * q[0] * static_cast<std::int64_t>(n);
        EXPECT_EQ(z, exact_z);
        constexpr std::uint64_t entry = std::uint64_t{parameters::largest_factor} << exponent;
        const std::uint64_t product = entry * static_cast<std::uint64_t>(exact_z);  // wraps: DECO-7
        EXPECT_EQ(static_cast<std::uint64_t>(y),
                  (std::uint64_t{5} << parameters::residual_shift) + product);
    }
}

TEST(Model, LIN_2_multiplications_are_counted_as_documented) {
    CharlieGroup group;
    group.n = 10;
    group.members.resize(2);
    group.members[0].shape.m = 3;
    group.members[0].rank = 2;
    group.members[1].shape.m = 4;
    // n + kappa (n + M) + k (n + m) + 2 M = 10 + 8 * 17 + 2 * 13 + 14.
    EXPECT_EQ(charlie_multiplications_per_column(group, *parameters::set_named("paper")), 186U);
    // MASK-10 adds a multiplication per input and per row.
    const std::size_t checked = group.n + group.product().rows;
    EXPECT_EQ(charlie_multiplications_per_column(group, *parameters::set_named("paper-lattice")),
              186U + checked);
    EXPECT_EQ(group.product().multiplications(), 70U);
    // Hidden: no rank; ell more rows to check; V^T y_U for up to 256 rows, and 6 per row to decode.
    group.members[0].rank = 0;
    EXPECT_EQ(charlie_multiplications_per_column(group, *parameters::set_named("hidden")),
              10U + 8 * (17 + 2304) + 14 + 17 + 25344 + 12032 + 6 * 7);
}

}  // namespace
}  // namespace slip::testing

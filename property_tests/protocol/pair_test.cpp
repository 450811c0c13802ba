// Making, writing and reading pairs (rho, s), compared with reference/.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <utility>

#include "optimized/protocol/integrity.hpp"
#include "optimized/protocol/pair.hpp"
#include "property_tests/generators/profiles.hpp"
#include "property_tests/protocol/watched_secrets.hpp"
#include "reference/integrity.hpp"

namespace slip::fixture {
namespace {

using namespace protocol;
using base::SecretBuffer;

PairSubject subject_of(const Model& model) {
    PairSubject subject{model.david.profile, model.david.digest, {}};
    for (const auto& group : model.weights()) subject.groups.push_back(group.shape());
    return subject;
}

SecretBuffer<std::byte> copy_of(std::span<const std::byte> bytes) {
    SecretBuffer<std::byte> copy(bytes.size());
    std::copy(bytes.begin(), bytes.end(), copy.data());
    return copy;
}

constexpr std::size_t key_at = 48;

/// The residues of s in a file, group after group, as the reference computes them from its key.
template <class P>
Residues<P> expected_s(const Pair& pair, const Model& model) {
    std::array<std::uint8_t, 32> key{};
    std::memcpy(key.data(), pair.file().data() + key_at, key.size());
    Residues<P> all;
    for (std::size_t g = 0; g < model.weights().size(); ++g) {
        const auto secret =
            reference::draw_integrity_key(ring<P>().modulus(), to_reference_key(key), g,
                                          to_reference(model.weights()[g]), kappa<P>);
        for (std::size_t k = 0; k < kappa<P>; ++k) {
            for (std::size_t j = 0; j < model.weights()[g].cols(); ++j) {
                all.push_back(secret.s(j, k).template convert_to<typename P::Residue>());
            }
        }
    }
    return all;
}

PROFILE_PROP(Pairs, INTEG_1_INTEG_2_a_pair_made_in_pieces_equals_the_references) {
    const std::vector<Shape> shapes{{*any_size(1, 9), *any_size(1, 9)},
                                    {*any_size(1, 9), *any_size(1, 9)}};
    const Model model(shapes, drawn_weights(shapes), profile_of<P>);
    PairBuilder builder(subject_of(model));
    for (const auto& group : model.weights()) {
        for (std::size_t row = 0; row < group.rows();) {
            const std::size_t count = *any_size(1, group.rows() - row).as("rows of a piece");
            builder.append(kernels::WeightMatrix(group.row(row).data(), count, group.cols()));
            row += count;
        }
    }
    const Pair pair = std::move(builder).finish();
    const Residues<P> expected = expected_s<P>(pair, model);
    const std::size_t s_at = pair.file().size() - 32 - std::span(expected).size_bytes();
    RC_ASSERT(std::memcmp(pair.file().data() + s_at, expected.data(),
                          std::span(expected).size_bytes()) == 0);
}

PROFILE_TEST(Pairs, INTEG_3_a_pair_read_from_a_file_gives_the_same_verdicts) {
    const base::Convolution image{
        .H = 4, .W = 5, .C = 2, .kH = 3, .kW = 3, .N = 3, .stride = 1, .padding = 1};
    const Model model({{6, 5}, shape_of(image)}, Fill::random, 1, profile_of<P>);
    const Pair written = Pair::draw(subject_of(model), model.weights());
    const Pair pair(copy_of(written.file()), subject_of(model), "x");
    Random random(2);
    auto vectors = pair.vectors<P>();
    ASSERT_EQ(vectors.size(), 2U);
    for (base::GroupId g = 0; g < 2; ++g) {
        Life life;
        const IntegrityCheck<P> check(subject_of(model).groups[g], g, std::move(vectors[g]), life);
        const auto& w = model.weights()[g];
        const auto masked =
            fill<typename P::Residue>(Fill::random, 2 * w.shape().inputs(), 0, P::p - 1, random);
        Residues<P> reply(2 * w.shape().outputs());
        w.apply<P>(masked, reply);
        EXPECT_TRUE(check.accepts(masked, reply));
        for (auto& residue : reply) {
            const auto honest = std::exchange(residue, residue == 0 ? 1 : residue - 1);
            EXPECT_FALSE(check.accepts(masked, reply));
            residue = honest;
        }
    }
}

TEST(Pairs, INTEG_1_every_pair_has_a_key_of_its_own) {
    const Model model({{6, 5}}, Fill::random, 1);
    const auto one = Pair::draw(subject_of(model), model.weights());
    const auto other = Pair::draw(subject_of(model), model.weights());
    EXPECT_NE(std::memcmp(one.file().data() + key_at, other.file().data() + key_at, 32), 0);
}

/// The error of reading `file`; empty if there is none.
std::string refusal(SecretBuffer<std::byte> file, const PairSubject& subject) {
    try {
        Pair pair(std::move(file), subject, "state/x.free");
    } catch (const BadInput& error) {
        const std::string message = error.what();
        EXPECT_TRUE(message.starts_with("state/x.free: ")) << message;
        return message.substr(std::strlen("state/x.free: "));
    }
    return {};
}

TEST(Pairs, INTEG_2_only_a_complete_pair_of_this_artifact_is_read) {
    const Model model({{6, 5}, {2, 3}}, Fill::random, 1);
    const PairSubject subject = subject_of(model);
    const Pair pair = Pair::draw(subject, model.weights());
    const std::size_t size = pair.file().size();
    EXPECT_EQ(size, 80U + 2 * 8 + 2 * (5 + 3) * 4 + 32);
    EXPECT_EQ(refusal(copy_of(pair.file()), subject), "");
    const std::vector<std::pair<std::size_t, std::string>> fields{
        {0, "magic"},           {8, "version"},           {10, "profile"},          {11, "byte 11"},
        {12, "groups"},         {16, "digest"},           {47, "digest"},           {48, "SHA-256"},
        {79, "SHA-256"},        {80, "shape of group 0"}, {92, "shape of group 1"}, {96, "SHA-256"},
        {size - 33, "SHA-256"}, {size - 32, "SHA-256"},   {size - 1, "SHA-256"}};
    for (const auto& [at, field] : fields) {
        auto changed = copy_of(pair.file());
        changed[at] ^= std::byte{1};
        EXPECT_TRUE(refusal(std::move(changed), subject).starts_with(field + ": expected ")) << at;
    }
    for (std::size_t length = 0; length < size; ++length) {
        EXPECT_NE(refusal(copy_of(pair.file().first(length)), subject), "") << length;
    }
    auto longer = SecretBuffer<std::byte>(size + 1);
    std::copy(pair.file().begin(), pair.file().end(), longer.data());
    EXPECT_TRUE(refusal(std::move(longer), subject).starts_with("length: "));

    PairSubject other = subject;
    other.profile = Profile::p61;
    EXPECT_TRUE(refusal(copy_of(pair.file()), other).starts_with("profile: "));
    other = subject;
    other.digest[31] ^= 1;
    EXPECT_TRUE(refusal(copy_of(pair.file()), other).starts_with("digest: "));
}

TEST(Pairs, INTEG_2_a_pair_is_made_of_whole_groups) {
    const Model model({{6, 5}, {2, 3}}, Fill::random, 1);
    const auto rows = [&](std::size_t g, std::size_t count) {
        return kernels::WeightMatrix(model.weights()[g].data(), count, model.weights()[g].cols());
    };
    PairBuilder builder(subject_of(model));
    EXPECT_THROW(builder.append(rows(1, 1)), InternalError) << "another group";
    builder.append(rows(0, 4));
    EXPECT_THROW(builder.append(rows(0, 3)), InternalError) << "too many rows";
    builder.append(rows(0, 2));
    EXPECT_THROW(std::move(builder).finish(), InternalError) << "a group is missing";
}

TEST(Pairs, MASK_6_no_memory_that_is_freed_holds_a_pairs_key_or_rho) {
    const Model model({{64, 5}}, Fill::random, 1);
    const PairSubject subject = subject_of(model);
    auto pair = std::make_optional(Pair::draw(subject, model.weights()));
    std::vector<std::uint32_t> key(8);
    std::memcpy(key.data(), pair->file().data() + key_at, 32);
    freed_unwiped = 0;
    const FreedMemory watch(key);
    {
        const Pair read(copy_of(pair->file()), subject, "x");
        const auto vectors = read.vectors<P31>();
        pair.reset();
    }
    EXPECT_EQ(FreedMemory::holding(), 0);
    EXPECT_EQ(freed_unwiped, 0);
    EXPECT_EQ(copies_of(key), 0);
}

}  // namespace
}  // namespace slip::fixture

// What David sees: uniform residues, no mask twice, a schedule that depends on shapes only, and
// errors that name no residue.
// test: threads
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <vector>

#include "optimized/masks/keystream.hpp"
#include "property_tests/generators/protocol_fixture.hpp"
#include "property_tests/protocol/uniformity.hpp"

namespace slip::testing {
namespace {

namespace wire = protocol::wire;

// ---- one-time masks over everything that can happen

/// Activations of zero show the masks themselves. However sessions end, no column is ever equal to
/// another: by honest rounds, lost replies, rejects, misuse and new sessions.
TEST(Masks, MASK_5_SESS_5_no_mask_is_ever_sent_twice) {
    const Model model({{5, 8}, {3, 8}}, Fill::random, 1);
    std::set<Residues> distinct;
    std::size_t sent = 0;
    const auto collect = [&](const RecordingTransport& transport) {
        for (const auto& masked : transport.masked_inputs()) {
            for (std::size_t at = 0; at < masked.size(); at += 4 * 8) {
                distinct.emplace(masked.begin() + static_cast<std::ptrdiff_t>(at),
                                 masked.begin() + static_cast<std::ptrdiff_t>(at + 4 * 8));
                ++sent;
            }
        }
    };
    Random random(3);
    for (int session = 0; session < 60; ++session) {
        const int ending = session % 4;
        const int last = uniform(random, 0, 8);
        protocol::SessionOptions options = stock_of(session % 3 == 0 ? 0 : 6);
        options.keys.blocks_per_key = session % 2 == 0 ? 7 : std::uint64_t{1} << 32;
        int answers = -1;  // READY is not counted
        Connection connection(model, options, [&](Bytes answer) {
            if (answers++ < last) return answer;
            if (ending == 1) answer.back() ^= std::byte{1};              // a wrong residue
            if (ending == 2) answer.resize(7);                           // a lost connection
            if (ending == 3) return wire::encode_refuse(Refusal::busy);  // a refusal
            return answer;
        });
        try {
            for (int i = 0; i <= last; ++i) {
                const std::size_t b = uniform<std::size_t>(random, 1, 4);
                const Columns zeros(b, 8, std::vector<std::int16_t>(b * 8, 0));
                const auto group = static_cast<std::uint32_t>(i % 2);
                round(connection.charlie, group, zeros, model.matrices[group].rows());
            }
            EXPECT_EQ(ending, 0);
        } catch (const Error&) {
            EXPECT_NE(ending, 0);
        }
        collect(connection.transport);
    }
    EXPECT_GT(sent, 400U);
    EXPECT_EQ(distinct.size(), sent);
}

TEST(Masks, SESS_5_a_new_session_starts_at_sequence_zero_under_a_new_key) {
    const Model model({{5, 8}}, Fill::random, 1);
    const Columns zeros(1, 8, std::vector<std::int16_t>(8, 0));
    std::set<Residues> first_masks;
    for (int i = 0; i < 20; ++i) {
        Connection connection(model);
        round(connection.charlie, 0, zeros, 5);
        const auto header =
            wire::decode_columns_header(FrameType::apply, payload_of(connection.transport.sent[1]));
        EXPECT_EQ(header.sequence, 0U);
        first_masks.insert(connection.transport.masked_inputs()[0]);
    }
    EXPECT_EQ(first_masks.size(), 20U);
}

/// The prompts of the test: equal shapes, very different contents.
Columns prompt(Fill kind) { return columns_to_view(kind, 2000); }

/// q + shift modulo every prime, for all columns; the shift may depend on the place.
template <class Shift>
View shifted(const Columns& columns, const Shift& shift) {
    View view(view_columns, Residues(paper_planes * view_width));
    for (std::size_t c = 0; c < view_columns; ++c) {
        for (std::size_t at = 0; at < view[c].size(); ++at) {
            const int prime = primes[at / view_width];
            const int sum = columns.view().row(c)[at % view_width] + shift(c, at);
            view[c][at] = static_cast<std::uint8_t>((sum % prime + prime) % prime);
        }
    }
    return view;
}

/// The transcript of David for a schedule of 8 messages of 16 columns and 128 of one.
std::vector<Bytes> transcript(const Columns& columns) {
    const Model model({{4, view_width}}, Fill::random, 1);
    Connection connection(model);
    for (std::size_t first = 0; first < columns.count;) {
        const std::size_t b = first < 128 ? 16 : 1;
        Products products(b * 4);
        connection.charlie.send(0, columns.view().rows_from(first, b));
        connection.charlie.receive({products.data(), b, 4});
        first += b;
    }
    return connection.transport.sent;
}

View view_of(const std::vector<Bytes>& frames) {
    constexpr std::size_t column = paper_planes * view_width;
    View view;
    for (const Bytes& frame : frames) {
        if (frame.size() < wire::columns_header_bytes + column) continue;  // HELLO
        const auto residues = wire::residues_of(frame);
        for (std::size_t at = 0; at < residues.size(); at += column) {
            const auto own = residues.subspan(at, column);
            view.emplace_back(own.begin(), own.end());
        }
    }
    return view;
}

TEST(View, THREAT_1_is_uniform_and_independent_of_the_activations) {
    std::vector<std::vector<std::size_t>> schedules;
    for (const Fill kind : all_fills) {
        const std::vector<Bytes> frames = transcript(prompt(kind));
        const View view = view_of(frames);
        ASSERT_EQ(view.size(), view_columns);
        EXPECT_TRUE(looks_uniform(view));
        // The unmasked activations shine through nowhere: x~ - q is uniform too.
        Columns negated = prompt(kind);
        for (std::int16_t& q : negated.q) q = static_cast<std::int16_t>(-q);
        EXPECT_TRUE(looks_uniform(
            shifted(negated, [&](std::size_t c, std::size_t at) { return int{view[c][at]}; })));
        std::vector<std::size_t> sizes;
        for (const Bytes& frame : frames) sizes.push_back(frame.size());
        schedules.push_back(sizes);
    }
    for (const auto& schedule : schedules) {
        EXPECT_EQ(schedule, schedules[0]) << "a schedule depends on shapes only";
    }
}

TEST(View, THREAT_1_MASK_5_the_test_kills_mutants_of_masking) {
    masks::Keystream keys;
    View masks(view_columns, Residues(paper_planes * view_width));
    for (std::size_t c = 0; c < view_columns; ++c) {
        keys.draw(masks::Purpose::mask, c, paper_planes, masks[c]);
    }
    Columns small = prompt(Fill::random);  // of itself it would look uniform modulo a small prime
    for (std::int16_t& q : small.q) q = static_cast<std::int16_t>(q / 200);
    const auto uniform_under = [&](const auto& mask_of) {
        return looks_uniform(shifted(small, mask_of));
    };
    const auto mask = [&](std::size_t c, std::size_t at) { return int{masks[c][at]}; };
    EXPECT_TRUE(uniform_under(mask));
    EXPECT_FALSE(uniform_under([](std::size_t, std::size_t) { return 0; }));
    EXPECT_FALSE(uniform_under([&](std::size_t, std::size_t at) { return mask(0, at); }));
    EXPECT_FALSE(uniform_under([&](std::size_t c, std::size_t at) { return mask(c / 2, at); }));
    EXPECT_FALSE(uniform_under([&](std::size_t c, std::size_t at) { return mask(c, at) >> 3; }));
    EXPECT_FALSE(uniform_under([&](std::size_t c, std::size_t at) {  // a plane without one
        return at < 3 * view_width ? mask(c, at) : 0;
    }));
}

/// But for the place of a byte that is no residue, which the sender knows: the numbers of a message
/// are those that its frame's header and its shape have.
TEST(View, THREAT_3_messages_of_errors_contain_no_residue) {
    const Model model({{3, 4}}, Fill::random, 1);
    const Columns columns = some_columns(model);
    for (int damage = 0; damage < 3; ++damage) {
        std::set<std::string> texts;
        for (int attempt = 0; attempt < 20; ++attempt) {  // under as many keys
            Connection connection(model, small_stock(), [&](Bytes answer) {
                if (answer.size() > 5) {
                    if (damage == 0) {
                        answer[25] = answer[25] == std::byte{0} ? std::byte{1} : std::byte{0};
                    }
                    if (damage == 1)
                        answer[24] = std::byte{static_cast<std::uint8_t>(241 + attempt % 15)};
                    if (damage == 2) answer[5] = std::byte{9};
                }
                return answer;
            });
            try {
                round(connection.charlie, 0, columns, 3);
                ADD_FAILURE() << "accepted";
            } catch (const Error& error) {
                texts.insert(error.what());
            }
        }
        EXPECT_EQ(texts.size(), 1U) << "a message depends on no residue";
    }
}

}  // namespace
}  // namespace slip::testing

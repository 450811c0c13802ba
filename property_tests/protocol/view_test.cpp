// What David sees: uniform residues, no mask twice, a schedule that depends on shapes only, and
// errors that name no residue.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "optimized/protocol/mask_stream.hpp"
#include "property_tests/protocol/session_fixture.hpp"

namespace slip::fixture {
namespace {

namespace wire = protocol::wire;

// ---- one-time masks over everything that can happen

/// Activations of zero show the masks themselves. However sessions end, no column is ever equal to
/// another: by honest rounds, lost replies, rejects, misuse and new sessions.
TEST(Masks, MASK_5_SESS_5_no_mask_is_ever_sent_twice) {
    const Model model({{5, 8}, {3, 8}}, Fill::random, 1);
    std::set<std::vector<std::uint32_t>> distinct;
    std::size_t sent = 0;
    const auto collect = [&](const RecordingTransport& transport) {
        for (const auto& masked : transport.masked_inputs()) {
            for (std::size_t at = 0; at < masked.size(); at += 8) {
                distinct.emplace(masked.begin() + static_cast<std::ptrdiff_t>(at),
                                 masked.begin() + static_cast<std::ptrdiff_t>(at + 8));
                ++sent;
            }
        }
    };
    Random random(3);
    for (int session = 0; session < 60; ++session) {
        const int ending = session % 4;
        const int last = uniform(random, 0, 8);
        protocol::SessionOptions options = pool_of(session % 3 == 0 ? 0 : 6);
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
    std::set<std::vector<std::uint32_t>> first_masks;
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

/// Pearson's statistic of the top 6 bits against uniform; 63 degrees of freedom.
double chi_square(const std::vector<std::uint32_t>& residues) {
    std::array<double, 64> counts{};
    for (const std::uint32_t residue : residues) counts[residue >> 25] += 1;
    const double expected = static_cast<double>(residues.size()) / 64;
    double sum = 0;
    for (const double count : counts) sum += (count - expected) * (count - expected) / expected;
    return sum;
}
/// A uniform sample exceeds it with probability below 1e-8.
constexpr double chi_square_limit = 150;

using View = std::vector<std::vector<std::uint32_t>>;  // one column per element, in order

/// Whether residues, differences between neighbouring columns, and differences between all columns
/// and the first look uniform: the second and third see a mask that is used again.
bool looks_uniform(const View& view) {
    std::vector<std::uint32_t> residues;
    std::vector<std::uint32_t> from_previous;
    std::vector<std::uint32_t> from_first;
    for (std::size_t c = 0; c < view.size(); ++c) {
        for (std::size_t j = 0; j < view[c].size(); ++j) {
            residues.push_back(view[c][j]);
            if (c == 0) continue;
            from_previous.push_back((view[c][j] + p31 - view[c - 1][j]) % p31);
            from_first.push_back((view[c][j] + p31 - view[0][j]) % p31);
        }
    }
    return chi_square(residues) < chi_square_limit &&
           chi_square(from_previous) < chi_square_limit &&
           chi_square(from_first) < chi_square_limit;
}

constexpr std::size_t view_columns = 256;
constexpr std::size_t view_width = 64;

/// The prompts of the test: equal shapes, very different contents.
Columns prompt(Fill kind) {
    Random random(5);
    return {view_columns, view_width,
            fill<std::int16_t>(kind, view_columns * view_width, -2000, 2000, random)};
}

View columns_of(const std::vector<std::vector<std::uint32_t>>& messages) {
    View view;
    for (const auto& residues : messages) {
        for (std::size_t at = 0; at < residues.size(); at += view_width) {
            view.emplace_back(residues.begin() + static_cast<std::ptrdiff_t>(at),
                              residues.begin() + static_cast<std::ptrdiff_t>(at + view_width));
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
        std::vector<std::int32_t> products(b * 4);
        connection.charlie.send(0, columns.view().rows_from(first, b));
        connection.charlie.receive({products.data(), b, 4});
        first += b;
    }
    return connection.transport.sent;
}

View view_of(const std::vector<Bytes>& frames) {
    const Model model({{4, view_width}}, Fill::random, 1);
    const auto david = protocol::make_david_session(model.david);
    RecordingTransport transport(*david);
    transport.sent = frames;
    return columns_of(transport.masked_inputs());
}

TEST(View, THREAT_1_is_uniform_and_independent_of_the_activations) {
    std::vector<std::vector<std::size_t>> schedules;
    for (const Fill kind : generators::all_fills) {
        const std::vector<Bytes> frames = transcript(prompt(kind));
        const View view = view_of(frames);
        ASSERT_EQ(view.size(), view_columns);
        EXPECT_TRUE(looks_uniform(view));
        // The unmasked activations shine through nowhere: x~ - q is uniform too.
        View without = view;
        const Columns columns = prompt(kind);
        for (std::size_t c = 0; c < view_columns; ++c) {
            for (std::size_t j = 0; j < view_width; ++j) {
                const std::int64_t shifted = std::int64_t{without[c][j]} - columns.view().row(c)[j];
                without[c][j] = static_cast<std::uint32_t>((shifted + p31) % p31);
            }
        }
        EXPECT_TRUE(looks_uniform(without));
        std::vector<std::size_t> sizes;
        for (const Bytes& frame : frames) sizes.push_back(frame.size());
        schedules.push_back(sizes);
    }
    for (const auto& schedule : schedules) {
        EXPECT_EQ(schedule, schedules[0]) << "a schedule depends on shapes only";
    }
}

TEST(View, THREAT_1_MASK_5_the_test_kills_mutants_of_masking) {
    const auto mutant = [](const auto& mask_of) {
        const Columns columns = prompt(Fill::random);
        View view(view_columns, std::vector<std::uint32_t>(view_width));
        for (std::size_t c = 0; c < view_columns; ++c) {
            for (std::size_t j = 0; j < view_width; ++j) {
                const std::int64_t q = columns.view().row(c)[j];
                view[c][j] = static_cast<std::uint32_t>((q + p31 + mask_of(c, j)) % p31);
            }
        }
        return view;
    };
    protocol::KeyStream keys;
    std::vector<std::vector<std::uint32_t>> masks(view_columns,
                                                  std::vector<std::uint32_t>(view_width));
    for (std::size_t c = 0; c < view_columns; ++c) {
        keys.draw<kernels::P31>(protocol::StreamTag::mask, c, std::span(masks[c]));
    }
    const auto fresh = [&](std::size_t c, std::size_t j) { return std::int64_t{masks[c][j]}; };
    const auto none = [](std::size_t, std::size_t) { return std::int64_t{0}; };
    const auto one_for_all = [&](std::size_t, std::size_t j) { return std::int64_t{masks[0][j]}; };
    const auto by_pairs = [&](std::size_t c, std::size_t j) {
        return std::int64_t{masks[c / 2][j]};
    };
    const auto short_masks = [&](std::size_t c, std::size_t j) {
        return std::int64_t{masks[c][j] >> 3};
    };
    EXPECT_TRUE(looks_uniform(mutant(fresh)));
    EXPECT_FALSE(looks_uniform(mutant(none)));
    EXPECT_FALSE(looks_uniform(mutant(one_for_all)));
    EXPECT_FALSE(looks_uniform(mutant(by_pairs)));
    EXPECT_FALSE(looks_uniform(mutant(short_masks)));
}

TEST(View, THREAT_3_messages_of_errors_contain_no_residue) {
    const Model model({{3, 4}}, Fill::random, 1);
    const Columns columns = some_columns(model);
    for (int damage = 0; damage < 3; ++damage) {
        Bytes received;
        Connection connection(model, small_pool(), [&](Bytes answer) {
            if (answer.size() > 5) {
                if (damage == 0) answer[25] ^= std::byte{1};
                if (damage == 1) answer[24] = std::byte{0xff};
                if (damage == 2) answer[5] = std::byte{9};
                received = answer;
            }
            return answer;
        });
        try {
            round(connection.charlie, 0, columns, 3);
            ADD_FAILURE() << "accepted";
        } catch (const Error& error) {
            const std::string text = error.what();
            for (std::size_t at = 21; at < received.size(); at += 4) {
                std::uint32_t residue = 0;
                std::memcpy(&residue, received.data() + at, 4);
                EXPECT_EQ(text.find(std::to_string(residue)), std::string::npos) << text;
            }
            const auto sent = connection.transport.masked_inputs();
            for (const std::uint32_t residue : sent[0]) {
                EXPECT_EQ(text.find(std::to_string(residue)), std::string::npos) << text;
            }
        }
    }
}

}  // namespace
}  // namespace slip::fixture

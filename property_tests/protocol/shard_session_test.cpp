// A session with the Davids of several shards (MODEL-22): each gets his own frames and nothing
// else.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "optimized/base/error.hpp"
#include "property_tests/generators/protocol_fixture.hpp"
#include "property_tests/protocol/tampering.hpp"

namespace slip::testing {
namespace {

using namespace protocol;

/// A David in this process, reached under a name.
class NamedDavid : public RecordingTransport {
public:
    NamedDavid(DavidSession& david, std::string name)
        : RecordingTransport(david), name_(std::move(name)) {}
    std::string peer_name() const override { return name_; }

private:
    const std::string name_;
};

/// The Davids of a model whose shards begin at `firsts`.
class Davids {
public:
    Davids(const Model& model, const std::vector<base::GroupId>& firsts,
           std::size_t liar = no_liar) {
        for (std::size_t i = 0; i < firsts.size(); ++i) {
            const std::size_t end = i + 1 < firsts.size() ? firsts[i + 1] : model.weights().size();
            auto& own = models_.emplace_back(std::make_unique<DavidModel>(model.david));
            own->weights.assign(model.weights().begin() + firsts[i],
                                model.weights().begin() + static_cast<std::ptrdiff_t>(end));
            own->digest[0] = static_cast<std::uint8_t>(i);
            const auto tamper =
                i == liar ? tamper_with(0, 0, 1, own->weights[0].rows()) : DavidSession::Tamper{};
            sessions.push_back(std::make_unique<DavidSession>(*own, tamper));
            links.push_back(
                std::make_unique<NamedDavid>(*sessions.back(), "david:" + std::to_string(i)));
            peers.push_back({*links.back(), own->digest, firsts[i]});
        }
    }
    static constexpr std::size_t no_liar = 99;

    std::vector<std::unique_ptr<DavidSession>> sessions;
    std::vector<std::unique_ptr<NamedDavid>> links;
    std::vector<ShardPeer> peers;

private:
    std::vector<std::unique_ptr<DavidModel>> models_;
};

std::vector<wire::ColumnsHeader> applies_to(const NamedDavid& david) {
    std::vector<wire::ColumnsHeader> headers;
    for (const Bytes& frame : david.sent) {
        const auto payload = std::span(frame).subspan(wire::length_bytes);
        if (wire::frame_type(payload) != FrameType::apply) continue;
        headers.push_back(wire::decode_columns_header(FrameType::apply, payload));
    }
    return headers;
}

const std::vector<Shape> four_groups{{5, 4}, {3, 7}, {9, 2}, {4, 4}};

/// Wherever the borders are: the products are exact, every David counts his own groups and frames
/// from 0, and all are told of the end.
TEST(ShardSession, MODEL_22_every_david_has_a_session_of_his_own) {
    const Model model(four_groups, Fill::random, 1);
    for (unsigned borders = 0; borders < 8; ++borders) {
        std::vector<base::GroupId> firsts{0};
        for (base::GroupId g = 1; g < 4; ++g) {
            if ((borders >> (g - 1) & 1) != 0) firsts.push_back(g);
        }
        Davids davids(model, firsts);
        {
            CharlieSession charlie(model.weights(), *model.check, model.david.set, davids.peers,
                                   small_stock());
            EXPECT_TRUE(gives_exact_products(charlie, model, 2));
            EXPECT_TRUE(gives_exact_products(charlie, model, 1));
            EXPECT_EQ(charlie.statistics().rounds, 8U);
        }
        for (std::size_t i = 0; i < firsts.size(); ++i) {
            const std::size_t groups = (i + 1 < firsts.size() ? firsts[i + 1] : 4) - firsts[i];
            const auto headers = applies_to(*davids.links[i]);
            ASSERT_EQ(headers.size(), 2 * groups);
            for (std::size_t k = 0; k < headers.size(); ++k) {
                EXPECT_EQ(headers[k].sequence, k);
                EXPECT_EQ(headers[k].group, k % groups);
            }
            EXPECT_EQ(davids.links[i]->sent.back(), close_frame());
            EXPECT_TRUE(davids.sessions[i]->finished());
        }
    }
}

/// One wrong reply ends the session with all, and its sender alone is distrusted.
TEST(ShardSession, MODEL_22_INTEG_7_a_wrong_reply_is_its_senders_alone) {
    const Model model(four_groups, Fill::random, 2);
    const Columns first = some_columns(model, 1, 0), second = some_columns(model, 1, 2);
    WrongPeers wrong;
    SessionOptions options = small_stock();
    options.wrong_peers = &wrong;
    Davids davids(model, {0, 2}, 1);
    CharlieSession charlie(model.weights(), *model.check, model.david.set, davids.peers, options);
    EXPECT_EQ(to_reference(round(charlie, 0, first, 5)), exact_products(model.matrices[0], first));
    try {
        round(charlie, 2, second, 9);
        FAIL() << "a wrong reply was accepted";
    } catch (const IntegrityError& error) {
        EXPECT_NE(std::string(error.what()).find("david:1"), std::string::npos) << error.what();
    }
    EXPECT_FALSE(charlie.alive());
    EXPECT_TRUE(wrong.has("david:1"));
    EXPECT_FALSE(wrong.has("david:0"));
    for (const auto& david : davids.links) EXPECT_EQ(david->sent.back(), abort_frame());
    Davids again(model, {0, 2});
    EXPECT_THROW(
        CharlieSession(model.weights(), *model.check, model.david.set, again.peers, options),
        Distrusted);
    EXPECT_TRUE(again.links[0]->sent.empty()) << "nothing is sent before all are known";
}

/// SESS-2: the digest of each shard, so Davids in another order refuse; and who refuses is named.
TEST(ShardSession, MODEL_22_SESS_2_davids_in_another_order_are_found) {
    const Model model(four_groups, Fill::random, 3);
    Davids davids(model, {0, 2});
    const std::vector<ShardPeer> swapped{{*davids.links[1], davids.peers[0].digest, 0},
                                         {*davids.links[0], davids.peers[1].digest, 2}};
    try {
        const CharlieSession charlie(model.weights(), *model.check, model.david.set, swapped,
                                     small_stock());
        FAIL() << "they were accepted";
    } catch (const Refused& error) {
        EXPECT_EQ(error.reason(), Refusal::digest);
        EXPECT_NE(std::string(error.what()).find("David at david:1 refuses"), std::string::npos)
            << error.what();
    }
}

TEST(ShardSession, MODEL_22_shards_that_leave_no_group_out_are_required) {
    const Model model(four_groups, Fill::random, 4);
    for (const std::vector<base::GroupId>& firsts :
         {std::vector<base::GroupId>{1}, {0, 0}, {0, 3, 2}, {0, 4}}) {
        Davids davids(model, {0, 1, 2});
        std::vector<ShardPeer> peers;
        for (std::size_t i = 0; i < firsts.size(); ++i) {
            peers.push_back({*davids.links[i], davids.peers[i].digest, firsts[i]});
        }
        EXPECT_THROW(
            CharlieSession(model.weights(), *model.check, model.david.set, peers, small_stock()),
            InternalError);
    }
}

}  // namespace
}  // namespace slip::testing

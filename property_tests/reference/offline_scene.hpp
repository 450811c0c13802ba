// Two Davids of the reference, a pair, and the frames between them and Charlie.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "reference/offline.hpp"

namespace slip::reference {

/// Weights, shapes and a digest that Charlie and both Davids share.
struct OfflineScene {
    Profile profile = p31();
    std::vector<Matrix> weights = {Matrix{{1, -2, 3}, {0, 127, -127}}, Matrix{{5, 4}}};
    Digest digest = {1, 2, 3};
    Key pair_key = {7};
    Key connection_key = {9};

    Shapes shapes() const { return shapes_of(profile, weights); }
    OfflineDavid offline_david() const { return OfflineDavid(profile, digest, weights); }
    DavidSession david() const { return DavidSession(profile, digest, weights); }
    Pair pair() const { return Pair(profile, pair_key, weights); }

    OfflineFrame key() const { return OfflineKey{1, profile.number, digest, connection_key}; }

    /// c = W_D r of one mask of the connection, by definition.
    Vector cancellation_of(std::uint32_t group, std::uint64_t index) const {
        const Ring ring(profile.modulus);
        return cancellation(
            ring, weights[group],
            uniform_residues(ring, connection_key, Tag::mask, index, weights[group].cols()));
    }
};

/// Charlie with a life, a connection to an honest offline David, and masks in stock.
class OfflineParties {
public:
    explicit OfflineParties(const OfflineScene& scene, OfflineChannel::Tamper tamper = nullptr)
        : pair(scene.pair()),
          life(pair),
          offline_david(scene.offline_david()),
          channel(offline_david, std::move(tamper)),
          connection(scene.shapes(), scene.digest, scene.connection_key, channel) {}

    /// KEY, then REQUESTs of these columns, each answered before the next.
    void fill(const std::vector<PlannedMessage>& requests) {
        connection.open();
        for (const auto& [group, columns] : requests) {
            connection.request(group, columns);
            connection.receive(life);
        }
    }

    Pair pair;
    Life life;
    OfflineDavid offline_david;
    OfflineChannel channel;
    OfflineConnection connection;
};

}  // namespace slip::reference

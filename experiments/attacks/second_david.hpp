// An offline David in the attacker's hands: what he sees, and what he answers.
#pragma once

#include <array>
#include <mutex>
#include <vector>

#include "experiments/attacks/victim.hpp"
#include "optimized/protocol/frames.hpp"
#include "optimized/protocol/offline_stock.hpp"

namespace slip::attacks {

class SecondDavid {
public:
    /// `tamper` is added to his cancellations.
    explicit SecondDavid(const Victim& victim, Tamper tamper = {});

    /// For a ProductSession that ends before this object.
    protocol::OfflineOptions options();

    using Key = std::array<std::uint8_t, 32>;
    /// His view: the key of the connection, and every REQUEST.
    Key key() const;
    std::vector<protocol::wire::ColumnsHeader> requests() const;

private:
    class Link;
    void record(std::span<const std::byte> payload);

    protocol::DavidModel model_;
    protocol::DavidSession::Tamper forge_;
    mutable std::mutex mutex_;
    Key key_{};
    std::vector<protocol::wire::ColumnsHeader> requests_;
};

/// As DavidSession has it: adds `tamper` mod p to the residues of an answer.
protocol::DavidSession::Tamper forgery(Tamper tamper);

}  // namespace slip::attacks

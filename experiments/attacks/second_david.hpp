// An offline David in the attacker's hands: what he sees, and what he answers.
#pragma once

#include <array>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "experiments/attacks/victim.hpp"
#include "optimized/protocol/frames.hpp"
#include "optimized/protocol/offline_stock.hpp"

namespace slip::attacks {

class SecondDavid {
public:
    using Header = protocol::wire::ColumnsHeader;
    /// Called before his answer to a REQUEST arrives, in the thread of Charlie's that awaits it.
    using Stall = std::function<void(const Header&)>;

    /// `tamper` is added to his cancellations.
    explicit SecondDavid(const Victim& victim, Tamper tamper = {}, Stall stall = {});

    /// For a ProductSession that ends before this object.
    protocol::OfflineOptions options();

    using Key = std::array<std::uint8_t, 32>;
    /// His view: the key of the connection, and every REQUEST.
    Key key() const;
    std::vector<Header> requests() const;

private:
    class Link;
    /// The header of a REQUEST.
    std::optional<Header> record(std::span<const std::byte> payload);

    protocol::DavidModel model_;
    protocol::DavidSession::Tamper forge_;
    Stall stall_;
    mutable std::mutex mutex_;
    Key key_{};
    std::vector<Header> requests_;
};

/// As DavidSession has it: adds `tamper` mod p to the residues of an answer.
protocol::DavidSession::Tamper forgery(Tamper tamper);

}  // namespace slip::attacks

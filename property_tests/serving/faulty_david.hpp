// Davids in this process that leave or lie after so many replies.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "optimized/artifact/artifact.hpp"
#include "optimized/protocol/david.hpp"
#include "optimized/protocol/frames.hpp"
#include "property_tests/serving/served_model.hpp"
#include "slip/transport.hpp"

namespace slip::testing {

/// How one David behaves.
struct Behaviour {
    enum class Then { leaves, lies, damages_charlie };
    static constexpr std::size_t always = std::numeric_limits<std::size_t>::max();
    std::size_t honest_replies = always;
    Then then = Then::leaves;
    std::string name = "an honest David";  // of the peer, for INTEG-7
};

/// The Davids of one artifact, and all APPLY messages that Charlie sent to them.
class Davids {
public:
    explicit Davids(const Served& served)
        : artifact_(served.artifact / "david"),
          model_{artifact_.weights(), artifact_.set(), artifact_.digest()} {}

    /// Makes the connection to a David who behaves so.
    std::unique_ptr<Transport> connect(const Behaviour& behaviour) {
        return std::make_unique<Connection>(*this, behaviour);
    }
    /// Calls the first, then the second, ...; the last one again and again.
    Connect in_turn(std::vector<Behaviour> behaviours) {
        return [this, behaviours = std::move(behaviours), next = std::size_t{0}]() mutable {
            const std::size_t now = std::min(next++, behaviours.size() - 1);
            return connect(behaviours[now]);
        };
    }
    /// Frames that Charlie has sent to the peer of this name.
    std::size_t frames_to(const std::string& name) const {
        const std::lock_guard lock(mutex_);
        const auto found = frames_.find(name);
        return found == frames_.end() ? 0 : found->second;
    }
    /// Whether every APPLY differs from every other, as one-time masks make it.
    bool no_message_twice() const {
        const std::lock_guard lock(mutex_);
        return std::set(applies_.begin(), applies_.end()).size() == applies_.size();
    }

private:
    using Bytes = std::vector<std::byte>;

    class Connection : public Transport {
    public:
        Connection(Davids& all, Behaviour behaviour)
            : all_(all), behaviour_(std::move(behaviour)), session_(all.model_), inner_(session_) {}
        void send(std::span<const std::byte> bytes) override {
            all_.record(behaviour_.name, bytes);
            inner_.send(bytes);
        }
        void receive(std::span<std::byte> bytes) override {
            inner_.receive(bytes);
            if (bytes.size() <= 4) return;  // the field of a length, or READY
            if (replies_++ < behaviour_.honest_replies) return;
            if (behaviour_.then == Behaviour::Then::leaves) throw ProtocolError("he has left");
            if (behaviour_.then == Behaviour::Then::damages_charlie) {
                throw InternalError("a product does not pass Charlie's own check");
            }
            // Another residue modulo whatever prime.
            bytes.back() = bytes.back() == std::byte{0} ? std::byte{1} : std::byte{0};
        }
        std::string peer_name() const override { return behaviour_.name; }

    private:
        Davids& all_;
        const Behaviour behaviour_;
        protocol::DavidSession session_;
        protocol::InProcessTransport inner_;
        std::size_t replies_ = 0;
    };

    void record(const std::string& name, std::span<const std::byte> frame) {
        namespace wire = protocol::wire;
        const std::lock_guard lock(mutex_);
        ++frames_[name];
        if (wire::frame_type(frame.subspan(wire::length_bytes)) != wire::FrameType::apply) return;
        // Behind the header, which has the number of the message: the masked columns.
        const auto columns = frame.subspan(wire::columns_header_bytes);
        applies_.emplace_back(columns.begin(), columns.end());
    }

    artifact::DavidArtifact artifact_;
    const protocol::DavidModel model_;
    mutable std::mutex mutex_;
    std::vector<Bytes> applies_;
    std::map<std::string, std::size_t> frames_;
};

}  // namespace slip::testing

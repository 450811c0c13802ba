// David in the same process, with a record of what he receives.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "optimized/base/error.hpp"
#include "optimized/protocol/david.hpp"
#include "optimized/protocol/frames.hpp"
#include "slip/transport.hpp"

namespace slip::testing {

/// Records every frame in both directions, and lets a test change what David answers.
class RecordingTransport : public Transport {
public:
    using Bytes = std::vector<std::byte>;
    using Residues = std::vector<std::uint8_t>;
    /// Gets a whole answer of David and returns what Charlie receives instead.
    using Corrupt = std::function<Bytes(Bytes)>;

    explicit RecordingTransport(protocol::DavidSession& david, Corrupt corrupt = {})
        : david_(david), corrupt_(std::move(corrupt)) {}

    void send(std::span<const std::byte> bytes) override {
        if (on_send) on_send();
        sent.emplace_back(bytes.begin(), bytes.end());
        if (david_.finished()) return;
        const auto answer = david_.handle(bytes.subspan(protocol::wire::length_bytes));
        if (answer.empty()) return;
        Bytes delivered(answer.begin(), answer.end());
        if (corrupt_) delivered = corrupt_(std::move(delivered));
        pending_.insert(pending_.end(), delivered.begin(), delivered.end());
    }

    void receive(std::span<std::byte> bytes) override {
        if (bytes.size() > pending_.size()) throw ProtocolError("the connection ended");
        std::copy_n(pending_.begin(), bytes.size(), bytes.begin());
        pending_.erase(pending_.begin(),
                       pending_.begin() + static_cast<std::ptrdiff_t>(bytes.size()));
        received += bytes.size();
    }

    /// The residues of every APPLY that was sent.
    std::vector<Residues> masked_inputs() const {
        std::vector<Residues> inputs;
        for (const Bytes& frame : sent) {
            const auto payload = std::span(frame).subspan(protocol::wire::length_bytes);
            if (protocol::wire::frame_type(payload) != protocol::wire::FrameType::apply) continue;
            const auto residues = protocol::wire::residues_of(frame);
            inputs.emplace_back(residues.begin(), residues.end());
        }
        return inputs;
    }

    std::vector<Bytes> sent;
    std::size_t received = 0;  // bytes that Charlie has read
    std::function<void()> on_send;

private:
    protocol::DavidSession& david_;
    Corrupt corrupt_;
    std::vector<std::byte> pending_;
};

}  // namespace slip::testing

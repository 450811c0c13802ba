// One message of Charlie's on its way. Every step is a type that only the step before it gives, so
// that what SESS-1 and INTEG-5 forbid does not compile:
//
//   ResidueExchange::mask -> Sent -> decode_reply -> Replied -> check -> Checked -> unmask
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "optimized/base/growing_buffer.hpp"
#include "optimized/masks/mask.hpp"
#include "optimized/protocol/frames.hpp"

namespace slip::protocol {

class ResidueExchange;
class IntegrityCheck;
class Checked;

/// A message's columns, and the masks that they alone were masked with. Its memory goes from
/// message to message.
struct Exchange {
    std::uint64_t session = 0;                // of those of this process
    base::GroupId group = 0;                  // of the model's
    wire::ColumnsHeader header;               // as it is sent: the group is its David's (MODEL-22)
    base::GrowingBuffer<std::byte> apply;     // the whole frame, with x~
    base::GrowingBuffer<std::uint8_t> reply;  // y~, whatever David says it is
    std::vector<masks::Mask::Spent> masks;    // one per column; only the cancellation is left
    std::vector<std::uint64_t> expected;      // MASK-10, one per column with a lattice mask
};

/// An APPLY: masked, and without a reply yet.
class Sent {
public:
    base::GroupId group() const { return exchange_.group; }
    const wire::ColumnsHeader& header() const { return exchange_.header; }
    /// The whole frame.
    std::span<const std::byte> frame() const { return exchange_.apply.span(); }

private:
    friend class ResidueExchange;
    explicit Sent(Exchange&& exchange) : exchange_(std::move(exchange)) {}
    Exchange exchange_;
};

/// An APPLY with its REPLY: canonical residues (WIRE-8), and nothing else is known of them. An
/// object that was moved from has no frames.
class Replied {
public:
    base::GroupId group() const { return exchange_.group; }
    std::span<const std::uint8_t> inputs() const {
        return wire::residues_of(exchange_.apply.span());
    }
    std::span<const std::uint8_t> outputs() const { return exchange_.reply.span(); }

private:
    friend class ResidueExchange;
    friend class Checked;
    explicit Replied(Exchange&& exchange) : exchange_(std::move(exchange)) {}
    Exchange exchange_;
};

/// An APPLY whose REPLY passed INTEG-3 as a whole. Only IntegrityCheck makes one, and only
/// ResidueExchange, which unmasks it, opens it.
class Checked {
private:
    friend class IntegrityCheck;
    friend class ResidueExchange;
    explicit Checked(Replied&& replied) : exchange_(std::move(replied.exchange_)) {}
    Exchange exchange_;
};

}  // namespace slip::protocol

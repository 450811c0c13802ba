// One message of Charlie's on its way. Every step is a type that only the step before it gives, so
// that what SESS-1 and INTEG-5 forbid does not compile:
//
//   CharlieColumns::mask -> Sent -> decode_reply -> Answered -> check -> Checked -> unmask
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "optimized/protocol/frames.hpp"
#include "optimized/protocol/growing_buffer.hpp"
#include "optimized/protocol/mask_stream.hpp"

namespace slip::protocol {

template <class P>
class CharlieColumns;
template <class P>
class IntegrityCheck;
template <class P>
class Checked;

/// A message's columns, and the masks that they alone were masked with. Its memory goes from
/// message to message.
template <class P>
struct Exchange {
    using Residue = typename P::Residue;

    std::uint64_t session = 0;                   // of those of this process
    wire::ColumnsHeader header;                  // sequence, group and columns
    GrowingBuffer<Residue> masked;               // x~
    GrowingBuffer<Residue> reply;                // y~, whatever David says it is
    std::vector<typename Mask<P>::Spent> masks;  // one per column; only the cancellation is left
};

/// An APPLY: masked, and not yet answered.
template <class P>
class Sent {
public:
    const wire::ColumnsHeader& header() const { return exchange_.header; }

private:
    friend class CharlieColumns<P>;
    explicit Sent(Exchange<P>&& exchange) : exchange_(std::move(exchange)) {}
    Exchange<P> exchange_;
};

/// An APPLY with its REPLY: canonical residues (WIRE-8), and nothing else is known of them. What
/// was moved from has neither.
template <class P>
class Answered {
public:
    base::GroupId group() const { return exchange_.header.group; }
    std::span<const typename P::Residue> inputs() const { return exchange_.masked.span(); }
    std::span<const typename P::Residue> outputs() const { return exchange_.reply.span(); }

private:
    friend class CharlieColumns<P>;
    friend class Checked<P>;
    explicit Answered(Exchange<P>&& exchange) : exchange_(std::move(exchange)) {}
    Exchange<P> exchange_;
};

/// An APPLY whose REPLY passed INTEG-3 as a whole. Only IntegrityCheck<P> makes one, and only
/// CharlieColumns<P>, which unmasks it, opens it.
template <class P>
class Checked {
private:
    friend class IntegrityCheck<P>;
    friend class CharlieColumns<P>;
    explicit Checked(Answered<P>&& answered) : exchange_(std::move(answered.exchange_)) {}
    Exchange<P> exchange_;
};

}  // namespace slip::protocol

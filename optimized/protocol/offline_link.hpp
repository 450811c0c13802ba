// Charlie's end of one connection to an offline David: a key of its own, REQUESTs, and what comes
// back for them. Private to this room.
#pragma once

#include <array>
#include <boost/circular_buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "optimized/base/product_shape.hpp"
#include "optimized/protocol/frames.hpp"
#include "optimized/protocol/growing_buffer.hpp"
#include "optimized/protocol/mask_stream.hpp"
#include "optimized/protocol/mask_supply.hpp"
#include "slip/transport.hpp"

namespace slip::protocol {

template <class P>
class OfflineLink;
template <class P>
class OfflineStock;

/// Masks r, and what an offline David says W_D r is: canonical residues (WIRE-8), and nothing else
/// is known of them. The check makes it a Checked<P, Cancellations<P>>, the only thing that
/// OfflineStock<P> puts into stock.
template <class P>
class Cancellations {
public:
    using Opener = OfflineStock<P>;
    using Residue = typename P::Residue;

    base::GroupId group() const { return header_.group; }
    /// A column each; none after the object was moved from.
    std::size_t parts() const { return columns_.size(); }
    std::span<const Residue> inputs(std::size_t part) const { return columns_[part].mask.span(); }
    std::span<const Residue> outputs(std::size_t part) const {
        return columns_[part].cancellation.span();
    }

private:
    friend class OfflineLink<P>;
    friend class OfflineStock<P>;
    Cancellations(const wire::ColumnsHeader& header, MaskMemory<P>&& columns)
        : header_(header), columns_(std::move(columns)) {}

    wire::ColumnsHeader header_;
    MaskMemory<P> columns_;
};

/// REQUESTs that may be unanswered at a time (OFF-5).
inline constexpr std::size_t request_window = 4;

/// One connection. Its key comes from the operating system and is no other connection's; mask
/// indices rise from 0, so (key, index) is never used twice (OFF-8). One thread. After any
/// exception the connection is of no more use.
template <class P>
class OfflineLink {
public:
    /// Sends KEY and awaits READY. `batch` columns of any group are the most of one REQUEST.
    /// Throws ProtocolError if D2 refuses. All references outlive the object. `test_key`: in tests
    /// only, the key of the connection.
    OfflineLink(Transport& transport, const Digest& digest,
                const std::vector<base::ProductShape>& shapes, std::size_t batch,
                std::uint64_t blocks_per_key, std::span<const std::uint8_t> test_key = {});
    OfflineLink(const OfflineLink&) = delete;
    OfflineLink& operator=(const OfflineLink&) = delete;
    ~OfflineLink() = default;

    /// Whether the key has blocks left for so many masks (RAND-5). If not, a new key is needed, and
    /// so a new connection.
    bool has_blocks_for(base::GroupId group, std::size_t columns) const;
    /// Requires: has_blocks_for(), fewer than request_window unanswered ones.
    void request(base::GroupId group, std::size_t columns);
    std::size_t unanswered() const { return unanswered_.size(); }
    /// The answer to the oldest REQUEST, in `memory`, as much as it has columns. Throws
    /// ProtocolError for anything else.
    Cancellations<P> receive(MaskMemory<P>&& memory);
    /// The same, and forgets it.
    void skip();
    /// Wipes the key, then sends CLOSE, or ABORT where an answer is outstanding or `aborts`. Throws
    /// ProtocolError.
    void end(bool aborts);

    std::uint64_t bytes_up() const { return bytes_up_; }
    std::uint64_t bytes_down() const { return bytes_down_; }

private:
    std::uint64_t blocks_of(base::GroupId group, std::size_t columns) const;
    void send_key(const Digest& digest);
    std::span<std::byte> receive_answer();
    void send(std::span<const std::byte> frame);
    std::span<std::byte> receive_payload(std::size_t max_length);

    Transport& transport_;
    const std::vector<base::ProductShape>& shapes_;
    const std::size_t batch_;
    const std::uint64_t blocks_per_key_;
    KeyStream keys_;
    std::uint64_t next_index_ = 0;
    std::uint64_t blocks_asked_for_ = 0;
    boost::circular_buffer<wire::ColumnsHeader> unanswered_{request_window};  // oldest first
    GrowingBuffer<std::byte> payload_;
    std::uint64_t bytes_up_ = 0;
    std::uint64_t bytes_down_ = 0;
};

extern template class OfflineLink<P31>;
extern template class OfflineLink<P61>;

}  // namespace slip::protocol

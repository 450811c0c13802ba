// Charlie's end of one connection to an offline David: its key, REQUESTs, and their answers.
// Private to this room.
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

/// Masks r and the W_D r that an offline David claims: canonical residues (WIRE-8), not yet
/// checked. The check turns it into a Checked<P, Cancellations<P>>, and OfflineStock<P> accepts
/// nothing else into stock.
template <class P>
class Cancellations {
public:
    using Opener = OfflineStock<P>;
    using Residue = typename P::Residue;

    Cancellations(Cancellations&&) noexcept = default;
    Cancellations& operator=(Cancellations&&) noexcept = default;
    Cancellations(const Cancellations&) = delete;
    Cancellations& operator=(const Cancellations&) = delete;
    ~Cancellations() = default;

    base::GroupId group() const { return header_.group; }
    /// One per column; 0 once the object was moved from.
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

/// The most REQUESTs that may be unanswered at a time (OFF-5).
inline constexpr std::size_t request_window = 4;

/// One connection, for use by one thread. It draws its own key from the operating system; mask
/// indices rise from 0, so (key, index) is never used twice (OFF-8). After any exception the
/// connection must not be used again.
template <class P>
class OfflineLink {
public:
    /// Sends KEY and awaits READY. `batch`: the most columns of one REQUEST. Throws ProtocolError
    /// if D2 refuses. All references outlive the object. `test_key`: in tests only, the key of the
    /// connection.
    OfflineLink(Transport& transport, const Digest& digest,
                const std::vector<base::ProductShape>& shapes, std::size_t batch,
                std::uint64_t blocks_per_key, std::span<const std::uint8_t> test_key = {});
    OfflineLink(const OfflineLink&) = delete;
    OfflineLink& operator=(const OfflineLink&) = delete;
    ~OfflineLink() = default;

    /// Whether the key has enough blocks left for `columns` masks (RAND-5). If not, a new
    /// connection with a new key is needed.
    bool has_blocks_for(base::GroupId group, std::size_t columns) const;
    /// Requires: has_blocks_for(), fewer than request_window unanswered REQUESTs.
    void request(base::GroupId group, std::size_t columns);
    std::size_t unanswered() const { return unanswered_.size(); }
    /// The answer to the oldest unanswered REQUEST, which has as many columns as `memory`. Throws
    /// ProtocolError for any other frame.
    Cancellations<P> receive(MaskMemory<P>&& memory);
    /// Receives the same answer and discards it.
    void skip();
    /// Wipes the key, then sends ABORT if `aborts` or an answer is outstanding, otherwise CLOSE.
    /// Throws ProtocolError.
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

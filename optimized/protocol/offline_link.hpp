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
#include "optimized/base/secret_buffer.hpp"
#include "optimized/protocol/frames.hpp"
#include "optimized/protocol/growing_buffer.hpp"
#include "optimized/protocol/mask_stream.hpp"
#include "slip/transport.hpp"

namespace slip::protocol {

template <class P>
class OfflineLink;
template <class P>
class OfflineStock;

/// Room for the columns of one REQUEST of any group.
template <class P>
struct CancellationBatch {
    base::SecretBuffer<typename P::Residue> masks;
    base::SecretBuffer<typename P::Residue> cancellations;
};

/// Masks r, and what an offline David says W_D r is: canonical residues (WIRE-8), and nothing else
/// is known of them. The check makes it a Checked<P, Cancellations<P>>, the only thing that
/// OfflineStock<P> puts into stock.
template <class P>
class Cancellations {
public:
    using Opener = OfflineStock<P>;
    using Residue = typename P::Residue;

    base::GroupId group() const { return header_.group; }
    std::span<const Residue> inputs() const { return masks(); }
    std::span<const Residue> outputs() const { return cancellations(); }

private:
    friend class OfflineLink<P>;
    friend class OfflineStock<P>;
    Cancellations(const wire::ColumnsHeader& header, const base::ProductShape& shape,
                  CancellationBatch<P>&& batch)
        : header_(header), shape_(shape), batch_(std::move(batch)) {}

    std::span<Residue> masks() {
        return batch_.masks.span().first(batch_.masks.size() == 0 ? 0 : columns() * n());
    }
    std::span<const Residue> masks() const {
        return batch_.masks.span().first(batch_.masks.size() == 0 ? 0 : columns() * n());
    }
    std::span<Residue> cancellations() {
        return batch_.cancellations.span().first(columns() * m());
    }
    std::span<const Residue> cancellations() const {
        return batch_.cancellations.span().first(columns() * m());
    }
    std::size_t columns() const { return header_.columns; }
    std::size_t n() const { return shape_.inputs(); }
    std::size_t m() const { return shape_.outputs(); }

    wire::ColumnsHeader header_;
    base::ProductShape shape_;
    CancellationBatch<P> batch_;
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
    /// The answer to the oldest REQUEST. Throws ProtocolError for anything else.
    Cancellations<P> receive();
    /// The same, and forgets it.
    void skip();
    /// Takes back the room of an answer.
    void recycle(CancellationBatch<P>&& batch) { spare_ = std::move(batch); }
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
    CancellationBatch<P> spare_;
    GrowingBuffer<std::byte> payload_;
    std::uint64_t bytes_up_ = 0;
    std::uint64_t bytes_down_ = 0;
};

extern template class OfflineLink<P31>;
extern template class OfflineLink<P61>;

}  // namespace slip::protocol

// The rings of a connection in shared memory (SESS-11): a peer who writes what he likes into their
// words and data, between any two steps of this end.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "optimized/net/shared_ring.hpp"
#include "property_tests/fuzz/fuzz.hpp"
#include "slip/error.hpp"

namespace slip::fuzz::rings_fuzz {
namespace {

using net::Ring;
using net::RingPositions;

constexpr std::uint32_t ring_bytes = 64;

/// A direction of the memory, which the peer writes as well, and what this end must make of it.
struct Direction {
    explicit Direction(Ring::End which) : end(which), ring(which, positions, data) {}

    const Ring::End end;
    RingPositions positions{};
    Bytes data = Bytes(ring_bytes);  // of its exact size, so that a step beyond it is noticed
    Ring ring;
    std::uint32_t own = 0;   // this end's position
    std::uint32_t peer = 0;  // the last one of the peer's that was possible

    std::atomic<std::uint32_t>& own_word() {
        return end == Ring::End::writer ? positions.written : positions.read;
    }
    std::atomic<std::uint32_t>& peer_word() {
        return end == Ring::End::writer ? positions.read : positions.written;
    }

    /// Bytes between the ends when the peer is at `position`, which is at most the ring's size for
    /// a peer who tells the truth.
    std::uint32_t unread(std::uint32_t position) const {
        return end == Ring::End::writer ? own - position : position - own;
    }
    /// What this end may move now; nothing where the peer's word is impossible: he goes forward, by
    /// no more than there is.
    std::optional<std::uint32_t> available() {
        const std::uint32_t told = peer_word();
        const std::uint32_t room =
            end == Ring::End::writer ? unread(peer) : ring_bytes - unread(peer);
        if (told - peer > room) return std::nullopt;
        peer = told;
        return end == Ring::End::writer ? ring_bytes - unread(peer) : unread(peer);
    }
};

/// The input, byte by byte; zeros beyond its end.
class Script {
public:
    explicit Script(std::span<const std::byte> input) : rest_(input) {}
    bool ended() const { return rest_.empty(); }
    std::uint32_t byte() {
        if (rest_.empty()) return 0;
        const auto value = std::to_integer<std::uint32_t>(rest_.front());
        rest_ = rest_.subspan(1);
        return value;
    }
    /// One byte says how a position differs from `near`, or four are the position.
    std::uint32_t position(std::uint32_t near) {
        const std::uint32_t difference = byte();
        if (difference < 0xff) return near + difference - 0x40;
        return byte() | byte() << 8 | byte() << 16 | byte() << 24;
    }

private:
    std::span<const std::byte> rest_;
};

/// A step of this end by at most `wish` bytes. Returns whether the ring goes on.
bool step(Direction& direction, std::uint32_t wish) {
    const auto possible = direction.available();
    Bytes bytes(wish);
    for (std::size_t i = 0; i < wish; ++i)
        bytes[i] = static_cast<std::byte>(direction.own + 37 * i);
    std::size_t size = 0;
    const Bytes before = direction.data;
    const bool went = accepts<ProtocolError>([&] {
        size = direction.end == Ring::End::writer ? direction.ring.write(bytes)
                                                  : direction.ring.read(bytes);
    });
    expect(went == possible.has_value(), "SESS-11: which positions of the peer's are taken");
    if (!went) return false;
    expect(size == std::min(*possible, wish), "SESS-11: how much is moved");
    for (std::size_t i = 0; i < size; ++i) {
        const std::size_t at = (direction.own + i) % ring_bytes;
        const Bytes& source = direction.end == Ring::End::writer ? direction.data : before;
        expect(bytes[i] == source[at], "SESS-11: what is moved");
    }
    direction.own += static_cast<std::uint32_t>(size);
    if (size > 0) expect(direction.own_word() == direction.own, "SESS-11: what this end tells");
    return true;
}

}  // namespace

const std::size_t allowance = 1024;

/// What an honest peer does while this end writes and reads `size` bytes several times.
Bytes honest(std::uint8_t size) {
    Bytes script;
    const auto add = [&](std::initializer_list<int> bytes) {
        for (const int value : bytes) script.push_back(static_cast<std::byte>(value));
    };
    for (int round = 0; round < 5; ++round) {
        add({4, size});         // this end writes
        add({0, 0x40 + size});  // he has read it
        add({1, 0x40 + size});  // and has written as much
        add({2, 3, round});     // data, whatever it is
        add({5, size});         // this end reads
        add({3, 1});            // he says that he sleeps
    }
    return script;
}

std::vector<Bytes> seeds() { return {honest(1), honest(7), honest(63), honest(64)}; }

bool check(std::span<const std::byte> input) {
    Script script(input);
    Direction out(Ring::End::writer), in(Ring::End::reader);
    while (!script.ended()) {
        switch (script.byte() % 6) {
            case 0:
                out.peer_word() = script.position(out.peer);
                break;
            case 1:
                in.peer_word() = script.position(in.peer);
                break;
            case 2: {
                const std::uint32_t at = script.byte();
                Bytes& data = at < 128 ? in.data : out.data;
                data[at % ring_bytes] = static_cast<std::byte>(script.byte());
                break;
            }
            case 3: {  // words of this end's, which it never reads back, and who sleeps
                const std::uint32_t value = script.byte();
                out.positions.reader_sleeps = in.positions.writer_sleeps = value;
                if (value > 1) out.own_word() = in.own_word() = value;
                in.ring.sleep({});
                break;
            }
            case 4:
                if (!step(out, script.byte())) return false;
                break;
            default:
                if (!step(in, script.byte())) return false;
        }
    }
    return true;
}

const Target target{"rings_fuzz", allowance, seeds, check};

}  // namespace slip::fuzz::rings_fuzz

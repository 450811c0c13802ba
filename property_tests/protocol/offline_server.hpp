// Offline Davids on threads of their own, honest or not; a test sees every frame.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "optimized/protocol/offline_stock.hpp"
#include "property_tests/protocol/offline_fixture.hpp"

namespace slip::fixture {

/// The bytes under way from one end to the other.
struct Direction {
    std::deque<std::byte> bytes;
    bool closed = false;
};

/// Two directions, each open until its sender closes it or close() is called.
struct Channel {
    std::mutex mutex;
    std::condition_variable changed;
    Direction directions[2];

    void close() {
        const std::lock_guard lock(mutex);
        for (Direction& direction : directions) direction.closed = true;
        changed.notify_all();
    }
};

class ChannelEnd : public Transport {
public:
    ChannelEnd(std::shared_ptr<Channel> channel, int end, std::string name)
        : channel_(std::move(channel)), end_(end), name_(std::move(name)) {}
    /// Bytes that were sent before can still be received.
    ~ChannelEnd() override {
        const std::lock_guard lock(channel_->mutex);
        channel_->directions[end_].closed = true;
        channel_->changed.notify_all();
    }

    void send(std::span<const std::byte> bytes) override {
        const std::lock_guard lock(channel_->mutex);
        Direction& out = channel_->directions[end_];
        out.bytes.insert(out.bytes.end(), bytes.begin(), bytes.end());
        channel_->changed.notify_all();
    }
    void receive(std::span<std::byte> bytes) override {
        std::unique_lock lock(channel_->mutex);
        Direction& in = channel_->directions[1 - end_];
        channel_->changed.wait(lock, [&] { return in.bytes.size() >= bytes.size() || in.closed; });
        if (in.bytes.size() < bytes.size()) throw ProtocolError("the peer ended the connection");
        std::copy_n(in.bytes.begin(), bytes.size(), bytes.begin());
        in.bytes.erase(in.bytes.begin(),
                       in.bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size()));
    }
    std::string peer_name() const override { return name_; }
    void interrupt() noexcept override { channel_->close(); }

private:
    std::shared_ptr<Channel> channel_;
    int end_;
    std::string name_;
};

/// A connection whose frames `before_send` sees before they are sent.
class ObservedEnd : public Transport {
public:
    using BeforeSend = std::function<void(std::span<const std::byte> frame)>;

    ObservedEnd(std::unique_ptr<Transport> end, BeforeSend before_send)
        : end_(std::move(end)), before_send_(std::move(before_send)) {}
    void send(std::span<const std::byte> frame) override {
        before_send_(frame);
        end_->send(frame);
    }
    void receive(std::span<std::byte> bytes) override { end_->receive(bytes); }
    std::string peer_name() const override { return end_->peer_name(); }
    void interrupt() noexcept override { end_->interrupt(); }

private:
    std::unique_ptr<Transport> end_;
    BeforeSend before_send_;
};

/// Makes the connections of `connect`, observed.
inline protocol::OfflineOptions::Connect observed(protocol::OfflineOptions::Connect connect,
                                                  ObservedEnd::BeforeSend before_send) {
    return [connect = std::move(connect), before_send = std::move(before_send)] {
        return std::make_unique<ObservedEnd>(connect(), before_send);
    };
}

/// D2. Each call of connect() begins a connection with a thread of its own.
class OfflineServer {
public:
    /// Returns what to send as the answer to frame `frame` of connection `connection`, both from 0,
    /// given the right answer. After an empty or incomplete answer the connection ends.
    using Change = std::function<Bytes(std::size_t connection, std::size_t frame, Bytes answer)>;

    explicit OfflineServer(const Model& model, std::string name = "offline:1", Change change = {})
        : model_(model), name_(std::move(name)), change_(std::move(change)) {}
    ~OfflineServer() { join(); }

    protocol::OfflineOptions::Connect connect() {
        return [this] {
            const auto channel = std::make_shared<Channel>();
            auto ours = std::make_unique<ChannelEnd>(channel, 0, name_);
            const std::lock_guard lock(mutex_);
            const std::size_t number = frames_.size();
            frames_.emplace_back();
            threads_.emplace_back([this, channel, number] { serve(channel, number); });
            return ours;
        };
    }
    /// Whether Charlie has sent a frame of this type.
    bool has(FrameType type) {
        const std::lock_guard lock(mutex_);
        for (const auto& frames : frames_) {
            for (const Bytes& frame : frames) {
                if (protocol::wire::offline_frame_type(payload_of(frame)) == type) return true;
            }
        }
        return false;
    }
    /// The frames that Charlie has sent over each connection, except connections without any. Waits
    /// until all connections have ended.
    const std::vector<std::vector<Bytes>>& frames() {
        join();
        std::erase_if(frames_, [](const std::vector<Bytes>& sent) { return sent.empty(); });
        return frames_;
    }

private:
    void serve(const std::shared_ptr<Channel>& channel, std::size_t number) {
        ChannelEnd end(channel, 1, "charlie");
        const auto session = protocol::make_offline_session(model_.david);
        try {
            for (std::size_t frame = 0; !session->finished(); ++frame) {
                const Bytes received = receive_frame(end);
                {
                    const std::lock_guard lock(mutex_);
                    frames_[number].push_back(received);
                }
                Bytes answer = handle(*session, received);
                if (answer.empty()) continue;
                if (change_) answer = change_(number, frame, std::move(answer));
                end.send(answer);
                if (!is_whole(answer)) return;
            }
        } catch (const ProtocolError&) {
        }
    }
    static std::size_t length_in(const Bytes& frame) {
        std::uint32_t length = 0;
        std::memcpy(&length, frame.data(), sizeof length);
        return length;
    }
    static bool is_whole(const Bytes& frame) {
        constexpr std::size_t field = protocol::wire::length_bytes;
        return frame.size() >= field && frame.size() >= field + length_in(frame);
    }
    static Bytes receive_frame(Transport& end) {
        Bytes frame(protocol::wire::length_bytes);
        end.receive(frame);
        frame.resize(frame.size() + length_in(frame));
        end.receive(std::span(frame).subspan(protocol::wire::length_bytes));
        return frame;
    }
    void join() {
        for (;;) {
            std::list<std::thread> threads;
            {
                const std::lock_guard lock(mutex_);
                threads.splice(threads.end(), threads_);
            }
            if (threads.empty()) return;
            for (std::thread& thread : threads) thread.join();
        }
    }

    const Model& model_;
    const std::string name_;
    const Change change_;
    std::mutex mutex_;
    std::vector<std::vector<Bytes>> frames_;
    std::list<std::thread> threads_;
};

/// The REQUESTs among the frames of a connection.
inline std::vector<protocol::wire::ColumnsHeader> requests_in(const std::vector<Bytes>& frames) {
    std::vector<protocol::wire::ColumnsHeader> requests;
    for (const Bytes& frame : frames) {
        if (protocol::wire::offline_frame_type(payload_of(frame)) != FrameType::request) continue;
        requests.push_back(protocol::wire::decode_request(payload_of(frame)));
    }
    return requests;
}

inline std::vector<std::uint8_t> key_in(const Bytes& frame) {
    std::vector<std::uint8_t> key(32);
    protocol::wire::decode_key(payload_of(frame), std::span<std::uint8_t, 32>(key));
    return key;
}

/// Adds 1 mod L to one residue of the answer.
template <class P>
Bytes with_error(Bytes answer, std::size_t residue) {
    std::byte* const place = answer.data() + protocol::wire::columns_header_bytes +
                             residue * sizeof(typename P::Residue);
    typename P::Residue value{};
    std::memcpy(&value, place, sizeof value);
    value = static_cast<typename P::Residue>((value + 1) % P::p);
    std::memcpy(place, &value, sizeof value);
    return answer;
}

inline protocol::SessionOptions with_offline(std::vector<OfflineServer*> servers,
                                             std::size_t depth = 8) {
    protocol::SessionOptions options = pool_of(depth);
    for (OfflineServer* server : servers) options.offline.peers.push_back(server->connect());
    options.offline.interval = std::chrono::milliseconds(1);
    options.offline.recall.pause = std::chrono::milliseconds(1);
    options.offline.recall.longest = std::chrono::milliseconds(8);
    return options;
}

/// Runs `steps` steps, each with one message of `b` columns to every group.
template <class P>
bool steps_are_exact(protocol::CharlieSession<P>& charlie, const Model& model, std::size_t steps,
                     std::size_t b = 1) {
    for (std::size_t i = 0; i < steps; ++i) {
        charlie.begin_step(b);
        if (!gives_exact_products(charlie, model, b)) return false;
    }
    return true;
}

}  // namespace slip::fixture

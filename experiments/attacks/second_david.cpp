#include "experiments/attacks/second_david.hpp"

#include <algorithm>
#include <deque>

#include "optimized/protocol/offline_david.hpp"

namespace slip::attacks {

namespace wire = protocol::wire;

protocol::DavidSession::Tamper forgery(Tamper tamper) {
    if (!tamper) return {};
    return [tamper = std::move(tamper)](const wire::ColumnsHeader& header,
                                        std::span<std::uint64_t> answer) {
        std::vector<std::int64_t> error(answer.size(), 0);
        tamper(header.group, error);
        for (std::size_t i = 0; i < answer.size(); ++i) {
            answer[i] = (answer[i] + embed(error[i])) % P31::p;
        }
    };
}

/// A connection: what Charlie sends is recorded and answered at once; he may send several frames
/// before he reads an answer (OFF-5).
class SecondDavid::Link : public Transport {
public:
    explicit Link(SecondDavid& owner)
        : owner_(owner), session_(protocol::make_offline_session(owner.model_, owner.forge_)) {}
    void send(std::span<const std::byte> frame) override {
        const auto payload = frame.subspan(wire::length_bytes);
        if (const auto request = owner_.record(payload)) requests_.emplace_back(queued_, *request);
        const auto answer = session_->handle(payload);
        queued_ += answer.size();
        answers_.insert(answers_.end(), answer.begin(), answer.end());
    }
    void receive(std::span<std::byte> bytes) override {
        for (; !requests_.empty() && requests_.front().first == received_; requests_.pop_front()) {
            if (owner_.stall_) owner_.stall_(requests_.front().second);
        }
        if (bytes.size() > answers_.size()) throw ProtocolError("the offline David has no answer");
        const auto end = answers_.begin() + static_cast<std::ptrdiff_t>(bytes.size());
        std::copy(answers_.begin(), end, bytes.begin());
        answers_.erase(answers_.begin(), end);
        received_ += bytes.size();
    }
    std::string peer_name() const override { return "the offline David"; }

private:
    SecondDavid& owner_;
    std::unique_ptr<protocol::DavidSession> session_;
    std::deque<std::byte> answers_;
    std::deque<std::pair<std::size_t, Header>> requests_;  // with the bytes before their answers
    std::size_t queued_ = 0, received_ = 0;
};

SecondDavid::SecondDavid(const Victim& victim, Tamper tamper, Stall stall)
    : forge_(forgery(std::move(tamper))), stall_(std::move(stall)) {
    model_.weights = victim.weights();
    model_.digest = victim.david().digest();
}

protocol::OfflineOptions SecondDavid::options() {
    protocol::OfflineOptions options;
    options.peers.push_back([this] { return std::make_unique<Link>(*this); });
    options.interval = std::chrono::milliseconds(1);
    return options;
}

std::optional<SecondDavid::Header> SecondDavid::record(std::span<const std::byte> payload) {
    const auto type = wire::offline_frame_type(payload);
    const std::lock_guard lock(mutex_);
    if (type == wire::FrameType::key) wire::decode_key(payload, key_);
    if (type != wire::FrameType::request) return std::nullopt;
    return requests_.emplace_back(wire::decode_request(payload));
}

SecondDavid::Key SecondDavid::key() const {
    const std::lock_guard lock(mutex_);
    return key_;
}

std::vector<SecondDavid::Header> SecondDavid::requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
}

}  // namespace slip::attacks

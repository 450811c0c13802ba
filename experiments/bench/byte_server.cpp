#include "experiments/bench/byte_server.hpp"

namespace slip::bench {

std::vector<MessageBytes> message_bytes(const kernels::OffloadedWeights& weights,
                                        std::size_t planes, std::size_t columns) {
    const auto frame = [&](std::size_t elements) {
        return protocol::wire::columns_frame_bytes(columns * planes * elements);
    };
    std::vector<MessageBytes> groups;
    for (const kernels::GroupWeights& group : weights) {
        groups.push_back({frame(group.shape().inputs()), frame(group.shape().outputs())});
    }
    return groups;
}

TlsServer::Serve answer_bytes(const std::vector<MessageBytes>& groups) {
    return [&groups](Transport& charlie) {
        std::vector<std::byte> frame;
        try {
            for (std::size_t g = 0;; g = (g + 1) % groups.size()) {
                frame.resize(groups[g].up);
                charlie.await_frame();
                charlie.receive(frame);
                frame.resize(groups[g].down);
                charlie.send(frame);
            }
        } catch (const ProtocolError&) {  // Charlie has gone
        }
    };
}

}  // namespace slip::bench

#include "experiments/bench/byte_server.hpp"

namespace slip::bench {

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

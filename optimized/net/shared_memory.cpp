#include "slip/shared_memory.hpp"

#include <memory>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/net/named_socket.hpp"
#include "optimized/net/shared_memory_connection.hpp"

namespace slip {

namespace {

using net::OwnDescriptor;
using net::SharedMemoryConnection;
using net::SharedRegion;
using Side = SharedMemoryConnection::Side;

}  // namespace

std::unique_ptr<Transport> offer_shared_memory(int socket, const TimeLimits& limits) {
    OwnDescriptor owned(socket);
    SharedRegion region;
    net::send_region(owned, region);
    return std::make_unique<SharedMemoryConnection>(Side::charlie, std::move(owned),
                                                    std::move(region), limits);
}

std::unique_ptr<Transport> accept_shared_memory(int socket, const TimeLimits& limits) {
    OwnDescriptor owned(socket);
    auto region = net::receive_region(owned, net::Clock::now() + limits.timeout, limits.stop);
    return std::make_unique<SharedMemoryConnection>(Side::david, std::move(owned),
                                                    std::move(region), limits);
}

std::unique_ptr<Transport> connect_shared_memory(const std::filesystem::path& socket,
                                                 const TimeLimits& limits) {
    const std::string name = "shm:" + socket.string();
    try {
        const auto deadline = net::Clock::now() + limits.timeout;
        OwnDescriptor connected = net::connect_to(socket, deadline, limits.stop);
        SharedRegion region;
        net::send_region(connected, region);
        net::await_confirmation(connected, deadline, limits.stop);
        return std::make_unique<SharedMemoryConnection>(Side::charlie, std::move(connected),
                                                        std::move(region), limits, name);
    } catch (const ProtocolError& error) {
        throw ProtocolError(name + ": " + error.what());
    }
}

}  // namespace slip

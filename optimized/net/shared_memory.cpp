#include <memory>
#include <utility>

#include "optimized/net/shared_memory_connection.hpp"
#include "slip/transport.hpp"

namespace slip {

namespace {

using net::OwnDescriptor;
using net::SharedMemoryConnection;
using net::SharedRegion;

}  // namespace

std::unique_ptr<Transport> offer_shared_memory(int socket, const TimeLimits& limits) {
    OwnDescriptor owned(socket);
    SharedRegion region;
    net::send_region(owned, region);
    return std::make_unique<SharedMemoryConnection>(SharedMemoryConnection::Side::charlie,
                                                    std::move(owned), std::move(region), limits);
}

std::unique_ptr<Transport> accept_shared_memory(int socket, const TimeLimits& limits) {
    OwnDescriptor owned(socket);
    auto region = net::receive_region(owned, net::Clock::now() + limits.timeout, limits.stop);
    return std::make_unique<SharedMemoryConnection>(SharedMemoryConnection::Side::david,
                                                    std::move(owned), std::move(region), limits);
}

}  // namespace slip

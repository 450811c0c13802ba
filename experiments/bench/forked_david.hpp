// A David in a process of his own, over loopback TLS.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>

#include "optimized/protocol/david.hpp"
#include "slip/transport.hpp"

namespace slip::bench {

/// Forks a David who serves `model` to one Charlie, bound to `processor`, and connects to him. To
/// be made while this process has one thread. `model` outlives it.
class ForkedDavid {
public:
    ForkedDavid(const protocol::DavidModel& model, std::size_t processor);
    ForkedDavid(const ForkedDavid&) = delete;
    ForkedDavid& operator=(const ForkedDavid&) = delete;
    /// Ends the child.
    ~ForkedDavid();

    Transport& connection() { return *connection_; }

private:
    pid_t child_ = -1;
    std::unique_ptr<Transport> connection_;
};

}  // namespace slip::bench

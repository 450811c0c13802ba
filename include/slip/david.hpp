// David, the untrusted side: multiplies what Charlie has masked.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

#include "slip/export.hpp"
#include "slip/transport.hpp"

namespace SLIP_API slip {

class SLIP_HIDDEN Access;

/// How David serves.
struct DavidOptions {
    /// Threads that share a product, the session's own among them; of several sessions they help
    /// one at a time. 0: as many as the machine runs at once. At most 1024.
    std::size_t threads = 0;
    /// Sessions of a TlsServer or a SharedMemoryServer at one time. A further peer gets REFUSE
    /// busy. There is room for twice as many connections; one more ends a handshake that is under
    /// way, or is closed at once.
    std::size_t max_sessions = 16;
    /// Limits of a server's connections (SESS-8).
    TimeLimits limits = {};
    /// Whether an NVIDIA GPU has the weights and multiplies. It is the machine's first, or the
    /// first that CUDA_VISIBLE_DEVICES leaves, of compute capability 8.0 or later. A process that
    /// forks afterwards can serve in the parent alone.
    bool gpu = false;
};

/// David's half of a split model, shared by all his sessions: every function may be called by
/// several threads at a time. His own threads start with the first session.
class David {
public:
    /// `artifact` is OUT/david, and needs nothing beside it. Throws BadInput for another version, a
    /// digest that does not match, shapes that lie, or a folder that holds Charlie's half.
    /// Also for options.threads beyond 1024, and, naming what failed, where options.gpu finds no
    /// GPU with enough memory and a driver.
    explicit David(const std::filesystem::path& artifact, const DavidOptions& options = {});
    /// One that was moved from can only be assigned to or destroyed.
    David(David&&) noexcept;
    /// As the constructor.
    David& operator=(David&&) noexcept;
    ~David();

    /// Serves one session over `charlie` until its end: CLOSE, ABORT, or a REFUSE that was sent.
    /// Nothing of a session outlives it (SESS-6). Throws ProtocolError if the connection breaks.
    void serve(Transport& charlie) const;

private:
    friend class Access;
    struct SLIP_HIDDEN State;
    std::unique_ptr<State> state_;
};

}  // namespace slip

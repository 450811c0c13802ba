// David, the untrusted side: multiplies what Charlie has masked.
#pragma once

#include <filesystem>
#include <memory>

#include "slip/export.hpp"
#include "slip/transport.hpp"
#include "slip/types.hpp"

namespace SLIP_API slip {

/// David's half of a split model, shared by all his sessions: every function may be called by
/// several threads at a time.
class David {
public:
    /// `artifact` is OUT/david, and needs nothing beside it. Throws BadInput for another version, a
    /// digest that does not match, shapes that lie, or a folder that holds Charlie's half.
    explicit David(const std::filesystem::path& artifact);
    David(David&&) noexcept;
    David& operator=(David&&) noexcept;
    ~David();

    Profile profile() const;

    /// Serves one session over `charlie` until its end: CLOSE, ABORT, or a REFUSE that was sent.
    /// Nothing of a session outlives it (SESS-6). Throws ProtocolError if the connection breaks.
    void serve(Transport& charlie) const;

private:
    struct SLIP_HIDDEN State;
    std::unique_ptr<State> state_;
};

}  // namespace slip

// The errors of the reference. Every precondition is checked, always.
#pragma once

#include <stdexcept>

namespace slip::reference {

/// The caller broke the contract of a function: a shape, a range, or a second use.
class PreconditionError : public std::logic_error {
    using std::logic_error::logic_error;
};

/// The peer broke the protocol, or ended it.
class ProtocolError : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The session is over; nothing can be asked of it any more (SESS-4).
class SessionDeadError : public ProtocolError {
    using ProtocolError::ProtocolError;
};

/// The peer's reply did not pass the integrity check.
class IntegrityError : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Throws PreconditionError with `sentence` unless `condition` holds.
inline void require(bool condition, const char* sentence) {
    if (!condition) throw PreconditionError(sentence);
}

}  // namespace slip::reference

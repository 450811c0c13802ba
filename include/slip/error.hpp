// Typed errors. Messages name the file, field or frame and what was expected, and never contain a
// key, a mask, an activation or a weight. Clause CONV-4.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "slip/export.hpp"

namespace SLIP_API slip {

/// Base of every error that this library throws on purpose.
class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// A file, flag, plan or checkpoint that the user can correct. Programs exit with status 2.
class BadInput : public Error {
public:
    using Error::Error;
};

/// The peer broke the wire format or the order of the session, or the connection failed.
class ProtocolError : public Error {
public:
    using Error::Error;
};

/// Why David refuses a session, or ends it: the reasons of REFUSE (WIRE-7).
enum class Refusal : std::uint8_t {
    version = 1,        ///< he speaks another version of the protocol
    set = 2,            ///< he serves another set of parameters
    digest = 3,         ///< he holds another weight file
    malformed = 4,      ///< a frame was not canonical
    out_of_order = 5,   ///< a frame or its sequence was not the next one
    unknown_group = 6,  ///< he has no such group
    busy = 7,           ///< he cannot serve another session now: the one reason that passes
};

/// David answered REFUSE.
class Refused : public ProtocolError {
public:
    /// `message` says why, for people.
    Refused(Refusal reason, const std::string& message) : ProtocolError(message), reason_(reason) {}
    Refusal reason() const { return reason_; }  ///< for programs

private:
    Refusal reason_;
};

/// A reply failed the integrity check (INTEG-3); the session's secrets are already destroyed, and
/// this process opens no further session with the peer of that name (INTEG-7).
class IntegrityError : public Error {
public:
    using Error::Error;
};

/// A session was asked for with a peer who has sent a wrong reply in this process (INTEG-7).
/// Nothing was sent. Only a restart of the process changes that.
class Distrusted : public ProtocolError {
public:
    /// `peer` is his Transport::peer_name().
    explicit Distrusted(const std::string& peer)
        : ProtocolError(peer +
                        " sent a wrong reply; this process does not go back to it until it is "
                        "restarted"),
          peer_(peer) {}
    const std::string& peer() const { return peer_; }  ///< his name

private:
    std::string peer_;
};

/// Too much is waiting already; the same may be asked again later.
class Overloaded : public Error {
public:
    using Error::Error;
};

/// A precondition of the library was broken by its caller: a defect, never the user's doing.
class InternalError : public Error {
public:
    using Error::Error;
};

}  // namespace slip

// Typed errors. Messages name the file, field or frame and what was expected, and never contain a
// key, a mask, an activation or a weight. Clause CONV-4.
#pragma once

#include <stdexcept>

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

/// A reply failed the integrity check (INTEG-3); the session's secrets are already destroyed.
class IntegrityError : public Error {
public:
    using Error::Error;
};

/// A precondition of the library was broken by its caller: a defect, never the user's doing.
class InternalError : public Error {
public:
    using Error::Error;
};

}  // namespace slip

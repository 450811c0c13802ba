// The version of this library. Its macros, for the preprocessor and for C, are in version.h.
#pragma once

#include "slip/export.hpp"
#include "slip/version.h"

namespace SLIP_API slip {

/// SLIP_VERSION_MAJOR and so on; before 1.0 a minor version may change anything.
/// @{
inline constexpr int version_major = SLIP_VERSION_MAJOR;
inline constexpr int version_minor = SLIP_VERSION_MINOR;
inline constexpr int version_patch = SLIP_VERSION_PATCH;
/// @}

/// SLIP_VERSION of the library that runs: another than the header's if a shared library was
/// replaced.
const char* library_version() noexcept;

}  // namespace slip

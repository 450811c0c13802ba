#include "slip/version.hpp"

namespace slip {

const char* library_version() noexcept { return SLIP_VERSION; }

}  // namespace slip

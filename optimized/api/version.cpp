#include "slip/version.hpp"

#include "optimized/base/parameters.hpp"

namespace slip {

namespace parameters = base::parameters;

static_assert(SLIP_PROTOCOL_VERSION == parameters::protocol_version);
static_assert(SLIP_ARTIFACT_VERSION == parameters::artifact_version);

const char* library_version() noexcept { return SLIP_VERSION; }

}  // namespace slip

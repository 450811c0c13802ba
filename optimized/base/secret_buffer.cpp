#include "optimized/base/secret_buffer.hpp"

#include <string.h>

namespace slip {

void wipe(void* data, std::size_t size) noexcept { explicit_bzero(data, size); }

}  // namespace slip

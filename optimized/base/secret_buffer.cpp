#include "optimized/base/secret_buffer.hpp"

#include <string.h>

namespace slip::base {

void wipe(void* data, std::size_t size) noexcept {
    if (size != 0) explicit_bzero(data, size);  // an empty span may have no address
}

}  // namespace slip::base

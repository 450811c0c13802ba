#include "optimized/net/deadline.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>

namespace slip::net {

int wait_until_ready(int descriptor, short event, Clock::time_point deadline) {
    constexpr std::chrono::milliseconds most = std::chrono::hours(1);  // that poll() is asked for
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
        pollfd request{descriptor, event, 0};
        const int timeout = static_cast<int>(std::clamp(left, left.zero(), most).count());
        const int ready = ::poll(&request, 1, timeout);
        if (ready > 0) return 0;
        if (ready < 0 && errno != EINTR) return errno;
        if (ready == 0 && left <= most) return ETIMEDOUT;
    }
}

}  // namespace slip::net

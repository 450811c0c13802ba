#include "optimized/net/deadline.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace slip::net {

int wait_until_ready(int descriptor, short event, Clock::time_point deadline, int stop) {
    constexpr std::chrono::milliseconds most = std::chrono::hours(1);  // that poll() is asked for
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
        std::array<pollfd, 2> requests{pollfd{descriptor, event, 0}, pollfd{stop, POLLIN, 0}};
        const int timeout = static_cast<int>(std::clamp(left, left.zero(), most).count());
        const int ready = ::poll(requests.data(), requests.size(), timeout);
        if (ready > 0) return requests[1].revents == 0 ? 0 : ECANCELED;
        if (ready < 0 && errno != EINTR) return errno;
        if (ready == 0 && left <= most) return ETIMEDOUT;
    }
}

bool stop_asked(int stop) {
    pollfd request{stop, POLLIN, 0};
    return ::poll(&request, 1, 0) > 0;
}

bool peer_ended(int descriptor) {
    pollfd request{descriptor, POLLRDHUP, 0};
    return ::poll(&request, 1, 0) > 0;
}

}  // namespace slip::net

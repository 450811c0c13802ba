// Processor time, for the work that is done ahead of use and shares the machine with the rest.
#pragma once

#include <time.h>

namespace slip::protocol {

/// Seconds that the calling thread has spent on a processor.
inline double thread_seconds() noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace slip::protocol

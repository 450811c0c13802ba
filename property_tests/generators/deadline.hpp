// The end of a test that hangs.
#pragma once

#include <unistd.h>

namespace slip::testing {

/// Ends the test program if this object lives for 100 seconds.
struct Deadline {
    Deadline() { ::alarm(100); }
    Deadline(const Deadline&) = delete;
    Deadline& operator=(const Deadline&) = delete;
    ~Deadline() { ::alarm(0); }
};

}  // namespace slip::testing

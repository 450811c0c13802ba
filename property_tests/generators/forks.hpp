// What holds in a forked child, and what is kept from it.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "optimized/base/error.hpp"

namespace slip::testing {

/// Runs `body` in a forked process; true iff it returned true there.
template <class Body>
bool holds_in_a_fork(const Body& body) {
    const pid_t child = ::fork();
    if (child == 0) {
        bool held = false;
        try {
            held = body();
        } catch (...) {
            held = false;
        }
        ::_exit(held ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

template <class Call>
bool throws_internal_error(const Call& call) {
    try {
        call();
    } catch (const InternalError&) {
        return true;
    }
    return false;
}

/// Maps of this process that forked children see as zeros and core dumps leave out.
inline int guarded_pages() {
    std::ifstream maps("/proc/self/smaps");
    int found = 0;
    for (std::string line; std::getline(maps, line);) {
        if (line.rfind("VmFlags:", 0) != 0) continue;
        found += line.find(" wf") != std::string::npos && line.find(" dd") != std::string::npos;
    }
    return found;
}

}  // namespace slip::testing

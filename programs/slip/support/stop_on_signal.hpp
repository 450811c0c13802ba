// Servers end when they are asked to.
#pragma once

#include <signal.h>

#include <functional>
#include <thread>

namespace slip::tool {

/// Blocks SIGTERM, SIGINT and SIGHUP in this thread and in every thread it starts from now on. A
/// SIGHUP that is ignored, as under nohup, stays ignored; so does SIGPIPE from now on.
sigset_t block_stop_signals();

/// What a server does when a signal arrives, in a thread of its own.
struct OnSignal {
    std::function<void()> stop;        ///< at the first one
    std::function<void()> again = {};  ///< at the second one; empty: there is none
    /// At SIGHUP, by which services are told to read their files again. Where stderr is a terminal
    /// it means that this is gone, and is like SIGTERM. Must not throw.
    std::function<void()> reload = {};
};

/// Waits for the blocked `signals`. Calls `stop` at the latest when it is destroyed.
class StopOnSignal {
public:
    StopOnSignal(const sigset_t& signals, OnSignal actions);
    StopOnSignal(const StopOnSignal&) = delete;
    StopOnSignal& operator=(const StopOnSignal&) = delete;
    ~StopOnSignal();

private:
    void wait() const;

    const sigset_t signals_;
    const OnSignal actions_;
    const bool on_terminal_;
    std::thread watcher_;
};

}  // namespace slip::tool

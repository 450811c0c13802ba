// Servers end when they are asked to.
#pragma once

#include <signal.h>

#include <functional>
#include <thread>

namespace slip::tool {

/// Blocks SIGTERM, SIGINT and SIGHUP in this thread and in every thread it starts from now on. A
/// SIGHUP that is ignored, as under nohup, stays ignored; so does SIGPIPE from now on.
sigset_t block_stop_signals();

/// Calls `stop` when one of the blocked `signals` arrives, or at the latest when it is destroyed,
/// and `again` when another one arrives after that.
class StopOnSignal {
public:
    StopOnSignal(const sigset_t& signals, std::function<void()> stop,
                 std::function<void()> again = {});
    StopOnSignal(const StopOnSignal&) = delete;
    StopOnSignal& operator=(const StopOnSignal&) = delete;
    ~StopOnSignal();

private:
    std::thread watcher_;
};

}  // namespace slip::tool

#include "programs/slip/stop_on_signal.hpp"

#include <pthread.h>

#include <utility>

namespace slip::tool {

sigset_t block_stop_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    struct sigaction at_hangup {};
    sigaction(SIGHUP, nullptr, &at_hangup);
    if (at_hangup.sa_handler != SIG_IGN) sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    signal(SIGPIPE, SIG_IGN);  // of a log whose reader is gone
    return signals;
}

StopOnSignal::StopOnSignal(const sigset_t& signals, std::function<void()> stop,
                           std::function<void()> again)
    : watcher_([signals, stop = std::move(stop), again = std::move(again)] {
          int number = 0;
          sigwait(&signals, &number);
          stop();
          if (!again) return;
          sigwait(&signals, &number);
          again();
      }) {}

StopOnSignal::~StopOnSignal() {
    // Ends the waits if nothing else has: blocked in every thread, they are taken by sigwait. The
    // thread has not been joined, so its handle is good even if it has ended.
    // NOLINTNEXTLINE(bugprone-bad-signal-to-kill-thread)
    for (const int number : {SIGTERM, SIGINT}) pthread_kill(watcher_.native_handle(), number);
    watcher_.join();
}

}  // namespace slip::tool

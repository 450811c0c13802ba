#include "programs/slip/support/stop_on_signal.hpp"

#include <pthread.h>
#include <unistd.h>

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

StopOnSignal::StopOnSignal(const sigset_t& signals, OnSignal actions)
    : signals_(signals),
      actions_(std::move(actions)),
      on_terminal_(::isatty(STDERR_FILENO) == 1),
      watcher_([this] {
          wait();
          actions_.stop();
          if (!actions_.again) return;
          wait();
          actions_.again();
      }) {}

/// Returns when a signal to stop has come.
void StopOnSignal::wait() const {
    int number = 0;
    while (sigwait(&signals_, &number) == 0 && number == SIGHUP && !on_terminal_) {
        actions_.reload();
    }
}

StopOnSignal::~StopOnSignal() {
    // Ends the waits if nothing else has: blocked in every thread, they are taken by sigwait. The
    // thread has not been joined, so its handle is good even if it has ended.
    // NOLINTNEXTLINE(bugprone-bad-signal-to-kill-thread)
    for (const int number : {SIGTERM, SIGINT}) pthread_kill(watcher_.native_handle(), number);
    watcher_.join();
}

}  // namespace slip::tool

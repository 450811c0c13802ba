// Processor time: what work takes of a machine that it shares, however long it waits meanwhile.
#pragma once

#include <time.h>

namespace slip::base {

/// Seconds that the calling thread has spent on a processor.
inline double thread_seconds() noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Adds up the processor time of work while a Run exists, but for the time in which a Pause does.
/// Both belong to the thread that does the work, one at a time.
class WorkClock {
public:
    /// A piece of work. Requires that no other is under way.
    class Run {
    public:
        explicit Run(WorkClock& clock) : clock_(clock) { clock_.start(); }
        Run(const Run&) = delete;
        Run& operator=(const Run&) = delete;
        ~Run() { clock_.stop(); }

    private:
        WorkClock& clock_;
    };

    /// What is done between its parts and is not of it. Does nothing where no work is under way.
    class Pause {
    public:
        explicit Pause(WorkClock& clock) : clock_(clock), paused_(clock.running_) {
            if (paused_) clock_.stop();
        }
        Pause(const Pause&) = delete;
        Pause& operator=(const Pause&) = delete;
        ~Pause() {
            if (paused_) clock_.start();
        }

    private:
        WorkClock& clock_;
        const bool paused_;
    };

    /// Of all work that has ended.
    double seconds() const { return seconds_; }

private:
    void start() {
        running_ = true;
        since_ = thread_seconds();
    }
    void stop() {
        seconds_ += thread_seconds() - since_;
        running_ = false;
    }

    double seconds_ = 0;
    double since_ = 0;  // the thread's processor time when the clock was last started
    bool running_ = false;
};

}  // namespace slip::base

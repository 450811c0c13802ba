// The one flag that every wait of a server looks at: SERVE-9.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace slip::tool {

/// How far a server has been asked to stop. For any thread.
class Stopping {
public:
    Stopping();
    Stopping(const Stopping&) = delete;
    Stopping& operator=(const Stopping&) = delete;
    ~Stopping();

    /// From now on there may be something that was begun; `give_up` ends it. Until finished().
    void begun(std::function<void()> give_up);
    void finished();

    /// What was begun is to be completed; where that is nothing, every wait is over.
    void ask();
    /// Nothing is completed any more. Calls `give_up`.
    void at_once();

    /// Whether it has been asked to stop, at the latest after `limit`.
    bool within(std::chrono::milliseconds limit);
    /// Returns when it has been asked to.
    void wait();
    /// TimeLimits::stop: readable when every wait is over.
    int descriptor() const { return descriptor_; }

    /// The server has ended.
    void end();
    /// Whether it has, at the latest after `limit`.
    bool ended_within(std::chrono::milliseconds limit);

private:
    void call_off();

    const int descriptor_;  // an eventfd
    std::mutex mutex_;      // guards what follows
    std::condition_variable changed_;
    std::function<void()> give_up_;  // empty: nothing was begun
    bool asked_ = false;
    bool ended_ = false;
};

}  // namespace slip::tool

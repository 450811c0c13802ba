// What a Scheduler's threads share: the generations that have not ended, those of them that wait,
// and the counters that its owner reads.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "optimized/serving/generation.hpp"
#include "slip/scheduler.hpp"

namespace slip::serving {

using Clock = std::chrono::steady_clock;
using Generations = std::vector<std::shared_ptr<Generation>>;

class Queue {
public:
    /// `options` outlive it, and are in their ranges.
    explicit Queue(const SchedulerOptions& options) : options_(options) {}

    // For any thread; see Scheduler.
    std::vector<Scheduler::Id> submit(std::vector<Submission> submissions);
    void cancel(Scheduler::Id generation);
    void drain();
    void stop();
    SchedulerStatistics statistics() const;

    // For the loop's thread, which calls serve_here() first.

    /// The calling thread is the one that drain() would wait for.
    void serve_here();
    /// Waits until something is submitted or cancelled, or the loop is to stop.
    void wait();
    /// The same, until `time` at the latest.
    void wait_until(Clock::time_point time);
    /// Waits until there is also anything that waits.
    void wait_for_work();
    /// The same, for so long at most; whether there is work.
    bool has_work_within(std::chrono::milliseconds time);
    /// Whether the loop goes on. What was submitted or cancelled so far is waited for no longer.
    bool begin_round();

    /// Those that have not ended, the oldest first.
    Generations all() const;
    /// The oldest that waits, and waits no longer; null if there is none.
    std::shared_ptr<Generation> next();
    /// These wait no longer.
    void withdraw(const Generations& generations);
    /// It has ended.
    void erase(const Generation& generation);
    /// Calls change(statistics), while nobody else reads or writes them.
    template <class Change>
    void record(const Change& change) {
        const std::lock_guard lock(mutex_);
        change(statistics_);
    }

private:
    void require_quotas(const std::vector<Submission>& submissions) const;
    bool asked() const { return attention_ || stopping_; }
    bool has_work() const { return asked() || !waiting_.empty(); }

    const SchedulerOptions& options_;

    mutable std::mutex mutex_;  // guards all that follows
    std::condition_variable changed_;
    std::condition_variable ended_;
    std::deque<std::shared_ptr<Generation>> waiting_;
    std::map<Scheduler::Id, std::shared_ptr<Generation>> unended_;  // waiting and live
    Scheduler::Id next_id_ = 1;
    SchedulerStatistics statistics_;
    bool attention_ = false;  // a generation was submitted or cancelled
    bool draining_ = false;
    bool stopping_ = false;
    std::thread::id thread_;
};

}  // namespace slip::serving

#include "optimized/serving/queue.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "optimized/base/error.hpp"
#include "slip/error.hpp"

namespace slip::serving {

std::vector<Scheduler::Id> Queue::submit(std::vector<Submission> submissions) {
    const std::lock_guard lock(mutex_);
    if (draining_) throw Overloaded("no further generations are taken: the scheduler drains");
    require_quotas(submissions);
    if (unended_.size() + submissions.size() > options_.live + options_.waiting) {
        throw Overloaded(std::to_string(unended_.size()) +
                         " generations are live or waiting already: expected at most " +
                         std::to_string(options_.live + options_.waiting) + " with " +
                         std::to_string(submissions.size()) + " more");
    }
    std::vector<Scheduler::Id> ids;
    for (Submission& each : submissions) {
        ids.push_back(next_id_++);
        auto generation = std::make_shared<Generation>(ids.back(), std::move(each));
        unended_.emplace(ids.back(), generation);
        waiting_.push_back(std::move(generation));
    }
    attention_ = true;
    changed_.notify_all();
    return ids;
}

/// Throws Overloaded if more generations of a tenant would wait than may. mutex_ is held.
void Queue::require_quotas(const std::vector<Submission>& submissions) const {
    const std::size_t places = options_.live - (unended_.size() - waiting_.size());
    std::map<std::string, std::size_t> waiting;
    auto count = [&, at = std::size_t{0}](const std::string& tenant, bool is_new) mutable {
        if (at++ < places) return;  // it is live in the next step
        if (++waiting[tenant] <= options_.waiting_per_tenant || !is_new) return;
        throw Overloaded("the tenant has " + std::to_string(options_.waiting_per_tenant) +
                         " generations that wait already");
    };
    for (const auto& each : waiting_) count(each->request.tenant, false);
    for (const Submission& each : submissions) count(each.request.tenant, true);
}

void Queue::cancel(Scheduler::Id generation) {
    const std::lock_guard lock(mutex_);
    const auto found = unended_.find(generation);
    if (found == unended_.end()) return;
    found->second->cancelled = true;
    attention_ = true;
    changed_.notify_all();
}

void Queue::drain() {
    std::unique_lock lock(mutex_);
    base::require(std::this_thread::get_id() != thread_,
                  "Scheduler::drain: called by on_token or on_end, which it would wait for");
    draining_ = true;
    ended_.wait(lock, [&] { return unended_.empty(); });
}

void Queue::stop() {
    const std::lock_guard lock(mutex_);
    draining_ = stopping_ = true;
    changed_.notify_all();
}

SchedulerStatistics Queue::statistics() const {
    const std::lock_guard lock(mutex_);
    SchedulerStatistics now = statistics_;
    now.waiting = waiting_.size();
    now.live = unended_.size() - waiting_.size();
    return now;
}

void Queue::serve_here() {
    const std::lock_guard lock(mutex_);
    thread_ = std::this_thread::get_id();
}

void Queue::wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return asked(); });
}

void Queue::wait_until(Clock::time_point time) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, time, [&] { return asked(); });
}

void Queue::wait_for_work() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return has_work(); });
}

bool Queue::has_work_within(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [&] { return has_work(); });
}

bool Queue::begin_round() {
    const std::lock_guard lock(mutex_);
    attention_ = false;
    return !stopping_;
}

Generations Queue::all() const {
    const std::lock_guard lock(mutex_);
    Generations generations;
    generations.reserve(unended_.size());
    for (const auto& [id, generation] : unended_) generations.push_back(generation);
    return generations;
}

std::shared_ptr<Generation> Queue::next() {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) return nullptr;
    std::shared_ptr<Generation> oldest = std::move(waiting_.front());
    waiting_.pop_front();
    return oldest;
}

void Queue::withdraw(const Generations& generations) {
    const std::lock_guard lock(mutex_);
    std::erase_if(waiting_, [&](const auto& one) {
        return std::find(generations.begin(), generations.end(), one) != generations.end();
    });
}

void Queue::erase(const Generation& generation) {
    const std::lock_guard lock(mutex_);
    ++statistics_.generations;
    unended_.erase(generation.id);
    if (unended_.empty()) ended_.notify_all();
}

}  // namespace slip::serving

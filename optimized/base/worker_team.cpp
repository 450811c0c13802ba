#include "optimized/base/worker_team.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace slip::base {

struct WorkerTeam::State {
    explicit State(std::size_t threads);
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() { stop(); }

    void work();
    void stop();
    /// Makes calls until none is left.
    void help(const Task& with) {
        for (std::size_t i = next++; i < with.count; i = next++) with.call(with.work, i);
    }

    std::mutex turn;  // held by the caller whom the workers help

    std::mutex mutex;  // guards what follows
    std::condition_variable begun;
    std::condition_variable ended;
    Task task;
    std::uint64_t number = 0;  // of the task
    bool open = false;         // workers may still join it
    std::size_t helping = 0;
    bool stopping = false;

    std::atomic<std::size_t> next = 0;  // the next call of the task
    std::vector<std::thread> workers;
};

/// A worker's life. Who wakes up late finds the task closed, and nobody has waited for him.
void WorkerTeam::State::work() {
    std::uint64_t last = 0;
    std::unique_lock lock(mutex);
    for (;;) {
        begun.wait(lock, [&] { return stopping || (open && number != last); });
        if (stopping) return;
        last = number;
        const Task own = task;
        ++helping;
        lock.unlock();
        help(own);
        lock.lock();
        if (--helping == 0) ended.notify_one();
    }
}

/// If a worker cannot be started, those who were are sent home.
WorkerTeam::State::State(std::size_t threads) {
    try {
        for (std::size_t i = 1; i < threads; ++i) workers.emplace_back([this] { work(); });
    } catch (...) {
        stop();
        throw;
    }
}

void WorkerTeam::State::stop() {
    {
        const std::lock_guard lock(mutex);
        stopping = true;
    }
    begun.notify_all();
    for (std::thread& worker : workers) worker.join();
}

WorkerTeam::WorkerTeam(std::size_t threads) : state_(std::make_unique<State>(threads)) {}

WorkerTeam::~WorkerTeam() = default;

std::size_t WorkerTeam::threads() const { return state_->workers.size() + 1; }

void WorkerTeam::run_task(const Task& task) {
    const std::unique_lock turn(state_->turn, std::try_to_lock);
    if (!turn || task.count < 2 || state_->workers.empty()) {
        for (std::size_t i = 0; i < task.count; ++i) task.call(task.work, i);
        return;
    }
    {
        const std::lock_guard lock(state_->mutex);
        state_->task = task;
        state_->next = 0;
        state_->open = true;
        ++state_->number;
    }
    state_->begun.notify_all();
    state_->help(task);
    std::unique_lock lock(state_->mutex);
    state_->open = false;
    state_->ended.wait(lock, [&] { return state_->helping == 0; });
}

}  // namespace slip::base

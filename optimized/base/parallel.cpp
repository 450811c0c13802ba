#include "optimized/base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace slip::base {
namespace {

/// The calls that are still to be made, shared by the threads.
class Calls {
public:
    Calls(std::size_t count, const std::function<void(std::size_t)>& work)
        : count_(count), work_(work) {}

    /// Makes calls until none is left or one has failed.
    void run() noexcept {
        try {
            for (std::size_t i = next_++; i < count_; i = next_++) work_(i);
        } catch (...) {
            next_ = count_;
            const std::lock_guard lock(mutex_);
            failure_ = std::current_exception();
        }
    }
    void rethrow() const {
        if (failure_) std::rethrow_exception(failure_);
    }

private:
    std::atomic<std::size_t> next_ = 0;
    std::size_t count_;
    const std::function<void(std::size_t)>& work_;
    std::mutex mutex_;
    std::exception_ptr failure_;
};

}  // namespace

void parallel_for(std::size_t threads, std::size_t count,
                  const std::function<void(std::size_t)>& work) {
    Calls calls(count, work);
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < std::min(threads, count); ++i) {
        others.emplace_back([&calls] { calls.run(); });
    }
    calls.run();
    others.clear();  // joins
    calls.rethrow();
}

std::size_t available_threads() { return std::max(1U, std::thread::hardware_concurrency()); }

}  // namespace slip::base

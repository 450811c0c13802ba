#include "optimized/c_api/handles.hpp"

namespace slip::c_api {

std::uintptr_t new_number() {
    static std::atomic<std::uintptr_t> last{0};
    return ++last;
}

HeldScheduler::Visit::Visit(HeldScheduler& held) : held_(held) {
    const std::lock_guard lock(held_.mutex_);
    if (held_.freed_) throw StatusError(SLIP_INVALID_HANDLE, "the scheduler was freed");
    ++held_.visits_;
}

HeldScheduler::Visit::~Visit() {
    const std::lock_guard lock(held_.mutex_);
    --held_.visits_;
    held_.left_.notify_all();
}

void HeldScheduler::free() {
    {
        const std::lock_guard lock(mutex_);
        freed_ = true;
    }
    scheduler_->stop();  // whoever drains it returns
    std::unique_lock lock(mutex_);
    left_.wait(lock, [&] { return visits_ == 0; });
    lock.unlock();  // its last callbacks take the lock, and are refused
    scheduler_.reset();
}

void HeldScheduler::require_outside() const {
    if (Callback::current() != this) return;
    throw StatusError(SLIP_BUSY,
                      "called from a callback of the scheduler, which it would wait for");
}

const HeldScheduler*& HeldScheduler::Callback::current() {
    thread_local const HeldScheduler* scheduler = nullptr;
    return scheduler;
}

std::shared_ptr<HeldScheduler> HeldLanguageModel::run_in_scheduler(
    const SchedulerOptions& options) {
    const InUse in_use(busy_);
    const std::unique_lock lock(place_);
    if (dependents_ > 0) {
        throw StatusError(SLIP_BUSY, "sequences or text streams of the model are open");
    }
    if (!model_) throw StatusError(SLIP_BUSY, "the model runs in a scheduler");
    LanguageModel model = std::move(*model_);
    model_.reset();
    scheduler_ = std::make_shared<HeldScheduler>(std::move(model), options);
    return scheduler_;
}

}  // namespace slip::c_api

#include "programs/slip/support/stopping.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace slip::tool {
namespace {

int new_eventfd() {
    const int descriptor = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (descriptor < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
    return descriptor;
}

}  // namespace

Stopping::Stopping() : descriptor_(new_eventfd()) {}

Stopping::~Stopping() { ::close(descriptor_); }

void Stopping::begun(std::function<void()> give_up) {
    const std::lock_guard lock(mutex_);
    give_up_ = std::move(give_up);
}

void Stopping::finished() {
    const std::lock_guard lock(mutex_);
    give_up_ = {};
    call_off();
}

void Stopping::ask() {
    const std::lock_guard lock(mutex_);
    asked_ = true;
    if (!give_up_) call_off();
    changed_.notify_all();
}

void Stopping::at_once() {
    const std::lock_guard lock(mutex_);
    call_off();
    if (give_up_) give_up_();
}

void Stopping::call_off() { ::eventfd_write(descriptor_, 1); }

bool Stopping::within(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, [&] { return asked_; });
}

void Stopping::wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return asked_; });
}

void Stopping::end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
}

bool Stopping::ended_within(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, [&] { return ended_; });
}

}  // namespace slip::tool

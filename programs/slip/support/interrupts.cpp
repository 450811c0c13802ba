#include "programs/slip/support/interrupts.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>

#include "slip/error.hpp"

namespace slip::tool {
namespace {

std::atomic<bool> noted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");
/// A pipe that a signal writes to, so that whoever waits for input learns of it.
std::array<int, 2> wake{-1, -1};

extern "C" void note_interrupt(int) {
    const int number = errno;
    noted = true;
    [[maybe_unused]] const ssize_t written = ::write(wake[1], "", 1);  // a full pipe wakes as well
    errno = number;
}

}  // namespace

void catch_interrupts() {
    if (::pipe2(wake.data(), O_CLOEXEC | O_NONBLOCK) != 0) throw BadInput("there is no pipe left");
    struct sigaction action {};
    action.sa_handler = note_interrupt;
    action.sa_flags = SA_RESTART;
    sigaction(SIGINT, &action, nullptr);
}

bool interrupted() { return noted; }

void forget_interrupts() {
    std::array<char, 64> bytes;
    while (::read(wake[0], bytes.data(), bytes.size()) > 0) {
    }
    noted = false;
}

bool wait_for_input() {
    std::array<pollfd, 2> sources{pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{wake[0], POLLIN, 0}};
    while (::poll(sources.data(), sources.size(), -1) < 0 && errno == EINTR) {
    }
    return sources[1].revents == 0;
}

}  // namespace slip::tool

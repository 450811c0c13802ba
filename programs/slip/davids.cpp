#include "programs/slip/davids.hpp"

#include <chrono>
#include <exception>
#include <iostream>
#include <sstream>
#include <utility>

#include "optimized/protocol/wrong_peers.hpp"
#include "programs/slip/printable.hpp"
#include "slip/error.hpp"

namespace slip::tool {
namespace {

/// Charlie's user learns what is being waited for when a wait has lasted so long.
constexpr std::chrono::seconds hint_after{30};

void hint(const Endpoint& david) {
    std::ostringstream line;  // one write: another thread may be writing too
    line << "slip: note: David at " << printable(describe(david)) << " has not answered for "
         << hint_after.count() << " s; waiting on, within --timeout and --patience\n";
    std::cerr << line.str() << std::flush;
}

std::vector<Davids::Known> davids_of(const Options& options) {
    std::vector<Davids::Known> davids;
    for (const std::string& text : options.all("david")) {
        davids.push_back({parse_endpoint(text, "--david")});
    }
    return davids;
}

}  // namespace

Davids::Davids(const Options& options, const TimeLimits& limits)
    : certificates_(options.required("tls")),
      limits_(limits),
      known_(davids_of(options)),
      slow_(hint_after, [this] { hint(current()); }) {}

std::unique_ptr<Transport> Davids::connect() {
    const std::size_t first = leave();
    std::exception_ptr unreachable;
    for (std::size_t i = 0; i < known_.size(); ++i) {
        const std::size_t index = (first + i) % known_.size();
        if (known()[index].state == State::wrong) continue;
        try {
            return connect_to(index);
        } catch (const ProtocolError&) {
            note(index, State::unreachable);
            unreachable = std::current_exception();
        }
    }
    if (unreachable) std::rethrow_exception(unreachable);
    throw Distrusted(describe(current()));
}

/// The session with the current one has ended. Returns whom to call first.
std::size_t Davids::leave() {
    const std::lock_guard lock(mutex_);
    for (Known& david : known_) {
        if (protocol::WrongPeers::of_process().has(describe(david.endpoint))) {
            david.state = State::wrong;
        }
    }
    if (!std::exchange(begun_, true)) return 0;
    if (known_[current_].state == State::connected) known_[current_].state = State::left;
    return (current_ + 1) % known_.size();
}

std::unique_ptr<Transport> Davids::connect_to(std::size_t index) {
    const Endpoint endpoint = known()[index].endpoint;
    {
        const std::lock_guard lock(mutex_);
        current_ = index;
    }
    auto connection = slow_.during([&] { return connect_tls(endpoint, certificates_, limits_); });
    note(index, State::connected);
    return std::make_unique<net::WatchedTransport>(
        std::move(connection), std::shared_ptr<net::SlowPeer>(shared_from_this(), &slow_));
}

void Davids::note(std::size_t index, State state) {
    const std::lock_guard lock(mutex_);
    known_[index].state = state;
}

Endpoint Davids::current() const {
    const std::lock_guard lock(mutex_);
    return known_[current_].endpoint;
}

std::vector<Davids::Known> Davids::known() const {
    const std::lock_guard lock(mutex_);
    return known_;
}

}  // namespace slip::tool

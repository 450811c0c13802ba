#include "programs/slip/davids.hpp"

#include <chrono>
#include <iostream>
#include <sstream>

#include "programs/slip/printable.hpp"
#include "programs/slip/tls_flags.hpp"
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

Davids::Davids(const Options& options)
    : certificates_(options.required("tls")),
      limits_(time_limits(options)),
      known_(davids_of(options)),
      slow_(hint_after, [this] { hint(current()); }) {}

std::unique_ptr<Transport> Davids::connect() {
    std::size_t first = 0;
    {
        const std::lock_guard lock(mutex_);
        if (begun_) first = (current_ + 1) % known_.size();
        if (begun_ && known_[current_].state == State::connected) {
            known_[current_].state = State::left;
        }
        begun_ = true;
    }
    for (std::size_t i = 0;; ++i) {
        try {
            return connect_to((first + i) % known_.size());
        } catch (const ProtocolError&) {
            note((first + i) % known_.size(), State::unreachable);
            if (i + 1 == known_.size()) throw;
        }
    }
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

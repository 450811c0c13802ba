#include "programs/slip/davids.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <iostream>
#include <sstream>
#include <utility>

#include "optimized/protocol/wrong_peers.hpp"
#include "programs/slip/printable.hpp"
#include "slip/error.hpp"
#include "slip/shared_memory.hpp"
#include "slip/tls.hpp"

namespace slip::tool {
namespace {

/// Charlie's user learns what is being waited for when a wait has lasted so long.
constexpr std::chrono::seconds hint_after{30};

void hint(const Address& david) {
    std::ostringstream line;  // one write: another thread may be writing too
    line << "slip: note: David at " << printable(describe(david)) << " has not answered for "
         << hint_after.count() << " s; waiting on, within --timeout and --patience\n";
    std::cerr << line.str() << std::flush;
}

std::vector<Davids::Known> davids_of(const Options& options) {
    std::vector<Davids::Known> davids;
    for (const std::string& text : options.all("david")) {
        davids.push_back({parse_address(text, "--david")});
    }
    return davids;
}

/// --tls, which some of them need, or else none has a use for.
std::filesystem::path certificates_of(const Options& options,
                                      const std::vector<Davids::Known>& davids) {
    if (std::all_of(davids.begin(), davids.end(),
                    [](const auto& david) { return david.address.in_memory(); })) {
        options.forbid("tls", "with --david shm:NAME alone");
        return {};
    }
    if (options.has("tls")) return options.required("tls");
    throw BadInput(
        "--david needs --tls, the folder TLS/charlie that 'slip keys' wrote for this machine, the "
        "trusted one");
}

}  // namespace

Davids::Davids(const Options& options, const TimeLimits& limits)
    : limits_(limits),
      known_(davids_of(options)),
      certificates_(certificates_of(options, known_)),
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
        if (protocol::WrongPeers::of_process().has(describe(david.address))) {
            david.state = State::wrong;
        }
    }
    if (!std::exchange(begun_, true)) return 0;
    if (known_[current_].state == State::connected) known_[current_].state = State::left;
    return (current_ + 1) % known_.size();
}

std::unique_ptr<Transport> Davids::connect_to(std::size_t index) {
    const Address address = known()[index].address;
    {
        const std::lock_guard lock(mutex_);
        current_ = index;
    }
    auto connection = slow_.during([&] { return call(address); });
    note(index, State::connected);
    return std::make_unique<net::WatchedTransport>(
        std::move(connection), std::shared_ptr<net::SlowPeer>(shared_from_this(), &slow_));
}

std::unique_ptr<Transport> Davids::call(const Address& address) const {
    if (address.in_memory()) return connect_shared_memory(address.socket, limits_);
    return connect_tls(address.endpoint, certificates_, limits_);
}

void Davids::note(std::size_t index, State state) {
    const std::lock_guard lock(mutex_);
    known_[index].state = state;
}

Address Davids::current() const {
    const std::lock_guard lock(mutex_);
    return known_[current_].address;
}

std::vector<Davids::Known> Davids::known() const {
    const std::lock_guard lock(mutex_);
    return known_;
}

}  // namespace slip::tool

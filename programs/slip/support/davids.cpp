#include "programs/slip/support/davids.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <iostream>
#include <sstream>
#include <utility>

#include "optimized/artifact/artifact.hpp"
#include "optimized/artifact/layout.hpp"
#include "optimized/base/files.hpp"
#include "optimized/protocol/wrong_peers.hpp"
#include "programs/slip/support/printable.hpp"
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

std::vector<Address> addresses_of(const Options& options) {
    std::vector<Address> addresses;
    for (const std::string& text : options.all("david")) {
        addresses.push_back(parse_address(text, "--david"));
    }
    return addresses;
}

/// MODEL-22: how many Davids a session has.
std::size_t shards_of(const Options& options) {
    namespace layout = artifact::layout;
    const auto plan = std::filesystem::path(options.required("artifact")) / layout::charlie_folder /
                      layout::charlie_description;
    return artifact::parse_charlie_description(base::read_file(plan), plan).shards.size();
}

/// --tls, which some of them need, or else none has a use for.
std::filesystem::path certificates_of(const Options& options, const std::vector<Address>& davids) {
    if (std::ranges::all_of(davids, [](const Address& david) { return david.in_memory(); })) {
        options.forbid("tls", "with --david shm:NAME alone");
        return {};
    }
    if (options.has("tls")) return options.required("tls");
    throw BadInput(
        "--david needs --tls, the folder TLS/charlie that 'slip keys' wrote for this machine, the "
        "trusted one");
}

}  // namespace

Davids::Davids(const std::vector<Address>& addresses, std::filesystem::path certificates,
               const TimeLimits& limits)
    : limits_(limits),
      certificates_(std::move(certificates)),
      slow_(hint_after, [this] { hint(current()); }) {
    for (const Address& address : addresses) known_.push_back({address});
}

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

ShardDavids::ShardDavids(const Options& options, const TimeLimits& limits) {
    const std::vector<Address> addresses = addresses_of(options);
    const std::size_t shards = shards_of(options);
    if (addresses.size() % shards != 0) {
        throw BadInput("--david was given " + std::to_string(addresses.size()) +
                       " times: expected one for each of the " + std::to_string(shards) +
                       " shards of " + options.required("artifact") + ", or several for each");
    }
    const auto certificates = certificates_of(options, addresses);
    for (std::size_t i = 0; i < shards; ++i) {
        std::vector<Address> own;
        for (std::size_t at = i; at < addresses.size(); at += shards) own.push_back(addresses[at]);
        shards_.push_back(std::make_shared<Davids>(own, certificates, limits));
    }
}

std::vector<Connect> ShardDavids::connects() const {
    std::vector<Connect> connects;
    connects.reserve(shards_.size());
    for (const auto& davids : shards_) {
        connects.emplace_back([davids] { return davids->connect(); });
    }
    return connects;
}

std::vector<Davids::Known> ShardDavids::known() const {
    std::vector<Davids::Known> all;
    for (const auto& davids : shards_) {
        for (Davids::Known& david : davids->known()) all.push_back(std::move(david));
    }
    return all;
}

std::vector<Address> ShardDavids::current() const {
    std::vector<Address> all;
    all.reserve(shards_.size());
    for (const auto& davids : shards_) all.push_back(davids->current());
    return all;
}

double ShardDavids::waiting() const {
    double longest = 0;
    for (const auto& davids : shards_) longest = std::max(longest, davids->waiting());
    return longest;
}

}  // namespace slip::tool

// --david, once or several times: the Davids of whom a session has one, or one per shard.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "optimized/net/slow_peer.hpp"
#include "programs/slip/support/addresses.hpp"
#include "programs/slip/support/options.hpp"
#include "slip/charlie.hpp"
#include "slip/transport.hpp"

namespace slip::tool {

/// Those of one shard, or of a split that is not divided: leads to one after the other. Called by
/// any thread; its connections keep it.
class Davids : public std::enable_shared_from_this<Davids> {
public:
    /// What the last attempt to reach a David has come to; wrong: he has sent a wrong reply.
    enum class State { untried, connected, left, unreachable, wrong };
    struct Known {
        Address address;
        State state = State::untried;
    };

    /// `certificates`: of this machine, for who is reached over TLS.
    Davids(const std::vector<Address>& addresses, std::filesystem::path certificates,
           const TimeLimits& limits);

    /// A connection to the first one who can be reached, beginning behind the one that the call
    /// before led to: a session with him has ended. Those who have sent a wrong reply are not
    /// called any more (INTEG-7). Throws the ProtocolError of the last one who could not be
    /// reached, and Distrusted if nobody else is left.
    std::unique_ptr<Transport> connect();
    /// The one to whom connect() led last, or is going to lead first.
    Address current() const;
    std::vector<Known> known() const;
    /// Seconds for which the current one has let a wait last that is under way; 0: there is none.
    double waiting() const { return slow_.waiting().count(); }

private:
    std::size_t leave();
    std::unique_ptr<Transport> connect_to(std::size_t index);
    void note(std::size_t index, State state);

    std::unique_ptr<Transport> call(const Address& address) const;

    const TimeLimits limits_;
    mutable std::mutex mutex_;
    std::vector<Known> known_;
    const std::filesystem::path certificates_;  // empty where nobody is reached over TLS
    std::size_t current_ = 0;
    bool begun_ = false;
    net::SlowPeer slow_;
};

/// The Davids of all shards (MODEL-22).
class ShardDavids {
public:
    /// Those of --david: the first ones for one shard of --artifact each, in their order, and as
    /// many after them to go on with. Throws BadInput for a wrong address, another number of them,
    /// and where --tls is missing or without use.
    ShardDavids(const Options& options, const TimeLimits& limits);

    /// Leads to a David of each shard.
    std::vector<Connect> connects() const;
    /// Of all shards: Davids::known().
    std::vector<Davids::Known> known() const;
    /// Whom the session is with, or is going to be.
    std::vector<Address> current() const;
    /// Whether no shard has a David to go on with.
    bool is_one_each() const { return known().size() == shards_.size(); }
    /// Davids::waiting() of who is waited for.
    double waiting() const;

private:
    std::vector<std::shared_ptr<Davids>> shards_;
};

}  // namespace slip::tool

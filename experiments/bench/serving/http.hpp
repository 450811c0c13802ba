// The same generations through the endpoint of `slip serve`, over HTTP on loopback.
#pragma once

#include "experiments/bench/serving/contestant.hpp"
#include "programs/endpoint/net/server.hpp"
#include "programs/endpoint/service.hpp"

namespace slip::bench {

/// The endpoint in this process, without TLS, and clients in threads on David's processor.
class HttpContestant {
public:
    /// Both outlive the object.
    HttpContestant(const WholeModel& whole, ServeContestant& contestant,
                   const ServeLengths& lengths);

    /// As ServeContestant::decode(), by what the clients see: every token is an event of a stream.
    /// Throws InternalError if an answer is not a whole stream of as many tokens.
    double decode(std::size_t generations);

private:
    const WholeModel& whole_;
    ServeContestant& contestant_;
    const std::size_t tokens_;
    endpoint::Service service_;
    endpoint::Server server_;
};

}  // namespace slip::bench

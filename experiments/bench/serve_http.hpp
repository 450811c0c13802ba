// The same generations through the endpoint of `slip serve`, over HTTP on loopback.
#pragma once

#include <memory>

#include "experiments/bench/serve_contest.hpp"

namespace slip::bench {

/// The endpoint in this process, without TLS, and clients in threads on David's processor.
class HttpContestant {
public:
    /// Both outlive the object.
    HttpContestant(const WholeModel& whole, ServeContestant& contestant,
                   const ServeLengths& lengths);
    ~HttpContestant();

    /// As ServeContestant::decode(), by what the clients see: every token is an event of a stream.
    /// Throws InternalError if an answer is not a whole stream of as many tokens.
    double decode(std::size_t generations);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace slip::bench

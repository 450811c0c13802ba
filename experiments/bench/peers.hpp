// Loads the peers, which are a module of their own (peers/).
#pragma once

#include <vector>

#include "experiments/bench/peers/peer.hpp"

namespace slip::bench {

/// The peers that were installed when this was built, single-threaded, each with the code that it
/// chooses for this processor. Throws BadInput if the module or a library of it is missing now.
std::vector<Peer> make_peers(const Problem& problem);
std::vector<RingPeer> make_ring_peers(const RingProblem& problem);

}  // namespace slip::bench

// The module's two entries: the peers that were installed when it was built.
#include "experiments/bench/peers/peer.hpp"

namespace slip::bench {

extern "C" [[gnu::visibility("default")]] void slip_bench_peers(const Problem& problem,
                                                                std::vector<Peer>& peers) {
    (void)problem, (void)peers;
#ifdef SLIP_PEER_FFLAS
    peers.push_back(fflas(problem));
#endif
#ifdef SLIP_PEER_NTL
    peers.push_back(ntl(problem));
#endif
#ifdef SLIP_PEER_FLINT
    peers.push_back(flint(problem));
#endif
#ifdef SLIP_PEER_OPENBLAS
    peers.push_back(openblas_dgemm(problem));
    peers.push_back(openblas_sgemm(problem));
#endif
#ifdef SLIP_PEER_EIGEN
    peers.push_back(eigen_float(problem));
#endif
#ifdef SLIP_PEER_ONEDNN
    peers.push_back(onednn_int8(problem));
#endif
}

extern "C" [[gnu::visibility("default")]] void slip_bench_ring_peers(const RingProblem& problem,
                                                                     std::vector<RingPeer>& peers) {
    (void)problem, (void)peers;
#ifdef SLIP_PEER_NTL
    peers.push_back(ntl_ring(problem));
#endif
#ifdef SLIP_PEER_FLINT
    peers.push_back(flint_ring(problem));
#endif
}

}  // namespace slip::bench

#include "experiments/bench/peers.hpp"

#include <dlfcn.h>
#include <stdlib.h>

#include <string>

#include "optimized/base/error.hpp"

namespace slip::bench {

namespace {

void* entry(const char* name) {
    // These libraries look at the environment when they are loaded. OpenBLAS is to choose its code
    // by the processor, and not by what an environment made for other machines says.
    for (const char* setting : {"OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"}) ::unsetenv(setting);
    for (const char* threads : {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"}) {
        ::setenv(threads, "1", 1);
    }
    void* const module = ::dlopen("libslip-bench-peers.so", RTLD_NOW | RTLD_LOCAL);
    void* const found = module == nullptr ? nullptr : ::dlsym(module, name);
    if (found == nullptr) throw BadInput(std::string("the peers cannot be loaded: ") + ::dlerror());
    return found;
}

}  // namespace

std::vector<Peer> make_peers(const Problem& problem) {
    using Entry = void (*)(const Problem&, std::vector<Peer>&);
    std::vector<Peer> peers;
    reinterpret_cast<Entry>(entry("slip_bench_peers"))(problem, peers);
    return peers;
}

std::vector<RingPeer> make_ring_peers(const RingProblem& problem) {
    using Entry = void (*)(const RingProblem&, std::vector<RingPeer>&);
    std::vector<RingPeer> peers;
    reinterpret_cast<Entry>(entry("slip_bench_ring_peers"))(problem, peers);
    return peers;
}

}  // namespace slip::bench

#include "experiments/bench/peers.hpp"

#include <dlfcn.h>
#include <stdlib.h>

#include <string>

#include "optimized/base/error.hpp"

namespace slip::bench {

std::vector<Peer> make_peers(const Problem& problem) {
    // These libraries look at the environment when they are loaded. OpenBLAS is to choose its code
    // by the processor, and not by what an environment made for other machines says.
    for (const char* setting : {"OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"}) ::unsetenv(setting);
    for (const char* threads : {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"}) {
        ::setenv(threads, "1", 1);
    }
    using Entry = void (*)(const Problem&, std::vector<Peer>&);
    void* const module = ::dlopen("libslip-bench-peers.so", RTLD_NOW | RTLD_LOCAL);
    void* const entry = module == nullptr ? nullptr : ::dlsym(module, "slip_bench_peers");
    if (entry == nullptr) throw BadInput(std::string("the peers cannot be loaded: ") + ::dlerror());
    std::vector<Peer> peers;
    reinterpret_cast<Entry>(entry)(problem, peers);
    return peers;
}

}  // namespace slip::bench

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>

#include "experiments/bench/peers/peer.hpp"

namespace slip::bench {

/// The weights are laid out as oneDNN likes best, once; the activations are the residues' lowest
/// bytes.
Peer onednn_int8(const Problem& problem) {
    using dnnl::memory, dnnl::matmul;
    using Type = memory::data_type;
    using Tag = memory::format_tag;
    struct State {
        dnnl::engine engine{dnnl::engine::kind::cpu, 0};
        dnnl::stream stream{engine};
        std::vector<std::uint8_t> activations;
        std::vector<std::int32_t> sums;
        matmul product;
        memory w, x, y;
    };
    const auto m = static_cast<memory::dim>(problem.m), n = static_cast<memory::dim>(problem.n);
    const auto b = static_cast<memory::dim>(problem.b);
    const auto state = std::make_shared<State>();
    for (const std::uint32_t r : problem.x) {
        state->activations.push_back(static_cast<std::uint8_t>(r));
    }
    state->sums.resize(problem.b * problem.m);
    const memory::desc x({b, n}, Type::u8, Tag::ab), y({b, m}, Type::s32, Tag::ab);
    const memory::desc w({n, m}, Type::s8, Tag::any), given({n, m}, Type::s8, Tag::ba);
    const matmul::primitive_desc description(matmul::desc(x, w, y), state->engine);
    state->product = matmul(description);
    state->w = memory(description.weights_desc(), state->engine);
    memory weights(given, state->engine, const_cast<std::int8_t*>(problem.w.data()));
    dnnl::reorder(weights, state->w).execute(state->stream, weights, state->w);
    state->stream.wait();
    state->x = memory(x, state->engine, state->activations.data());
    state->y = memory(y, state->engine, state->sums.data());
    const dnnl_version_t& version = *dnnl_version();
    const std::string name = "unprotected int8, oneDNN " + std::to_string(version.major) + '.' +
                             std::to_string(version.minor) + '.' + std::to_string(version.patch);
    return {"onednn", name,
            [state] {
                state->product.execute(state->stream, {{DNNL_ARG_SRC, state->x},
                                                       {DNNL_ARG_WEIGHTS, state->w},
                                                       {DNNL_ARG_DST, state->y}});
                state->stream.wait();
            },
            not_exact};
}

}  // namespace slip::bench

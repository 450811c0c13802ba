#include "optimized/c_api/guarded.hpp"
#include "optimized/c_api/options.hpp"
#include "slip/slip.h"
#include "slip/split.hpp"

namespace slip::c_api {
namespace {

Plan plan_of(const char* model, const slip_split_options& options) {
    if (options.plan != nullptr && options.rank > 0) {
        throw BadInput("plan and rank: expected one of them at most");
    }
    if (options.plan != nullptr) return read_plan(options.plan);
    if (options.rank > 0) return uniform_plan(model, options.rank);
    return {};
}

void show(const slip_split_options& options, const SplitProgress& progress) {
    const slip_split_progress shown{.finished = progress.finished,
                                    .matrices = progress.matrices,
                                    .finished_weights = progress.finished_weights,
                                    .weights = progress.weights,
                                    .name = progress.name.c_str()};
    if (options.on_progress(options.context, &shown) != 0) return;
    throw StatusError(SLIP_STOPPED, "the split was stopped by its caller");
}

SplitOptions split_of(const char* model, const char* out, const slip_split_options& options) {
    SplitOptions split;
    split.plan = plan_of(model, options);
    split.out = out;
    if (options.on_progress != nullptr) {
        split.progress = [options](const SplitProgress& progress) { show(options, progress); };
    }
    split.threads = options.threads;
    if (options.paper_attention != 0) split.attention = Attention::paper;
    split.accept_grid = options.accept_grid != 0;
    if (options.set != nullptr) split.set = options.set;
    if (options.audit != nullptr) split.audit = options.audit;
    if (options.seal != nullptr) split.seal = options.seal;
    if (options.shards > 0) split.shards = options.shards;
    return split;
}

}  // namespace
}  // namespace slip::c_api

slip_status slip_split(const char* model, const char* out, const slip_split_options* options) {
    using namespace slip::c_api;
    return guarded([&] {
        const slip_split_options chosen = known_part(options, "options");
        given(model, "model");
        const auto split = split_of(model, &given(out, "out"), chosen);
        for (const std::string& note : slip::split_checkpoint(model, split)) {
            if (chosen.note != nullptr) chosen.note(chosen.context, note.c_str());
        }
    });
}

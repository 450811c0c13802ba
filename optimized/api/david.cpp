#include "slip/david.hpp"

#include <mutex>
#include <string>

#include "optimized/api/access.hpp"
#include "optimized/artifact/artifact.hpp"
#include "optimized/base/error.hpp"
#include "optimized/base/parallel.hpp"
#include "optimized/base/worker_team.hpp"
#include "optimized/gpu/gpu.hpp"
#include "optimized/protocol/david.hpp"

namespace slip {
namespace {

using protocol::DavidModel;

std::size_t threads_of(const DavidOptions& options) {
    constexpr std::size_t most = 1024;
    if (options.threads <= most) {
        return options.threads > 0 ? options.threads : base::available_threads();
    }
    throw BadInput("threads of David: " + std::to_string(options.threads) + ", expected at most " +
                   std::to_string(most));
}

}  // namespace

struct David::State {
    State(const std::filesystem::path& directory, const DavidOptions& options)
        : threads(threads_of(options)),
          gpu(options.gpu ? gpu::Gpu::open() : nullptr),
          artifact(directory),
          model{artifact.weights(), artifact.set(), artifact.digest()} {
        if (gpu == nullptr) return;
        if (artifact.set().hides_weights) {
            throw BadInput(directory.string() +
                           ": a GPU does not multiply hidden matrices yet: expected no --gpu "
                           "(DavidOptions::gpu)");
        }
        for (kernels::GroupWeights& w : model.weights) w.multiply_on(gpu->hold(w));
    }

    /// Starts the threads with the first session: who loads David and forks, or blocks signals,
    /// loses and disturbs none.
    const DavidModel& model_of_sessions() {
        std::call_once(started, [&] {
            team = std::make_unique<base::WorkerTeam>(threads);
            model.team = team.get();
        });
        return model;
    }

    const std::size_t threads;
    const std::shared_ptr<gpu::Gpu> gpu;  // opened first: what fails there fails at once
    artifact::DavidArtifact artifact;     // owns the bytes that the model's weights are views of
    std::once_flag started;
    std::unique_ptr<base::WorkerTeam> team;
    DavidModel model;
};

David::David(const std::filesystem::path& artifact, const DavidOptions& options)
    : state_(std::make_unique<State>(artifact, options)) {}
David::David(David&&) noexcept = default;
David& David::operator=(David&&) noexcept = default;
David::~David() = default;

void David::serve(Transport& charlie) const {
    protocol::DavidSession session(state_->model_of_sessions());
    protocol::serve(session, charlie);
}

const DavidModel& Access::model_of_sessions(const David& david) {
    return david.state_->model_of_sessions();
}

}  // namespace slip

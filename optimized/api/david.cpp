#include "slip/david.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "optimized/api/access.hpp"
#include "optimized/artifact/artifact.hpp"
#include "optimized/base/error.hpp"
#include "optimized/base/parallel.hpp"
#include "optimized/base/worker_team.hpp"
#include "optimized/gpu/gpu.hpp"
#include "optimized/kernels/group_weights.hpp"
#include "optimized/protocol/david.hpp"

namespace slip {
namespace {

using protocol::DavidModel;

std::size_t threads_of(const DavidOptions& options) {
    constexpr std::size_t most = 1024;
    if (options.threads <= most) {
        return base::threads_or_all(options.threads);
    }
    throw BadInput("threads of David: " + std::to_string(options.threads) + ", expected at most " +
                   std::to_string(most));
}

}  // namespace

struct David::State {
    State(const std::filesystem::path& folder, const DavidOptions& options)
        : threads(threads_of(options)),
          gpu(options.gpu ? gpu::Gpu::open() : nullptr),
          artifact(folder),
          model{artifact.weights(), artifact.set(), artifact.digest()} {
        if (gpu != nullptr) multiply_on_gpu();
    }

    std::shared_ptr<const gpu::HeldRows> held_public_rows(std::size_t width) const {
        const auto& set = artifact.set();
        const std::size_t rows = set.public_rows();
        const std::vector<std::int8_t> u = artifact.public_rows(width);
        std::vector<base::MatrixView<const std::int8_t>> planes;
        planes.reserve(set.planes);
        for (std::size_t p = 0; p < set.planes; ++p) {
            planes.emplace_back(u.data() + p * rows * width, rows, width);
        }
        return gpu->hold_rows(planes);
    }

    /// HIDE-1: all groups of a width share U.
    void multiply_on_gpu() {
        std::map<std::size_t, std::shared_ptr<const gpu::HeldRows>> public_rows;
        for (kernels::GroupWeights& w : model.weights) {
            if (w.hidden().planes() == 0) {
                w.multiply_on(gpu->hold(w));
                continue;
            }
            auto& of_width = public_rows[w.shape().inputs()];
            if (of_width == nullptr) of_width = held_public_rows(w.shape().inputs());
            w.multiply_on(gpu->hold(w.hidden(), of_width));
        }
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

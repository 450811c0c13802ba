#include "slip/david.hpp"

#include "optimized/artifact/artifact.hpp"
#include "optimized/protocol/david.hpp"

namespace slip {

struct David::State {
    explicit State(const std::filesystem::path& directory)
        : artifact(directory), model{artifact.weights(), artifact.digest(), artifact.profile()} {}

    DavidArtifact artifact;  // owns the bytes that the model's weights are views of
    DavidModel model;
};

David::David(const std::filesystem::path& artifact) : state_(std::make_unique<State>(artifact)) {}
David::David(David&&) noexcept = default;
David& David::operator=(David&&) noexcept = default;
David::~David() = default;

Profile David::profile() const { return state_->model.profile; }

void David::serve(Transport& charlie) const {
    slip::serve(*make_david_session(state_->model), charlie);
}

}  // namespace slip

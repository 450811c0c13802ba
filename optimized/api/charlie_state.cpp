#include "optimized/api/charlie_state.hpp"

#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/protocol/pair_store.hpp"
#include "optimized/protocol/state_folder.hpp"

namespace slip::api {
namespace {

void tell(const CharlieOptions& options, const std::string& text) {
    if (options.note) options.note(text);
}

}  // namespace

protocol::PairSubject subject_of(const artifact::CharlieArtifact& charlie) {
    protocol::PairSubject subject{charlie.profile(), charlie.david_digest(), {}};
    for (const artifact::CharlieGroup& group : charlie.groups()) {
        subject.groups.push_back(group.product());
    }
    return subject;
}

CharlieState::CharlieState(const artifact::CharlieArtifact& charlie, const CharlieOptions& options,
                           bool has_peer) {
    if (options.state.empty()) return;
    const std::filesystem::path folder =
        protocol::state_folder_of(options.state, charlie.david_digest());
    bool usable = true;
    try {
        protocol::open_state_folder(options.state, charlie.david_digest());
    } catch (const BadInput& trouble) {
        usable = false;
        tell(options, trouble.what());
    }
    if (has_peer) open_count(folder, options);
    if (usable) pair_ = protocol::PairStore(folder, subject_of(charlie)).take();
}

/// INTEG-7: what cannot be counted is waited for here, because a process that is refused and
/// started again would know no more.
void CharlieState::open_count(const std::filesystem::path& folder, const CharlieOptions& options) {
    rejects_.emplace(folder);
    const auto wait = rejects_->wait();
    if (!wait.trouble.empty() && wait.left > std::chrono::nanoseconds(0)) {
        const auto seconds = std::chrono::ceil<std::chrono::seconds>(wait.left).count();
        tell(options, wait.trouble + ": waiting for " + std::to_string(seconds) +
                          " s, because nobody knows how many replies were rejected before");
        std::this_thread::sleep_for(wait.left);
    }
    rejects_->require_allowed({});
}

void CharlieState::lend_to(protocol::SessionOptions& session) {
    if (rejects_) session.limiter = &*rejects_;
    session.pair = pair_;
}

}  // namespace slip::api

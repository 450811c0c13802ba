// What a session finds in the state folder of its artifact: a prepared pair, and INTEG-7's count.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "optimized/artifact/artifact.hpp"
#include "optimized/protocol/charlie.hpp"
#include "optimized/protocol/pair.hpp"
#include "optimized/protocol/rejects_on_disk.hpp"
#include "slip/charlie.hpp"

namespace slip::api {

/// The artifact as its pairs name it.
protocol::PairSubject subject_of(const artifact::CharlieArtifact& charlie);

class CharlieState {
public:
    /// Takes a pair if options.state has one. If the state has trouble, tells options.note. Waits,
    /// if there is a peer whose rejects cannot be counted (INTEG-7). Throws ProtocolError if it is
    /// too early for a session with a peer, and BadInput for a pair that is damaged or was copied.
    CharlieState(const artifact::CharlieArtifact& charlie, const CharlieOptions& options,
                 bool has_peer);

    /// Puts both into the options of a session, or of several attempts to open one. The object
    /// outlives the session.
    void lend_to(protocol::SessionOptions& session);
    /// From now on the pair is the session's alone.
    void release_pair() { pair_.reset(); }
    bool has_pair() const { return pair_ != nullptr; }

private:
    void open_count(const std::filesystem::path& folder, const CharlieOptions& options);

    std::shared_ptr<protocol::TakenPair> pair_;
    std::optional<protocol::RejectsOnDisk> rejects_;
};

}  // namespace slip::api

#include "experiments/bench/session_open.hpp"

#include <memory>
#include <vector>

#include "optimized/artifact/artifact.hpp"
#include "optimized/base/error.hpp"
#include "optimized/protocol/charlie.hpp"
#include "optimized/protocol/david.hpp"
#include "optimized/protocol/pair_store.hpp"
#include "optimized/protocol/state_folder.hpp"
#include "property_tests/generators/temporary_directory.hpp"

namespace slip::bench {
namespace {

using protocol::PairStore;

/// Seconds until a session is open, with a pair of `store` if there is one.
template <class P>
double seconds_to_open(const protocol::DavidModel& model, const PairStore* store) {
    const auto david = protocol::make_david_session(model);
    protocol::InProcessTransport transport(*david);
    protocol::SessionOptions options;
    options.pool.depth = 0;
    options.limiter = nullptr;
    std::unique_ptr<protocol::CharlieSession<P>> session;
    const double seconds = seconds_of([&] {
        if (store != nullptr) options.pair = store->take();
        session = std::make_unique<protocol::CharlieSession<P>>(model.weights, model.digest,
                                                                transport, options);
    });
    base::require((store != nullptr) == (options.pair != nullptr), "session_open: no pair is free");
    session->close();
    return seconds;
}

}  // namespace

Report measure_session_open(const std::filesystem::path& artifact, std::size_t repetitions) {
    const artifact::DavidArtifact david(artifact / "david");
    const protocol::DavidModel model{david.weights(), david.digest(), david.profile()};
    protocol::PairSubject subject{model.profile, model.digest, {}};
    for (const auto& group : model.weights) subject.groups.push_back(group.shape());
    const auto state = testing::TemporaryDirectory::on_disk();
    const PairStore store(protocol::open_state_folder(state.path(), model.digest), subject);
    store.put(protocol::Pair::draw(subject, model.weights));

    std::vector<double> computed, prepared, ratios;
    protocol::with_profile(model.profile, [&]<class P>(P) {
        for (std::size_t i = 0; i < repetitions; ++i) {
            computed.push_back(seconds_to_open<P>(model, nullptr));
            prepared.push_back(seconds_to_open<P>(model, &store));
            ratios.push_back(prepared.back() / computed.back());
        }
    });
    const auto row = [](const char* name, const std::vector<double>& seconds) {
        return Row{name, median(seconds), 1 / median(seconds), "sessions/s"};
    };
    return {{{"session_open", median(ratios)}},
            {row("session, check vectors computed", computed),
             row("session, check vectors prepared", prepared)}};
}

}  // namespace slip::bench

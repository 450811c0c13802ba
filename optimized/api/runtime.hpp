// What multiplies for a model: an engine, with all that it needs to live.
#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <memory>
#include <vector>

#include "optimized/api/model_files.hpp"
#include "optimized/base/engine.hpp"
#include "optimized/base/stock_level.hpp"
#include "slip/charlie.hpp"
#include "slip/run_statistics.hpp"

namespace slip::api {

class Runtime {
public:
    virtual ~Runtime() = default;
    virtual base::Engine& engine() = 0;
    /// LanguageModel::wait_for_masks().
    virtual void wait_for_masks(std::size_t /*masks_per_group*/) {}
    virtual RunStatistics statistics() const { return {}; }
    /// Masks that are ready.
    virtual base::StockLevel stock() const { return {}; }
    /// Whether it multiplies over a session with David.
    virtual bool has_session() const { return false; }
    /// Whether David has ended that session, asked between two messages. Never waits.
    virtual bool session_ended() const { return false; }
    /// Rows that go to `group` in one message.
    virtual std::size_t columns_per_message(base::GroupId /*group*/) const {
        return std::numeric_limits<std::size_t>::max();
    }
};

/// The checkpoint in float32. The files outlive the runtime, here and below.
std::unique_ptr<Runtime> make_float_runtime(const CheckpointFiles& files);
/// The integer model without a protocol; of a hidden split it is in the folder `audit` (HIDE-8),
/// which is empty for others. Throws BadInput where it is missing, or is not asked for.
std::unique_ptr<Runtime> make_unsplit_runtime(const SplitFiles& files,
                                              const std::filesystem::path& audit);
/// The protocol, over the connections that `connects` make, one per shard (MODEL-22). Throws also
/// what they and a CharlieSession throw, and BadInput for another number of them.
std::unique_ptr<Runtime> make_hybrid_runtime(const SplitFiles& files,
                                             const std::vector<Connect>& connects,
                                             const CharlieOptions& options);
/// The protocol, with a David of its own.
std::unique_ptr<Runtime> make_hybrid_runtime(const SplitFiles& files,
                                             const CharlieOptions& options);

}  // namespace slip::api

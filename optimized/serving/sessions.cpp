#include "optimized/serving/sessions.hpp"

#include "optimized/base/error.hpp"

namespace slip::serving {
namespace {

RunStatistics sum(RunStatistics a, const RunStatistics& b) {
    static_assert(sizeof(RunStatistics) == 16 * sizeof(std::uint64_t) + sizeof(Durations),
                  "every field is added");
    a.rounds += b.rounds;
    a.columns += b.columns;
    a.bytes_up += b.bytes_up;
    a.bytes_down += b.bytes_down;
    a.checks += b.checks;
    a.charlie_seconds += b.charlie_seconds;
    a.david_seconds += b.david_seconds;
    a.offline_seconds += b.offline_seconds;
    a.late_seconds += b.late_seconds;
    a.charlie_multiplications += b.charlie_multiplications;
    a.david_multiplications += b.david_multiplications;
    a.offline_multiplications += b.offline_multiplications;
    a.masks_made += b.masks_made;
    a.masks_used += b.masks_used;
    a.masks_waited_for += b.masks_waited_for;
    a.mask_wait_seconds += b.mask_wait_seconds;
    a.round_times.add(b.round_times);
    return a;
}

}  // namespace

Sessions::Sessions(Access::LanguageState& model)
    : model_(model), needed_(model.runtime->has_session()), opened_(needed_ ? 1 : 0) {}

void Sessions::lose() {
    if (!needed_ || !model_.runtime) return;
    past_ = statistics();
    model_.runtime.reset();
}

void Sessions::open() {
    base::require(!model_.runtime && can_reopen(),
                  "Sessions::open: a session is open, or none can be");
    model_.runtime = model_.reopen();
    ++opened_;
}

RunStatistics Sessions::statistics() const {
    return model_.runtime ? sum(past_, model_.runtime->statistics()) : past_;
}

masks::StockLevel Sessions::stock() const {
    return model_.runtime ? model_.runtime->stock() : masks::StockLevel{};
}

}  // namespace slip::serving

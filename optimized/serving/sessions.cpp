#include "optimized/serving/sessions.hpp"

#include "optimized/base/error.hpp"

namespace slip::serving {

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
    RunStatistics sum = past_;
    if (model_.runtime) sum.add(model_.runtime->statistics());
    return sum;
}

base::StockLevel Sessions::stock() const {
    return model_.runtime ? model_.runtime->stock() : base::StockLevel{};
}

}  // namespace slip::serving

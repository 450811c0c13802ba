// Statistics as a caller gets them.
#pragma once

#include "slip/run_statistics.hpp"
#include "slip/scheduler.hpp"
#include "slip/slip.h"

namespace slip::c_api {

slip_run_statistics statistics_of(const RunStatistics& run);
/// All but `now.run`.
slip_scheduler_statistics statistics_of(const SchedulerStatistics& now);

}  // namespace slip::c_api

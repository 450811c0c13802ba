#include "optimized/c_api/statistics.hpp"

namespace slip::c_api {

slip_run_statistics statistics_of(const RunStatistics& run) {
    return {.size = sizeof(slip_run_statistics),
            .rounds = run.rounds,
            .columns = run.columns,
            .bytes_up = run.bytes_up,
            .bytes_down = run.bytes_down,
            .checks = run.checks,
            .charlie_seconds = run.charlie_seconds,
            .round_seconds = run.round_times.seconds,
            .david_seconds = run.david_seconds,
            .offline_seconds = run.offline_seconds,
            .late_seconds = run.late_seconds,
            .mask_wait_seconds = run.mask_wait_seconds,
            .charlie_multiplications = run.charlie_multiplications,
            .david_multiplications = run.david_multiplications,
            .offline_multiplications = run.offline_multiplications,
            .masks_made = run.masks_made,
            .masks_used = run.masks_used,
            .masks_waited_for = run.masks_waited_for};
}

slip_scheduler_statistics statistics_of(const SchedulerStatistics& now) {
    return {.size = sizeof(slip_scheduler_statistics),
            .serving = now.serving ? 1 : 0,
            .damaged = now.damaged ? 1 : 0,
            .live = now.live,
            .waiting = now.waiting,
            .generations = now.generations,
            .prompt_tokens = now.prompt_tokens,
            .cached_tokens = now.cached_tokens,
            .generated_tokens = now.generated_tokens,
            .sessions = now.sessions,
            .rejects = now.rejects,
            .stock_tokens = now.stock_tokens,
            .full_stock_tokens = now.full_stock_tokens};
}

}  // namespace slip::c_api

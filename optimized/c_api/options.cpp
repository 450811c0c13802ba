#include "optimized/c_api/options.hpp"

#include <chrono>

namespace slip::c_api {
namespace {

using std::chrono::milliseconds;

/// 0 leaves the default.
template <class To, class From>
void set(To& to, From from) {
    if (from != From{}) to = To(from);
}

/// Whether `off`, the member `switch_name`, is set, which turns off what `amount` measures. Throws
/// BadInput if both are given.
bool switched_off(int off, const char* switch_name, std::size_t amount, const char* amount_name) {
    if (off == 0) return false;
    if (amount == 0) return true;
    throw BadInput(std::string(switch_name) + " and " + amount_name +
                   ": expected one of them at most");
}

}  // namespace

CharlieOptions charlie_of(const slip_charlie_options& options) {
    CharlieOptions charlie;
    charlie.masks_ready = options.masks_ready;
    charlie.mask_memory = options.mask_memory;
    charlie.busy_limit = milliseconds(options.busy_limit_ms);
    charlie.note = report_of(options.note, options.note_context);
    if (options.seal != nullptr) charlie.seal = options.seal;
    return charlie;
}

DavidOptions david_of(const slip_david_options* options) {
    const slip_david_options chosen = known_part(options, "options");
    DavidOptions david;
    david.threads = chosen.threads;
    set(david.max_sessions, chosen.max_sessions);
    david.limits = limits_of(chosen.timeout_ms, chosen.patience_ms);
    david.gpu = chosen.gpu != 0;
    return david;
}

SamplingOptions sampling_of(const slip_sampling_options* options, const std::string& name) {
    const slip_sampling_options chosen = known_part(&given(options, name), name);
    SamplingOptions sampling;
    sampling.max_tokens = chosen.max_tokens;
    sampling.temperature = chosen.temperature;
    sampling.seed = chosen.seed;
    sampling.top_k = chosen.top_k;
    set(sampling.top_p, chosen.top_p);
    sampling.min_p = chosen.min_p;
    set(sampling.repetition_penalty, chosen.repetition_penalty);
    sampling.presence_penalty = chosen.presence_penalty;
    sampling.frequency_penalty = chosen.frequency_penalty;
    for (const auto& [id, bias] : array(chosen.logit_bias, chosen.logit_bias_count, "logit_bias")) {
        sampling.logit_bias.emplace_back(id, bias);
    }
    sampling.guesses = chosen.guesses;
    return sampling;
}

SchedulerOptions scheduler_of(const slip_scheduler_options* options) {
    const slip_scheduler_options chosen = known_part(options, "options");
    SchedulerOptions scheduler;
    set(scheduler.live, chosen.live);
    set(scheduler.waiting, chosen.waiting);
    set(scheduler.waiting_per_tenant, chosen.waiting_per_tenant);
    set(scheduler.prompt_tokens_per_step, chosen.prompt_tokens_per_step);
    scheduler.guesses = chosen.guesses;
    set(scheduler.guess_columns, chosen.guess_columns);
    set(scheduler.kept_prompt_bytes, chosen.kept_prompt_bytes);
    if (switched_off(chosen.keeps_no_prompts, "keeps_no_prompts", chosen.kept_prompt_bytes,
                     "kept_prompt_bytes")) {
        scheduler.kept_prompt_bytes = 0;
    }
    set(scheduler.kept_prompt_tenants, chosen.kept_prompt_tenants);
    set(scheduler.reopen_limit, chosen.reopen_limit_ms);
    if (switched_off(chosen.ends_when_lost, "ends_when_lost", chosen.reopen_limit_ms,
                     "reopen_limit_ms")) {
        scheduler.reopen_limit = milliseconds(0);
    }
    scheduler.note = report_of(chosen.note, chosen.note_context);
    return scheduler;
}

OnToken on_token_of(slip_on_token on_token, void* context) {
    if (on_token == nullptr) return {};
    return [on_token, context](TokenId id, std::span<const float> logits) {
        return on_token(context, id, logits.data(), logits.size()) != 0;
    };
}

std::function<void(const std::string&)> report_of(slip_report report, void* context) {
    if (report == nullptr) return {};
    return [report, context](const std::string& line) { report(context, line.c_str()); };
}

}  // namespace slip::c_api

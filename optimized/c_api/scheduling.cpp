// Many generations at once.
#include <string>
#include <utility>

#include "optimized/c_api/handles.hpp"
#include "optimized/c_api/options.hpp"
#include "optimized/c_api/statistics.hpp"
#include "slip/grammar.hpp"
#include "slip/slip.h"

namespace slip::c_api {
namespace {

static_assert(SLIP_END_OF_TEXT == int(GenerationEnd::Reason::end_of_text));
static_assert(SLIP_END_LENGTH == int(GenerationEnd::Reason::length));
static_assert(SLIP_END_STOPPED == int(GenerationEnd::Reason::stopped));
static_assert(SLIP_END_CANCELLED == int(GenerationEnd::Reason::cancelled));
static_assert(SLIP_END_FAILED == int(GenerationEnd::Reason::failed));

std::optional<Grammar> grammar_of(const slip_generation_request& request) {
    if (request.gbnf != nullptr && request.json_schema != nullptr) {
        throw BadInput("gbnf and json_schema: expected one of them at most");
    }
    if (request.gbnf != nullptr) return Grammar::from_gbnf(request.gbnf);
    if (request.json_schema != nullptr) return Grammar::from_json_schema(request.json_schema);
    return std::nullopt;
}

slip_status status_of(const std::exception_ptr& error, std::string& message) {
    if (!error) return SLIP_OK;
    const slip_status status = guarded([&] { std::rethrow_exception(error); });
    message = last_error();
    return status;
}

void notify(slip_on_end on_end, void* context, const GenerationEnd& end) {
    std::string message;
    const slip_status status = status_of(end.error, message);
    const slip_generation_end told{.reason = static_cast<slip_end_reason>(end.reason),
                                   .status = status,
                                   .message = message.c_str(),
                                   .waited_seconds = end.waited_seconds,
                                   .prompt_tokens = end.receipt.prompt_tokens,
                                   .cached_tokens = end.receipt.cached_tokens,
                                   .generated_tokens = end.receipt.generated_tokens,
                                   .rounds = end.receipt.rounds,
                                   .checks = end.receipt.checks,
                                   .bytes_up = end.receipt.bytes_up,
                                   .bytes_down = end.receipt.bytes_down,
                                   .repeated_steps = end.receipt.repeated_steps,
                                   .charlie_multiplications = end.receipt.charlie_multiplications,
                                   .david_multiplications = end.receipt.david_multiplications};
    on_end(context, &told);
}

/// `held`: whose thread calls back.
Submission submission_of(const slip_generation_request& request, const HeldScheduler& held) {
    Submission submission;
    const auto prompt = array(request.prompt, request.prompt_count, "prompt");
    submission.request.prompt.assign(prompt.begin(), prompt.end());
    submission.request.sampling = sampling_of(request.sampling, "sampling");
    if (request.tenant != nullptr) submission.request.tenant = request.tenant;
    submission.request.grammar = grammar_of(request);
    const auto ends = array(request.ends, request.ends_count, "ends");
    submission.request.ends.assign(ends.begin(), ends.end());
    submission.on_token = [&held, see = on_token_of(request.on_token, request.context)](
                              TokenId id, std::span<const float> logits) {
        const HeldScheduler::Callback callback(held);
        return !see || see(id, logits);
    };
    submission.on_end = [&held, on_end = request.on_end,
                         context = request.context](const GenerationEnd& end) {
        const HeldScheduler::Callback callback(held);
        if (on_end != nullptr) notify(on_end, context, end);
    };
    return submission;
}

}  // namespace
}  // namespace slip::c_api

using namespace slip::c_api;

extern "C" {

slip_status slip_open_scheduler(slip_language_model* model, const slip_scheduler_options* options,
                                slip_scheduler** scheduler) {
    return guarded([&] {
        const auto held = LanguageModels::all().find(model);
        const slip::SchedulerOptions chosen = scheduler_of(options);
        given(scheduler, "scheduler");
        *scheduler = Schedulers::all().add(held->run_in_scheduler(chosen));
    });
}

slip_status slip_free_scheduler(slip_scheduler* scheduler) {
    return guarded([&] {
        Schedulers::all().find(scheduler)->require_outside();
        Schedulers::all().remove(scheduler)->free();
    });
}

slip_status slip_submit(slip_scheduler* scheduler, const slip_generation_request* request,
                        uint64_t* id) {
    return guarded([&] {
        const auto held = Schedulers::all().find(scheduler);
        const auto chosen = known_part(&given(request, "request"), "request");
        std::vector<slip::Submission> one;
        one.push_back(submission_of(chosen, *held));
        const auto ids = held->use([&](slip::Scheduler& s) { return s.submit(std::move(one)); });
        if (id != nullptr) *id = ids.front();
    });
}

slip_status slip_cancel(slip_scheduler* scheduler, uint64_t id) {
    return guarded(
        [&] { Schedulers::all().find(scheduler)->use([&](slip::Scheduler& s) { s.cancel(id); }); });
}

slip_status slip_drain(slip_scheduler* scheduler) {
    return guarded([&] {
        const auto held = Schedulers::all().find(scheduler);
        held->require_outside();
        held->use([](slip::Scheduler& s) { s.drain(); });
    });
}

slip_status slip_get_scheduler_statistics(slip_scheduler* scheduler,
                                          slip_scheduler_statistics* statistics,
                                          slip_run_statistics* run) {
    return guarded([&] {
        const auto held = Schedulers::all().find(scheduler);
        const auto now = held->use([](slip::Scheduler& s) { return s.statistics(); });
        if (run != nullptr) size_of(run, "run");  // so that nothing is written if it is wrong
        give_known_part(statistics_of(now), statistics, "statistics");
        if (run != nullptr) give_known_part(statistics_of(now.run), run, "run");
    });
}
}

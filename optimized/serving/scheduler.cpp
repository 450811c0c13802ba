#include "slip/scheduler.hpp"

#include <thread>
#include <utility>

#include "optimized/serving/loop.hpp"

namespace slip {

struct Scheduler::State {
    State(LanguageModel served, const SchedulerOptions& options)
        : model(std::move(served)),
          loop(Access::of(model), options),
          thread([this] { loop.run(); }) {}
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() {
        loop.stop();
        thread.join();
    }

    LanguageModel model;
    serving::Loop loop;
    std::thread thread;  // uses the others
};

Scheduler::Scheduler(LanguageModel model, const SchedulerOptions& options)
    : state_(std::make_unique<State>(std::move(model), options)) {}
Scheduler::~Scheduler() = default;

const LanguageModel& Scheduler::model() const { return state_->model; }

Scheduler::Id Scheduler::submit(GenerationRequest request, OnToken on_token, OnEnd on_end) {
    std::vector<Submission> one(1);
    one.front().request = std::move(request);
    one.front().on_token = std::move(on_token);
    one.front().on_end = std::move(on_end);
    return submit(std::move(one)).front();
}

std::vector<Scheduler::Id> Scheduler::submit(std::vector<Submission> submissions) {
    return state_->loop.submit(std::move(submissions));
}

void Scheduler::cancel(Id generation) { state_->loop.cancel(generation); }
void Scheduler::drain() { state_->loop.drain(); }
void Scheduler::stop() { state_->loop.stop(); }
SchedulerStatistics Scheduler::statistics() const { return state_->loop.statistics(); }

}  // namespace slip

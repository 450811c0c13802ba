#include "optimized/serving/loop.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/base/parallel.hpp"
#include "optimized/graph/generate.hpp"

namespace slip::serving {
namespace {

using std::chrono::milliseconds;

/// From an attempt to open a session to the next: 0, then these.
constexpr milliseconds first_pause{250};
constexpr milliseconds longest_pause{8000};
/// Between two looks at David and at the stock of masks while nothing runs.
constexpr milliseconds idle_interval{500};

SchedulerOptions checked(const SchedulerOptions& options) {
    const auto require = [](bool good, const char* what) {
        if (!good) throw BadInput(what);
    };
    require(options.live > 0, "live: expected at least one generation at a time");
    require(options.waiting_per_tenant > 0, "waiting_per_tenant: expected at least one generation");
    require(options.prompt_tokens_per_step > 0,
            "prompt_tokens_per_step: expected at least one token");
    require(options.kept_prompt_tenants > 0, "kept_prompt_tenants: expected at least one tenant");
    require(options.reopen_limit >= milliseconds(0), "reopen_limit: expected no negative time");
    return options;
}

base::GroupId head_of(const base::ModelConfig& config) {
    return static_cast<base::GroupId>(graph::groups_of(config).size() - 1);
}

}  // namespace

Loop::Loop(Access::LanguageState& model, const SchedulerOptions& options)
    : model_(model),
      options_(checked(options)),
      sessions_(model),
      costs_(head_of(model.graph->config())),
      workspace_(base::available_threads()),
      kept_(options.kept_prompt_bytes, options.kept_prompt_tenants) {
    publish();
}

Scheduler::Id Loop::submit(GenerationRequest request, LanguageModel::OnToken on_token,
                           Scheduler::OnEnd on_end) {
    graph::positions_for(*model_.graph, request.prompt, request.sampling);
    const std::lock_guard lock(mutex_);
    if (draining_) throw Overloaded("no further generations are taken: the scheduler drains");
    if (!has_quota(request.tenant)) {
        throw Overloaded("the tenant has " + std::to_string(options_.waiting_per_tenant) +
                         " generations that wait already");
    }
    if (unended_.size() >= options_.live + options_.waiting) {
        throw Overloaded(std::to_string(unended_.size()) +
                         " generations are live or waiting already: expected fewer than " +
                         std::to_string(options_.live + options_.waiting));
    }
    const Scheduler::Id id = next_id_++;
    auto generation = std::make_shared<Generation>(id, std::move(request), std::move(on_token),
                                                   std::move(on_end));
    unended_.emplace(id, generation);
    waiting_.push_back(std::move(generation));
    attention_ = true;
    changed_.notify_all();
    return id;
}

/// Whether one more generation of the tenant may wait. mutex_ is held.
bool Loop::has_quota(const std::string& tenant) const {
    const std::size_t places = options_.live - (unended_.size() - waiting_.size());
    if (waiting_.size() < places) return true;  // it is live in the next step
    const auto own =
        std::count_if(waiting_.begin() + static_cast<std::ptrdiff_t>(places), waiting_.end(),
                      [&](const auto& one) { return one->request.tenant == tenant; });
    return static_cast<std::size_t>(own) < options_.waiting_per_tenant;
}

void Loop::cancel(Scheduler::Id generation) {
    const std::lock_guard lock(mutex_);
    const auto found = unended_.find(generation);
    if (found == unended_.end()) return;
    found->second->cancelled = true;
    attention_ = true;
    changed_.notify_all();
}

void Loop::drain() {
    std::unique_lock lock(mutex_);
    base::require(std::this_thread::get_id() != thread_,
                  "Scheduler::drain: called by on_token or on_end, which it would wait for");
    draining_ = true;
    ended_.wait(lock, [&] { return unended_.empty(); });
}

void Loop::stop() {
    const std::lock_guard lock(mutex_);
    draining_ = stopping_ = true;
    changed_.notify_all();
}

SchedulerStatistics Loop::statistics() const {
    const std::lock_guard lock(mutex_);
    SchedulerStatistics now = statistics_;
    now.waiting = waiting_.size();
    now.live = unended_.size() - waiting_.size();
    return now;
}

void Loop::publish() {
    const RunStatistics run = sessions_.statistics();
    const protocol::StockLevel stock = sessions_.stock();
    const std::lock_guard lock(mutex_);
    statistics_.run = run;
    statistics_.masks_ready = stock.ready;
    statistics_.masks_stocked = stock.full;
    statistics_.sessions = sessions_.opened();
    statistics_.serving = sessions_.runtime() != nullptr && !damage_;
    statistics_.damaged = damage_ != nullptr;
}

void Loop::run() {
    {
        const std::lock_guard lock(mutex_);
        thread_ = std::this_thread::get_id();
    }
    note_of_small_shares();
    while (wait_for_work()) {
        end_cancelled();
        admit();
        if (have_session() && !live_.empty()) step();
    }
    end(all(), Reason::cancelled);
}

/// Returns false if the loop is to end.
bool Loop::wait_for_work() {
    const bool in_session = sessions_.runtime() != nullptr;
    std::unique_lock lock(mutex_);
    const auto asked = [&] { return attention_ || stopping_; };
    if (damage_ || (!in_session && !sessions_.can_reopen())) {
        changed_.wait(lock, asked);
    } else if (!in_session) {
        changed_.wait_until(lock, call_at_, asked);
    } else if (live_.empty()) {
        watch_session(lock);
    }
    attention_ = false;
    return !stopping_;
}

/// Waits, while nothing runs, until something is to be done. A David who ends the session is
/// noticed, and the stock of masks is shown while it is filled.
void Loop::watch_session(std::unique_lock<std::mutex>& lock) {
    const auto wanted = [&] { return attention_ || stopping_ || !waiting_.empty(); };
    if (!sessions_.needed()) return changed_.wait(lock, wanted);
    while (!changed_.wait_for(lock, idle_interval, wanted)) {
        lock.unlock();
        const bool ended = sessions_.ended();
        if (ended) {
            lost("David ended the connection");
        } else {
            publish();
        }
        lock.lock();
        if (ended) return;
    }
}

/// Those that have not ended, the oldest first.
Loop::Generations Loop::all() const {
    const std::lock_guard lock(mutex_);
    Generations generations;
    generations.reserve(unended_.size());
    for (const auto& [id, generation] : unended_) generations.push_back(generation);
    return generations;
}

// ---------------------------------------------------------------------------------------------
// Generations
// ---------------------------------------------------------------------------------------------

void Loop::end_cancelled() {
    Generations cancelled = all();
    std::erase_if(cancelled, [](const auto& one) { return !one->cancelled; });
    end(cancelled, Reason::cancelled);
}

void Loop::admit() {
    while (live_.size() < options_.live) {
        std::shared_ptr<Generation> next;
        {
            const std::lock_guard lock(mutex_);
            if (waiting_.empty()) return;
            next = std::move(waiting_.front());
            waiting_.pop_front();
        }
        live_.push_back(next);
        next->waited_seconds = next->seconds_since_submission();
        try {
            begin(next);
        } catch (...) {  // no memory
            end({next}, Reason::failed, std::current_exception());
        }
    }
}

void Loop::begin(const std::shared_ptr<Generation>& generation) {
    if (generation->request.sampling.max_tokens == 0) return end({generation}, Reason::length);
    generation->cache.emplace(model_.graph->config());
    borrow_beginning(*generation);
    generation->cache->reserve(generation->tokens.size());
    generation->sampler.emplace(generation->request.sampling, generation->tokens);
}

/// SERVE-4: of its own tenant alone.
void Loop::borrow_beginning(Generation& generation) {
    if (generation.request.tenant.empty() || !kept_.keeps_any()) return;
    const Beginning beginning = known_beginning(generation);
    if (beginning.length == 0) return;
    generation.cache->begin_like(*beginning.cache, beginning.length);
    generation.receipt.cached_tokens = beginning.length;
    const std::lock_guard lock(mutex_);
    statistics_.cached_tokens += beginning.length;
}

/// The longest among what is kept and what other generations of the tenant have computed so far.
Beginning Loop::known_beginning(const Generation& generation) {
    const base::ModelConfig& config = model_.graph->config();
    const auto& prompt = generation.request.prompt;
    const bool longer =
        graph::longrope(config) && prompt.size() > config.rope.scaling.original_positions;
    Beginning longest = kept_.find(generation.request.tenant, prompt, longer);
    for (const auto& other : live_) {
        if (other.get() == &generation || !other->cache ||
            other->request.tenant != generation.request.tenant) {
            continue;
        }
        const Beginning found = common_beginning(prompt, other->tokens, *other->cache, longer);
        if (found.length > longest.length) longest = found;
    }
    return longest;
}

void Loop::end(const Generations& generations, Reason reason, const std::exception_ptr& error) {
    {
        const std::lock_guard lock(mutex_);
        std::erase_if(waiting_, [&](const auto& one) {
            return std::find(generations.begin(), generations.end(), one) != generations.end();
        });
    }
    for (const auto& generation : generations) end(*generation, reason, error);
    std::erase_if(live_, [](const auto& one) { return one->ended; });
}

/// The caller takes it out of live_.
void Loop::end(Generation& generation, Reason reason, std::exception_ptr error) {
    keep(generation);
    generation.ended = true;
    const GenerationEnd how{
        reason, std::move(error), generation.receipt,
        generation.waited_seconds.value_or(generation.seconds_since_submission())};
    try {
        if (generation.on_end) generation.on_end(how);
    } catch (const std::exception& thrown) {
        note(std::string("the end of a generation was told in vain: ") + thrown.what());
    } catch (...) {
        note("the end of a generation was told in vain");
    }
    const std::lock_guard lock(mutex_);
    ++statistics_.generations;
    unended_.erase(generation.id);
    if (unended_.empty()) ended_.notify_all();
}

void Loop::note_of_small_shares() const {
    const std::size_t least = graph::KvCache::bytes_for(model_.graph->config(), 1);
    if (!kept_.keeps_any() || kept_.share() >= least) return;
    note("no prompt is kept: each of " + std::to_string(options_.kept_prompt_tenants) +
         " tenants has " + std::to_string(kept_.share()) +
         " bytes of the memory for kept prompts, and the shortest takes " + std::to_string(least));
}

void Loop::keep(Generation& generation) {
    if (!generation.cache) return;
    const std::string& tenant = generation.request.tenant;
    if (!tenant.empty() && !kept_.has_share_for(tenant) && !std::exchange(noted_tenants_, true)) {
        note("a tenant's prompts are not kept: others have all shares");
    }
    kept_.keep(tenant, std::move(generation.tokens), std::move(*generation.cache));
    generation.cache.reset();
}

// ---------------------------------------------------------------------------------------------
// Steps
// ---------------------------------------------------------------------------------------------

/// SERVE-1.
void Loop::step() {
    const std::vector<Part> parts =
        choose_step(live_, *model_.graph, options_.prompt_tokens_per_step);
    std::vector<Sharer> sharers;
    sharers.reserve(parts.size());
    for (const Part& part : parts) {
        const std::size_t wanted = part.entry().logits_rows();
        sharers.push_back({&part.generation->receipt, part.tokens, wanted});
    }
    costs_.begin(*sessions_.runtime(), std::move(sharers));
    std::vector<float> logits;
    if (!compute(parts, logits)) return;
    without_session_.reset();
    pause_ = milliseconds(0);
    failed_step_ = false;
    count(parts);
    publish();
    give_tokens(parts, logits);
}

/// Returns false if the step failed. Then every sequence is as long as before (MODEL-3), and what
/// follows from the failure is done.
bool Loop::compute(const std::vector<Part>& parts, std::vector<float>& logits) {
    std::vector<graph::BatchEntry> entries;
    entries.reserve(parts.size());
    for (const Part& part : parts) entries.push_back(part.entry());
    try {
        if (entries.size() == 1) {
            model_.graph->forward(costs_, workspace_, entries.front(), logits);
        } else {
            model_.graph->forward(costs_, workspace_, entries, logits);
        }
        return true;
    } catch (const IntegrityError& error) {
        lost_to_a_wrong_reply(parts, error);
    } catch (const ProtocolError& error) {
        for (const Part& part : parts) ++part.generation->receipt.repeated_steps;
        lost(error.what());
    } catch (const BadInput& error) {  // MASK-10, which names the file
        damaged(error);
    } catch (const InternalError& error) {
        if (std::exchange(failed_step_, true)) {
            damaged(error);
        } else {
            fail(parts, error);
        }
    } catch (const std::exception& error) {  // no memory
        fail(parts, error);
    }
    return false;
}

/// Others may go on, in another session.
void Loop::fail(const std::vector<Part>& parts, const std::exception& error) {
    Generations failed;
    failed.reserve(parts.size());
    for (const Part& part : parts) failed.push_back(part.generation);
    end(failed, Reason::failed, std::current_exception());
    lost(error.what());
}

void Loop::count(const std::vector<Part>& parts) {
    std::uint64_t of_prompts = 0;
    for (const Part& part : parts) {
        if (part.of_prompt) of_prompts += part.tokens;
    }
    const std::lock_guard lock(mutex_);
    statistics_.prompt_tokens += of_prompts;
}

void Loop::give_tokens(const std::vector<Part>& parts, const std::vector<float>& logits) {
    const std::size_t width = model_.graph->config().vocab_size;
    std::span<const float> rest = logits;
    for (const Part& part : parts) {
        if (!part.generation->pending().empty()) continue;  // of its prompt
        give_token(*part.generation, rest.first(width));
        rest = rest.subspan(width);
    }
    std::erase_if(live_, [](const auto& one) { return one->ended; });
}

/// The order of events is that of LanguageModel::generate().
void Loop::give_token(Generation& generation, std::span<const float> logits) {
    if (generation.cancelled) return end(generation, Reason::cancelled);
    const TokenId id = generation.sampler->next(logits);
    if (model_.graph->config().ends_text(id)) return end(generation, Reason::end_of_text);
    generation.tokens.push_back(id);
    ++generation.receipt.generated_tokens;
    {
        const std::lock_guard lock(mutex_);
        ++statistics_.generated_tokens;
    }
    bool goes_on = true;
    try {
        if (generation.on_token) goes_on = generation.on_token(id, logits);
    } catch (...) {
        return end(generation, Reason::failed, std::current_exception());
    }
    if (!goes_on) return end(generation, Reason::stopped);
    if (generation.receipt.generated_tokens == generation.request.sampling.max_tokens) {
        end(generation, Reason::length);
    }
}

// ---------------------------------------------------------------------------------------------
// Sessions
// ---------------------------------------------------------------------------------------------

/// Whether a step can run: a session is open, or the model needs none. Calls David if he is due.
bool Loop::have_session() {
    if (damage_) {
        give_up(damage_);
        return false;
    }
    if (sessions_.runtime() != nullptr) return true;
    const bool needed = !all().empty();
    if (!needed) without_session_.reset();
    if (needed && !without_session_) {
        without_session_ = Clock::now();
        call_at_ = *without_session_;
    }
    if (!sessions_.can_reopen()) {
        give_up_if_too_late(loss_);
    } else if (Clock::now() >= call_at_) {
        try_to_open();
    }
    return sessions_.runtime() != nullptr;
}

/// SERVE-2: another session has fresh masks, and the step is repeated from activations that Charlie
/// has.
void Loop::lost(const std::string& what) {
    sessions_.lose();
    if (sessions_.runtime() != nullptr) return;  // none is needed
    loss_ = what;
    if (!without_session_) without_session_ = Clock::now();
    publish();
    note("the session was lost: " + what);
    call_again_later();
    give_up_if_too_late(what);
}

/// SERVE-3: only those with columns in the message end. The others go on if another David can be
/// had, because nobody goes back to this one (INTEG-7).
void Loop::lost_to_a_wrong_reply(const std::vector<Part>& parts, const std::exception& error) {
    Generations failed;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto& generation = parts[i].generation;
        if (costs_.in_last_message(i)) {
            failed.push_back(generation);
        } else {
            ++generation->receipt.repeated_steps;
        }
    }
    {
        const std::lock_guard lock(mutex_);
        ++statistics_.rejects;
    }
    const std::exception_ptr reject = std::current_exception();
    sessions_.lose();
    publish();
    end(failed, Reason::failed, reject);
    lost(error.what());
}

/// SERVE-21: Charlie's files name what is wrong, or his products were wrong twice without a right
/// step between (MASK-10). No David can mend that, so nothing is computed until the process has
/// been started again.
void Loop::damaged(const std::exception& error) {
    damage_ = std::current_exception();
    sessions_.lose();
    publish();
    note(std::string("no further answers are computed: ") + error.what());
    give_up(damage_);
}

void Loop::try_to_open() {
    try {
        open_with_a_trusted_david();
        publish();
        note("another session is open");
        return;
    } catch (const Distrusted& error) {  // nobody is left for whom to wait
        if (std::exchange(loss_, error.what()) != error.what()) note("no David is left: " + loss_);
        call_again_later();
        give_up(std::current_exception());
        return;
    } catch (const std::exception& error) {
        loss_ = error.what();
    }
    call_again_later();
    give_up_if_too_late(loss_);
}

/// INTEG-7: a call that leads back to a David who was wrong is followed by another at once, until
/// one leads to the same David again.
void Loop::open_with_a_trusted_david() {
    std::set<std::string> wrong;
    while (true) {
        try {
            return sessions_.open();
        } catch (const Distrusted& error) {
            if (!wrong.insert(error.peer()).second) throw;
        }
    }
}

/// At once after the first loss, then after pauses that grow until a step succeeds. The last call
/// is at the limit.
void Loop::call_again_later() {
    call_at_ = Clock::now() + pause_;
    pause_ = std::clamp(2 * pause_, first_pause, longest_pause);
    if (!without_session_) return;
    const auto limit = *without_session_ + options_.reopen_limit;
    if (Clock::now() < limit) call_at_ = std::min(call_at_, limit);
}

void Loop::give_up_if_too_late(const std::string& what) {
    if (!without_session_) return;
    const bool late = Clock::now() - *without_session_ >= options_.reopen_limit;
    if (!late && sessions_.can_reopen()) return;
    const std::string limit = std::to_string(options_.reopen_limit.count());
    give_up(std::make_exception_ptr(
        ProtocolError("the session was lost, and there is none after " + limit + " ms: " + what)));
}

void Loop::give_up(const std::exception_ptr& why) {
    without_session_.reset();
    end(all(), Reason::failed, why);
}

void Loop::note(const std::string& text) const {
    if (!options_.note) return;
    try {
        options_.note(text);
    } catch (...) {  // NOLINT(bugprone-empty-catch): nobody is left to be told
    }
}

}  // namespace slip::serving

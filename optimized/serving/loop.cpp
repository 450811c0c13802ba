#include "optimized/serving/loop.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "optimized/base/parallel.hpp"
#include "optimized/base/stock_level.hpp"
#include "optimized/graph/generate.hpp"

namespace slip::serving {
namespace {

using std::chrono::milliseconds;

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
    require(options.guesses <= 15, "guesses: expected 0 to 15 tokens");
    require(options.kept_prompt_tenants > 0, "kept_prompt_tenants: expected at least one tenant");
    require(options.reopen_limit >= milliseconds(0), "reopen_limit: expected no negative time");
    return options;
}

/// After a step with guesses, or in it: keys of tokens that the text does not have. A step that
/// failed has added none.
void forget_wrong_guesses(Generation& generation) {
    if (generation.guessed.empty()) return;
    generation.cache->truncate(std::min(generation.cache->length(), generation.known_positions));
    generation.guessed.clear();
}

base::GroupId head_of(const base::ModelConfig& config) {
    return static_cast<base::GroupId>(graph::groups_of(config).size() - 1);
}

}  // namespace

Loop::Loop(Access::LanguageState& model, const SchedulerOptions& options)
    : model_(model),
      options_(checked(options)),
      queue_(options_),
      constraints_(model),
      sessions_(model),
      costs_(head_of(model.graph->config())),
      workspace_(base::available_threads()),
      kept_(options.kept_prompt_bytes, options.kept_prompt_tenants),
      calls_(options.reopen_limit) {
    publish();
}

std::vector<Scheduler::Id> Loop::submit(std::vector<Submission> submissions) {
    for (const Submission& each : submissions) {
        graph::positions_for(*model_.graph, each.request.prompt, each.request.sampling);
        graph::require_in_vocabulary(each.request.ends, model_.graph->config());
        if (each.request.sampling.guesses > 0) {
            throw BadInput(
                "guesses: expected none of a request, because messages are shared; a scheduler's "
                "owner sets them");
        }
        if (each.request.grammar) constraints_.prepare();
    }
    return queue_.submit(std::move(submissions));
}

void Loop::publish() {
    const RunStatistics run = sessions_.statistics();
    const base::StockLevel stock = sessions_.stock();
    queue_.record([&](SchedulerStatistics& now) {
        now.run = run;
        now.stock_tokens = stock.ready;
        now.full_stock_tokens = stock.full;
        now.sessions = sessions_.opened();
        now.serving = sessions_.runtime() != nullptr && !damage_;
        now.damaged = damage_ != nullptr;
    });
}

void Loop::run() {
    queue_.serve_here();
    note_of_small_shares();
    while (wait_for_work()) {
        end_cancelled();
        admit();
        if (have_session() && !live_.empty()) step();
    }
    end(queue_.all(), Reason::cancelled);
}

/// Returns false if the loop is to end.
bool Loop::wait_for_work() {
    const bool in_session = sessions_.runtime() != nullptr;
    if (damage_ || (!in_session && !sessions_.can_reopen())) {
        queue_.wait();
    } else if (!in_session) {
        queue_.wait_until(calls_.next());
    } else if (live_.empty()) {
        watch_session();
    }
    return queue_.begin_round();
}

/// Waits, while nothing runs, until something is to be done. A David who ends the session is
/// noticed, and the stock of masks is shown while it is filled.
void Loop::watch_session() {
    if (!sessions_.needed()) return queue_.wait_for_work();
    while (!queue_.has_work_within(idle_interval)) {
        if (sessions_.ended()) return lost("David ended the connection");
        publish();
    }
}

// ---------------------------------------------------------------------------------------------
// Generations
// ---------------------------------------------------------------------------------------------

void Loop::end_cancelled() {
    Generations cancelled = queue_.all();
    std::erase_if(cancelled, [](const auto& one) { return !one->cancelled; });
    end(cancelled, Reason::cancelled);
}

void Loop::admit() {
    while (live_.size() < options_.live) {
        const std::shared_ptr<Generation> next = queue_.next();
        if (!next) return;
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
    if (generation->request.sampling.max_tokens == 0 && !generation->shows_prompt()) {
        return end({generation}, Reason::length);
    }
    generation->cache.emplace(model_.graph->config());
    borrow_beginning(*generation);
    generation->cache->reserve(generation->tokens.size());
    generation->sampler.emplace(generation->request.sampling, generation->tokens);
    generation->guesses = graph::Guesses(options_.guesses);
    generation->guesses.append(generation->tokens);
    if (generation->request.grammar) constraints_.constrain(*generation);
}

/// SERVE-4: of its own tenant alone.
void Loop::borrow_beginning(Generation& generation) {
    if (generation.request.tenant.empty() || !kept_.keeps_any()) return;
    if (generation.shows_prompt()) return;  // logits of all of it are wanted
    const Beginning beginning = known_beginning(generation);
    if (beginning.length == 0) return;
    generation.cache->begin_like(*beginning.cache, beginning.length);
    generation.receipt.cached_tokens = beginning.length;
    queue_.record([&](SchedulerStatistics& now) { now.cached_tokens += beginning.length; });
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
    queue_.withdraw(generations);
    for (const auto& generation : generations) end(*generation, reason, error);
    std::erase_if(live_, [](const auto& one) { return one->ended; });
}

/// The caller takes it out of live_.
void Loop::end(Generation& generation, Reason reason, std::exception_ptr error) {
    forget_wrong_guesses(generation);
    keep(generation);
    generation.ended = true;
    const GenerationEnd how{
        reason, std::move(error), generation.receipt,
        generation.waited_seconds.value_or(generation.seconds_since_submission())};
    try {
        if (generation.submission.on_end) generation.submission.on_end(how);
    } catch (...) {  // its text may hold a prompt (THREAT-3)
        note("the end of a generation was told in vain");
    }
    queue_.erase(generation);
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
    const std::vector<BatchPart> parts = choose_step(
        live_, *model_.graph, {options_.prompt_tokens_per_step, options_.guess_columns});
    std::vector<Participant> participants;
    participants.reserve(parts.size());
    for (const BatchPart& part : parts) {
        const std::size_t wanted = part.entry().logits_rows();
        participants.push_back({&part.generation->receipt, part.tokens, wanted});
    }
    costs_.begin(*sessions_.runtime(), std::move(participants));
    std::vector<float> logits;
    if (!compute(parts, logits)) return;
    calls_.succeed();
    failed_step_ = false;
    count(parts);
    publish();
    give_tokens(parts, logits);
}

/// Returns false if the step failed. Then every sequence is as long as before (MODEL-3), and what
/// follows from the failure is done.
bool Loop::compute(const std::vector<BatchPart>& parts, std::vector<float>& logits) {
    std::vector<graph::BatchEntry> entries;
    entries.reserve(parts.size());
    for (const BatchPart& part : parts) entries.push_back(part.entry());
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
        for (const BatchPart& part : parts) ++part.generation->receipt.repeated_steps;
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
void Loop::fail(const std::vector<BatchPart>& parts, const std::exception& error) {
    Generations failed;
    failed.reserve(parts.size());
    for (const BatchPart& part : parts) failed.push_back(part.generation);
    end(failed, Reason::failed, std::current_exception());
    lost(error.what());
}

void Loop::count(const std::vector<BatchPart>& parts) {
    std::uint64_t of_prompts = 0;
    for (const BatchPart& part : parts) {
        if (part.of_prompt) of_prompts += part.tokens;
    }
    queue_.record([&](SchedulerStatistics& now) { now.prompt_tokens += of_prompts; });
}

void Loop::give_tokens(const std::vector<BatchPart>& parts, const std::vector<float>& logits) {
    const std::size_t width = model_.graph->config().vocab_size;
    std::span<const float> rest = logits;
    for (const BatchPart& part : parts) {
        Generation& generation = *part.generation;
        if (part.guesses()) {
            give_guessed(generation, rest.first(part.tokens * width));
            rest = rest.subspan(part.tokens * width);
            continue;
        }
        const std::size_t end = generation.cache->length();  // of what is computed
        std::size_t place = part.shows_prompt() ? end - part.tokens + 1 : end;
        for (; place <= end; ++place) {
            if (place < generation.request.prompt.size() && !part.shows_prompt()) break;
            if (place < generation.request.prompt.size()) {
                show_prompt(generation, place, rest.first(width));
            } else {
                give_token(generation, rest.first(width));
            }
            rest = rest.subspan(width);
        }
    }
    std::erase_if(live_, [](const auto& one) { return one->ended; });
}

/// MODEL-21: the row behind a guess counts if the row before has given the guess.
void Loop::give_guessed(Generation& generation, std::span<const float> rows) {
    const std::size_t width = rows.size() / generation.guessed.size();
    std::size_t right = 0;
    const auto give = [&] {
        ++generation.known_positions;
        give_token(generation, rows.subspan(right * width, width));
        return !generation.ended;
    };
    bool more = give();
    while (more && right + 1 < generation.guessed.size() &&
           generation.tokens.back() == generation.guessed[right + 1]) {
        ++right;
        more = give();
    }
    if (!more) return;
    forget_wrong_guesses(generation);
    generation.guesses.judge(right);
}

void Loop::show_prompt(Generation& generation, std::size_t place, std::span<const float> logits) {
    if (generation.ended) return;
    try {
        generation.submission.on_prompt(place, logits);
    } catch (...) {
        end(generation, Reason::failed, std::current_exception());
    }
}

/// The order of events is that of LanguageModel::generate().
void Loop::give_token(Generation& generation, std::span<const float> logits) {
    if (generation.ended) return;
    if (generation.cancelled) return end(generation, Reason::cancelled);
    if (generation.request.sampling.max_tokens == 0) return end(generation, Reason::length);
    TokenId id = 0;
    if (!choose(generation, logits, id)) return;
    const bool ends = model_.graph->config().ends_text(id);
    if (ends && !generation.submission.shows_end) return end(generation, Reason::end_of_text);
    if (!ends) count_token(generation, id);
    bool goes_on = true;
    try {
        if (generation.submission.on_token) goes_on = generation.submission.on_token(id, logits);
    } catch (...) {
        return end(generation, Reason::failed, std::current_exception());
    }
    if (ends) return end(generation, Reason::end_of_text);
    if (!goes_on) return end(generation, Reason::stopped);
    if (generation.constraint && generation.constraint->complete()) {
        return end(generation, Reason::end_of_text);
    }
    if (generation.receipt.generated_tokens == generation.request.sampling.max_tokens) {
        end(generation, Reason::length);
    }
}

/// The next token. Returns false if there is none: then the generation has ended. What fails here,
/// for want of memory, ends this generation alone.
bool Loop::choose(Generation& generation, std::span<const float> logits, TokenId& id) {
    std::optional<grammar::Constraint>& constraint = generation.constraint;
    if (constraint && constraint->complete()) {  // before its first token
        end(generation, Reason::end_of_text);
        return false;
    }
    try {
        if (constraint) {
            id = generation.sampler->next(logits, constraint->allowed());
            constraint->take(id);
        } else {
            id = generation.sampler->next(logits);
        }
        return true;
    } catch (...) {
        end(generation, Reason::failed, std::current_exception());
        return false;
    }
}

void Loop::count_token(Generation& generation, TokenId id) {
    generation.tokens.push_back(id);
    generation.guesses.append(std::span(&id, 1));
    ++generation.receipt.generated_tokens;
    queue_.record([](SchedulerStatistics& now) { ++now.generated_tokens; });
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
    if (queue_.all().empty()) {
        calls_.rest();
    } else {
        calls_.need(Clock::now());
    }
    if (!sessions_.can_reopen()) {
        give_up_if_too_late(loss_);
    } else if (calls_.is_due(Clock::now())) {
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
    calls_.lose(Clock::now());
    publish();
    note("the session was lost: " + what);
    calls_.call_again(Clock::now());
    give_up_if_too_late(what);
}

/// SERVE-3: only those with columns in the message end. The others go on if another David can be
/// had, because nobody goes back to this one (INTEG-7).
void Loop::lost_to_a_wrong_reply(const std::vector<BatchPart>& parts, const std::exception& error) {
    Generations failed;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto& generation = parts[i].generation;
        if (costs_.in_last_message(i)) {
            failed.push_back(generation);
        } else {
            ++generation->receipt.repeated_steps;
        }
    }
    queue_.record([](SchedulerStatistics& now) { ++now.rejects; });
    const std::exception_ptr reject = std::current_exception();
    sessions_.lose();
    publish();
    end(failed, Reason::failed, reject);
    lost(error.what());
}

/// SERVE-14: Charlie's files name what is wrong, or his products were wrong twice without a right
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
        calls_.call_again(Clock::now());
        give_up(std::current_exception());
        return;
    } catch (const std::exception& error) {
        loss_ = error.what();
    }
    calls_.call_again(Clock::now());
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

void Loop::give_up_if_too_late(const std::string& what) {
    if (!calls_.waits()) return;
    if (!calls_.is_too_late(Clock::now()) && sessions_.can_reopen()) return;
    const std::string limit = std::to_string(calls_.limit().count());
    give_up(std::make_exception_ptr(
        ProtocolError("the session was lost, and there is none after " + limit + " ms: " + what)));
}

void Loop::give_up(const std::exception_ptr& why) {
    calls_.rest();
    end(queue_.all(), Reason::failed, why);
}

void Loop::note(const std::string& text) const {
    if (!options_.note) return;
    try {
        options_.note(text);
    } catch (...) {  // NOLINT(bugprone-empty-catch): nobody is left to be told
    }
}

}  // namespace slip::serving
